//! Tests API keys and members through the API, and a runner that takes the tokens of an identity provider.

use serde_json::{Value, json};
use tests::{Operator, Persona, Service};

/// Starts a runner over the keys of another data directory, as of an identity provider whose tokens name a
/// user alone. Returns it with the operator of the provider, who makes tokens.
async fn with_provider() -> (Service, Operator, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let provider = Operator::new(folder.path());
    provider.json(&["token", "--make-keys"]);
    let settings = json!({
        "issuer": "millrace-local", "jwks": folder.path().join("keys/jwks.json"), "audience": "millrace", "memberships": true,
    });
    let service = Service::start_local_with(&[("MILLRACE_IDENTITY", &settings.to_string())]).await;
    (service, provider, folder)
}

#[tokio::test]
async fn key_is_made_used_rotated_and_revoked_through_the_api() {
    let service = Service::start().await;
    let scope = service.scope();
    let admin = scope.token(Persona::Developer);
    let body = json!({ "name": "CI", "roles": ["reader", "reader"], "expires_at": "2100-01-01T00:00:00Z" });
    let created = service.post(&admin, "/keys", &body).await.expect_status(201);
    let key = created.body["key"].as_str().unwrap().to_owned();
    let path = format!("/keys/{}", created.id());
    assert!(created.header("location").ends_with(&format!("/api/v1{path}")));
    assert_eq!(created.body["roles"], json!(["reader"]));
    for (method_path, status) in [
        ("/prompts", 200),
        ("/data", 200),
        ("/workflows/types", 200),
        ("/audit-trail", 403),
        ("/keys", 403),
        ("/members", 403),
    ] {
        service.get(&key, method_path).await.expect_status(status);
    }
    let me = service.get(&key, "/me").await.expect_status(200);
    assert_eq!(
        me.body["principal"]["reference"],
        format!("apikey:{}", created.id())
    );
    assert_eq!(me.body["principal"]["project_id"], scope.project);

    let listed = service.get(&admin, "/keys").await.expect_status(200);
    let listed = listed.body.as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert!(listed[0]["last_used_at"].is_string());
    assert!(!listed[0].to_string().contains(&key[key.len() - 20..]));
    assert_eq!(
        service.get(&admin, &path).await.expect_status(200).body,
        listed[0]
    );

    let rotated = service
        .post(&admin, &format!("{path}/rotate"), &json!({}))
        .await
        .expect_status(200);
    let next = rotated.body["key"].as_str().unwrap().to_owned();
    assert!(rotated.body["previous_valid_until"].is_string());
    for key in [&key, &next] {
        service.get(key, "/prompts").await.expect_status(200);
    }
    let at_once = service
        .post(
            &admin,
            &format!("{path}/rotate"),
            &json!({ "overlap_seconds": 0 }),
        )
        .await;
    let last = at_once.expect_status(200).body["key"]
        .as_str()
        .unwrap()
        .to_owned();
    for key in [&key, &next] {
        service
            .get(key, "/prompts")
            .await
            .expect_error(401, "unauthenticated");
    }
    service.get(&last, "/prompts").await.expect_status(200);

    service.delete(&admin, &path).await.expect_status(200);
    service
        .get(&last, "/prompts")
        .await
        .expect_error(401, "unauthenticated");
    service.delete(&admin, &path).await.expect_error(404, "not_found");
    let trail = service
        .get(&admin, "/audit-trail?resourceTypes=api_key")
        .await
        .expect_status(200);
    let actions: Vec<&str> = trail.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["action"].as_str().unwrap())
        .collect();
    // The last one was refused.
    assert_eq!(actions, ["delete", "delete", "update", "update", "create"]);
}

