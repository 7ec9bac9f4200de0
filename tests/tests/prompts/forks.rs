//! Tests prompt templates: forks, interactions and publishing.

use serde_json::{Value, json};
use tests::samples::{prompt, whole_prompt};
use tests::{Method, Persona, Scope, Service, redacted};

async fn forked(service: &Service, token: &str, id: &str, body: Value) -> tests::Answer {
    service.post(token, &format!("/prompts/{id}/fork"), &body).await
}

#[tokio::test]
async fn a_fork_is_a_new_template_with_a_parent() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let original = service.post(&token, "/prompts", &whole_prompt("Greeting")).await;
    let path = format!("/prompts/{}", original.id());
    service.put(&token, &path, &json!({})).await.expect_status(200);
    let other = scope.token_with(&["--user-id", "grace"]);

    let fork = forked(&service, &other, &original.id(), json!({}))
        .await
        .expect_status(201);
    let mut expected = original.body.clone();
    for (key, value) in [
        ("id", fork.body["id"].clone()),
        ("name", json!("Greeting (fork)")),
        ("parent", original.body["id"].clone()),
        ("tags", json!([])),
        ("created_by", json!("user:grace")),
        ("updated_by", json!("user:grace")),
        ("created_at", fork.body["created_at"].clone()),
        ("updated_at", fork.body["created_at"].clone()),
    ] {
        expected[key] = value;
    }
    assert_eq!(fork.body, expected);
    assert_ne!(fork.id(), original.id());

    let location = service.located(fork.header("location"));
    assert_eq!(
        service.get(&token, &location).await.expect_status(200).body,
        fork.body
    );
    let forks = service
        .get(&token, &format!("{path}/forks"))
        .await
        .expect_status(200);
    insta::assert_json_snapshot!(redacted(&forks.body), @r#"
    [
      {
        "created_at": "<time>",
        "description": "Greets somebody.",
        "id": "<id>",
        "latest": true,
        "name": "Greeting (fork)",
        "status": "draft",
        "updated_at": "<time>",
        "updated_by": "user:grace",
        "version": 1
      }
    ]
    "#);
    assert_eq!(forks.each("id"), [fork.body["id"].clone()]);
    let versions = service
        .get(&token, &format!("/prompts/{}/versions", fork.id()))
        .await;
    assert_eq!(versions.expect_status(200).each("version"), [1]);
}

#[tokio::test]
async fn tags_are_kept_when_asked_for() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service
        .post(&token, "/prompts", &whole_prompt("Greeting"))
        .await
        .id();
    for (body, tags) in [
        (json!({ "keepTags": true }), json!(["greeting", "short"])),
        (json!({ "keepTags": false }), json!([])),
        (json!({ "unknown": true }), json!([])),
    ] {
        let fork = forked(&service, &token, &id, body).await.expect_status(201);
        assert_eq!(fork.body["tags"], tags);
    }
    for body in [
        json!({ "keepTags": "yes" }),
        json!({ "targetProject": 7 }),
        json!([]),
    ] {
        forked(&service, &token, &id, body)
            .await
            .expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn a_fork_needs_no_body() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Greeting")).await.id();
    let path = format!("/prompts/{id}/fork");
    let bare = service.request(Method::POST, &path).token(&token).await;
    bare.expect_status(201);
    let typed = service.request(Method::POST, &path).token(&token);
    typed
        .header("content-type", "application/json")
        .await
        .expect_status(201);
}

#[tokio::test]
async fn a_fork_of_a_fork_and_of_a_changed_original() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Greeting")).await.id();
    let first = forked(&service, &token, &id, json!({})).await.expect_status(201);
    let second = forked(&service, &token, &first.id(), json!({}))
        .await
        .expect_status(201);
    assert_eq!(second.body["name"], "Greeting (fork) (fork)");
    assert_eq!(second.body["parent"], first.body["id"]);

    // Changes of the original do not reach its fork, whose `parent` stays even when the original is deleted.
    let path = format!("/prompts/{id}");
    service
        .put(&token, &path, &json!({ "content": "Changed" }))
        .await
        .expect_status(200);
    service.delete(&token, &path).await.expect_status(200);
    let answer = service
        .get(&token, &format!("/prompts/{}", first.id()))
        .await
        .expect_status(200);
    assert_eq!(answer.body, first.body);
    assert_eq!(answer.body["parent"], id.as_str());
}