#[tokio::test]
async fn caller_gives_only_what_the_caller_has() {
    let service = Service::start().await;
    let scope = service.scope();
    let admin = scope.token(Persona::Developer);
    for (path, mut body) in [
        ("/keys", json!({ "name": "k" })),
        ("/members", json!({ "user_id": "u" })),
    ] {
        body["roles"] = json!(["account_admin"]);
        let refused = service
            .post(&admin, path, &body)
            .await
            .expect_error(403, "forbidden");
        assert!(
            refused.message().contains("account:admin"),
            "{}",
            refused.message()
        );
        for (roles, status) in [
            (json!([]), 400),
            (json!(["boss"]), 400),
            (json!("reader"), 400),
            (json!(null), 400),
        ] {
            body["roles"] = roles;
            service.post(&admin, path, &body).await.expect_status(status);
        }
        for roles in ["reader", "developer", "automation"] {
            let token = scope.token_with(&["--roles", roles]);
            let refused = service.post(&token, path, &json!({})).await;
            refused.expect_error(403, "forbidden");
        }
    }
    // A rotated key gives its permissions to the caller.
    let strong = scope.ops_json(&["key", "create", "strong", "--roles", "account_admin"]);
    let path = format!("/keys/{}/rotate", strong["id"].as_str().unwrap());
    service
        .post(&admin, &path, &json!({}))
        .await
        .expect_error(403, "forbidden");
    // A key with an end makes nothing that opens for longer, and its secret before a rotation not even that.
    let body = json!({ "name": "short", "roles": ["project_admin"], "expires_at": "2100-01-01T00:00:00Z" });
    let short = service.post(&admin, "/keys", &body).await.expect_status(201);
    let first = short.body["key"].as_str().unwrap();
    for (end, status) in [
        (json!(null), 403),
        (json!("2100-01-01T00:00:01Z"), 403),
        (json!("2099-12-31T00:00:00Z"), 201),
    ] {
        let body = json!({ "name": "k", "roles": ["reader"], "expires_at": end });
        service.post(first, "/keys", &body).await.expect_status(status);
    }
    let rotate = format!("/keys/{}/rotate", short.id());
    service.post(first, &rotate, &json!({})).await.expect_status(200);
    service
        .post(first, &rotate, &json!({}))
        .await
        .expect_error(403, "forbidden");

    for (body, word) in [
        (
            json!({ "name": "k", "roles": ["reader"], "expires_at": "2020-01-01T00:00:00Z" }),
            "future",
        ),
        (json!({ "name": "", "roles": ["reader"] }), "empty"),
        (
            json!({ "name": "k", "roles": ["reader"], "expires": 1 }),
            "expires",
        ),
    ] {
        let refused = service
            .post(&admin, "/keys", &body)
            .await
            .expect_error(400, "invalid_request");
        assert!(refused.message().contains(word), "{}", refused.message());
    }
}