#[tokio::test]
async fn a_fork_into_another_project_needs_an_account_admin() {
    let service = Service::start().await;
    let scope = service.scope();
    let (developer, admin) = (
        scope.token(Persona::Developer),
        scope.token(Persona::AccountAdmin),
    );
    let neighbour = scope.token(Persona::OtherProject);
    let id = service
        .post(&developer, "/prompts", &prompt("Greeting"))
        .await
        .id();
    let target = json!({ "targetProject": scope.other_project() });

    let own = json!({ "targetProject": scope.project });
    let fork = forked(&service, &developer, &id, own).await.expect_status(201);
    assert_eq!(fork.body["project"], scope.project);

    let refused = forked(&service, &developer, &id, target.clone())
        .await
        .expect_error(403, "forbidden");
    assert!(
        refused.message().contains("account:admin"),
        "{}",
        refused.message()
    );
    assert_eq!(service.get(&neighbour, "/prompts").await.body, json!([]));

    let fork = forked(&service, &admin, &id, target).await.expect_status(201);
    assert_eq!(fork.body["project"], scope.other_project());
    assert_eq!(fork.body["parent"], id.as_str());
    let path = format!("/prompts/{}", fork.id());
    service
        .get(&developer, &path)
        .await
        .expect_error(404, "not_found");
    let answer = service.get(&neighbour, &path).await.expect_status(200);
    assert_eq!(answer.body, fork.body);

    for bad in ["", "a#b", " ", &"x".repeat(300)] {
        let refused = forked(&service, &admin, &id, json!({ "targetProject": bad })).await;
        refused.expect_error(400, "invalid_request");
    }
}

/// Loads interactions with the operator command.
fn load(service: &Service, scope: &Scope, interactions: &Value) {
    let file = service.folder().join("interactions.json");
    std::fs::write(&file, interactions.to_string()).unwrap();
    let file = file.to_string_lossy();
    scope.ops(&["interaction", "load", &file]).expect_success();
}

#[tokio::test]
async fn interactions_are_those_that_the_operator_loaded() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let used = service.post(&token, "/prompts", &prompt("Used")).await.id();
    let unused = service.post(&token, "/prompts", &prompt("Unused")).await.id();
    let of = async |id: &str| {
        service
            .get(&token, &format!("/prompts/{id}/interactions"))
            .await
            .expect_status(200)
            .body
    };
    assert_eq!(of(&used).await, json!({ "prompt": used, "interactions": [] }));

    let version = |number: u64, prompts: &[&String]| json!({ "version": number, "prompts": prompts });
    let summarise = |versions: Value| json!({ "id": "int-1", "name": "Summarise", "versions": versions });
    let translate = json!({ "id": "int-2", "name": "Translate", "versions": [version(1, &[&used])] });
    let loaded = json!([
        summarise(json!([
            version(1, &[&used]),
            version(2, &[]),
            version(3, &[&used])
        ])),
        translate
    ]);
    load(&service, &scope, &loaded);
    let expected = json!([
        { "id": "int-1", "name": "Summarise", "versions": [{ "versions": 1 }, { "versions": 3 }] },
        { "id": "int-2", "name": "Translate", "versions": [{ "versions": 1 }] }
    ]);
    assert_eq!(
        of(&used).await,
        json!({ "prompt": used, "interactions": expected })
    );
    assert_eq!(of(&unused).await["interactions"], json!([]));
    let listed = service.get(&token, "/prompts").await.expect_status(200);
    assert_eq!(listed.each("interactions"), [expected, json!([])]);

    // Loading it again replaces it.
    load(
        &service,
        &scope,
        &json!([summarise(json!([version(4, &[&unused])]))]),
    );
    let remaining = of(&used).await["interactions"].clone();
    assert_eq!(remaining.as_array().unwrap().len(), 1, "{remaining}");
    assert_eq!(
        of(&unused).await["interactions"][0]["versions"],
        json!([{ "versions": 4 }])
    );

    // Other projects do not see it.
    let neighbour = scope.token(Persona::OtherProject);
    let hidden = service
        .get(&neighbour, &format!("/prompts/{used}/interactions"))
        .await;
    hidden.expect_error(404, "not_found");
}

#[tokio::test]
async fn publishing_holds_until_the_next_update() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let created = service.post(&token, "/prompts", &prompt("Greeting")).await;
    let (id, path) = (created.id(), format!("/prompts/{}", created.id()));
    let misspelt = json!({ "versoin": 1 });
    let refused = service.post(&token, &format!("{path}/publish"), &misspelt).await;
    assert!(refused.expect_status(400).message().contains("versoin"));
    scope.ops(&["prompt", "publish", &id]).expect_success();
    let published = service.get(&token, &path).await.expect_status(200);
    assert_eq!(published.body["status"], "published");
    assert_eq!(published.body["version"], 1);

    let fork = forked(&service, &token, &id, json!({})).await.expect_status(201);
    assert_eq!(fork.body["status"], "draft");
    assert_eq!(fork.body["version"], 1);
    let updated = service.put(&token, &path, &json!({})).await.expect_status(200);
    assert_eq!(updated.body["status"], "draft");
    let versions = service
        .get(&token, &format!("{path}/versions"))
        .await
        .expect_status(200);
    assert_eq!(versions.each("status"), ["draft", "published"]);

    // A caller that read the draft cannot overwrite the published version.
    scope
        .ops(&["prompt", "publish", &id, "--version", "2"])
        .expect_success();
    let stale = service
        .put(&token, &path, &json!({}))
        .header("if-match", updated.header("etag"));
    stale.await.expect_error(412, "conflict");
}