#[tokio::test]
async fn members_of_projects_work_with_tokens_that_name_only_them_locally() {
    let (service, provider, _folder) = with_provider().await;
    let token = |user: &str| provider.token(&["--user-id", user]);
    let (ada, bob) = (token("auth0|ada"), token("repo:acme/shop:ref:refs/heads/main"));
    let refused = service.get(&ada, "/prompts").await.expect_error(403, "forbidden");
    assert!(
        refused
            .message()
            .contains("'auth0|ada' is a member of no project"),
        "{}",
        refused.message()
    );
    let me = service.get(&ada, "/me").await.expect_status(200);
    assert_eq!(me.body, json!({ "projects": [] }));

    let operator = service.operator();
    for project in ["one", "two"] {
        operator.json(&[
            "member",
            "add",
            "auth0|bea",
            "--roles",
            "project_admin",
            "--account",
            "acme",
            "--project",
            project,
        ]);
    }
    let bea = token("auth0|bea");
    let refused = service.get(&bea, "/prompts").await.expect_error(403, "forbidden");
    assert!(
        refused.message().contains("acme/one, acme/two"),
        "{}",
        refused.message()
    );
    let in_project =
        |path: &str, project: &str| service.get(&bea, path).header("x-millrace-project", project);
    in_project("/prompts", "one").await.expect_status(200);
    in_project("/prompts", "acme/two").await.expect_status(200);
    in_project("/prompts", "three")
        .await
        .expect_error(403, "forbidden");

    // Bea adds Bob, whose id has slashes and colons, and takes the membership back.
    let body = json!({ "user_id": "repo:acme/shop:ref:refs/heads/main", "roles": ["reader"], "name": "CI" });
    let added = service
        .post(&bea, "/members", &body)
        .header("x-millrace-project", "one")
        .await;
    let added = added.expect_status(201);
    let path = format!("/members/{}", added.id());
    assert!(added.header("location").ends_with(&format!("/api/v1{path}")));
    let again = service
        .post(&bea, "/members", &body)
        .header("x-millrace-project", "one")
        .await;
    again.expect_error(409, "conflict");
    service.get(&bob, "/prompts").await.expect_status(200);
    let me = service.get(&bob, "/me").await.expect_status(200);
    assert_eq!(
        me.body["principal"]["reference"],
        "user:repo:acme/shop:ref:refs/heads/main"
    );
    assert_eq!(
        me.body["projects"],
        json!([{ "account_id": "acme", "project_id": "one", "roles": ["reader"] }])
    );
    let members = in_project("/members", "one").await.expect_status(200);
    let mut users: Vec<Value> = members.each("user_id");
    users.sort_by_key(ToString::to_string);
    assert_eq!(users, ["auth0|bea", "repo:acme/shop:ref:refs/heads/main"]);
    let changed = service
        .put(&bea, &path, &json!({ "roles": ["developer"] }))
        .header("x-millrace-project", "one")
        .await;
    assert_eq!(changed.expect_status(200).body["roles"], json!(["developer"]));
    let removed = service
        .delete(&bea, &path)
        .header("x-millrace-project", "one")
        .await;
    removed.expect_status(200);
    in_project(&path, "one").await.expect_error(404, "not_found");

    // The runner issues no tokens of its own.
    let own = operator.token(&[]);
    service
        .get(&own, "/prompts")
        .await
        .expect_error(401, "unauthenticated");
}

#[tokio::test]
async fn operator_learns_what_a_token_means_locally() {
    let (service, provider, folder) = with_provider().await;
    let settings = json!({
        "issuer": "millrace-local", "jwks": folder.path().join("keys/jwks.json"), "audience": "millrace",
        "account": "account_id", "project": "project_id", "roles": { "claim": "roles", "map": { "developer": "executor" } },
    });
    let variables = [("MILLRACE_IDENTITY", &*settings.to_string())];
    let operator = service.operator();
    let keys = operator
        .run_with(&["whoami", "--settings-only"], &variables)
        .expect_success();
    assert!(
        keys.stdout.contains("millrace-local: 1 keys at"),
        "{}",
        keys.stdout
    );
    let file = folder.path().join("token.txt");
    std::fs::write(&file, provider.token(&["--user-id", "auth0|ada"])).unwrap();
    let arguments = [
        "whoami",
        "--settings-only",
        "--token-file",
        file.to_str().unwrap(),
    ];
    let explanation = operator.run_with(&arguments, &variables).expect_success();
    for line in [
        "account: \"acme\" from the claim 'account_id'",
        "\"developer\" of 'roles' grants executor; \"project_admin\" of 'roles' grants nothing",
        "Accepted: user:auth0|ada in acme/demo",
        "It may: interaction:read, content:read, workflow:run, workflow:read",
    ] {
        assert!(
            explanation.stdout.contains(line),
            "{line}\n{}",
            explanation.stdout
        );
    }
    // For another audience.
    let mut foreign = settings;
    foreign["audience"] = json!("elsewhere");
    let refused = operator.run_with(&arguments, &[("MILLRACE_IDENTITY", &foreign.to_string())]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stdout
            .contains("Refused: The access token is for another audience."),
        "{}",
        refused.stdout
    );
    assert!(
        refused
            .stdout
            .contains("audience: the token has aud \"millrace\"; the settings name \"elsewhere\""),
        "{}",
        refused.stdout
    );
}
