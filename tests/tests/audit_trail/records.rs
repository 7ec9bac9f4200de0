//! Tests which requests the audit trail records, and how.

use serde_json::json;
use tests::samples::prompt;
use tests::{Method, Persona, Trail, redacted};

const MISSING: &str = "/prompts/01900000-0000-7000-8000-000000000000";

#[tokio::test]
async fn a_record_has_every_field_of_the_contract() {
    let trail = Trail::start().await;
    let request = trail
        .service
        .post(&trail.developer, "/prompts", &prompt("Greeting"));
    let created = request
        .header("x-request-id", "the-first")
        .await
        .expect_status(201);
    let events = trail.events("").await;
    assert_eq!(events[0]["resource_id"], created.body["id"]);
    assert_eq!(events[0]["request_id"], "the-first");
    assert_eq!(events[0]["account_id"], trail.scope.account);
    assert_eq!(events[0]["project_id"], trail.scope.project);
    insta::assert_json_snapshot!(redacted(&json!(events)), @r#"
    [
      {
        "account_id": "account",
        "account_name": "account",
        "action": "create",
        "event_type": "audit",
        "id": "<id>",
        "principal_id": null,
        "principal_type": "user",
        "principal_user_id": "developer",
        "project_id": "project",
        "project_name": "project",
        "request_id": "<request id>",
        "resource_id": "<id>",
        "resource_type": "prompt",
        "roles": [
          "developer",
          "project_admin"
        ],
        "status": 201,
        "success": true,
        "tenant_id": null,
        "timestamp": "<time>"
      }
    ]
    "#);
}

#[tokio::test]
async fn every_mutation_makes_exactly_one_record_however_it_ends() {
    let trail = Trail::start().await;
    let (service, token) = (&trail.service, &trail.developer);
    let reader = trail.scope.token(Persona::Reader);
    let created = trail.create("Greeting").await;
    let id = created.id();
    let path = format!("/prompts/{id}");
    let missing = MISSING.rsplit('/').next().unwrap();
    let none = json!({});
    let raw = |method: Method, path: &str| service.request(method, path).token(token);
    let large = json!({ "content": "x".repeat(300 << 10) });
    let other = json!({ "targetProject": "elsewhere" });

    let cases = [
        (service.post(token, "/prompts", &none), "create", "", 400),
        (service.post(token, "/prompts", &large), "create", "", 413),
        (raw(Method::POST, "/prompts").body("text"), "create", "", 415),
        (
            service.post(&reader, "/prompts", &prompt("Mine")),
            "create",
            "",
            403,
        ),
        (service.put(token, &path, &none), "update", &id, 200),
        (
            service.put(token, &path, &json!({ "name": 7 })),
            "update",
            &id,
            400,
        ),
        (service.put(token, &path, &large), "update", &id, 413),
        (service.put(&reader, &path, &none), "update", &id, 403),
        (service.put(token, MISSING, &none), "update", missing, 404),
        (
            service.put(token, &path, &none).header("if-match", "\"x\""),
            "update",
            &id,
            412,
        ),
        (
            service.post(token, &format!("{path}/fork"), &json!({ "keepTags": 7 })),
            "create",
            &id,
            400,
        ),
        (
            service.post(token, &format!("{path}/fork"), &other),
            "create",
            &id,
            403,
        ),
        (
            service.post(token, &format!("{MISSING}/fork"), &none),
            "create",
            missing,
            404,
        ),
        (service.delete(&reader, &path), "delete", &id, 403),
        (
            service.delete(token, &path).header("if-match", "\"x\""),
            "delete",
            &id,
            412,
        ),
        (service.delete(token, MISSING), "delete", missing, 404),
        (service.delete(token, &path), "delete", &id, 200),
        (service.delete(token, &path), "delete", &id, 404),
    ];
    let mut expected = trail.events("").await.len();
    for (request, action, resource_id, status) in cases {
        let answer = request.await.expect_status(status);
        let events = trail.events("").await;
        expected += 1;
        assert_eq!(events.len(), expected, "{} {status}", answer.request);
        let record = &events[0];
        assert_eq!(record["action"], action, "{record}");
        assert_eq!(record["resource_type"], "prompt", "{record}");
        assert_eq!(record["resource_id"], resource_id, "{record}");
        assert_eq!(record["status"], status, "{record}");
        assert_eq!(record["success"], status < 400, "{record}");
        assert_eq!(record["request_id"], answer.header("x-request-id"), "{record}");
    }
}

#[tokio::test]
async fn a_fork_is_recorded_as_what_it_made() {
    let trail = Trail::start().await;
    let id = trail.create("Greeting").await.id();
    let path = format!("/prompts/{id}/fork");
    let fork = trail
        .service
        .post(&trail.developer, &path, &json!({}))
        .await
        .expect_status(201);
    let events = trail.events("").await;
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["action"], "create");
    assert_eq!(events[0]["resource_id"], fork.body["id"]);
}

#[tokio::test]
async fn reads_searches_and_strangers_leave_no_record() {
    let trail = Trail::start().await;
    let (service, token) = (&trail.service, &trail.developer);
    let path = format!("/prompts/{}", trail.create("Greeting").await.id());
    for below in ["", "/versions", "/forks", "/interactions", "/nothing"] {
        service.get(token, &format!("{path}{below}")).await;
    }
    service.get(token, "/prompts").await.expect_status(200);
    service.get(token, MISSING).await.expect_status(404);
    let facets = json!({ "facets": [{ "name": "roles", "field": "role" }] });
    service
        .post(token, "/prompts/facets", &facets)
        .await
        .expect_status(200);
    service
        .post(token, "/prompts/facets", &json!({}))
        .await
        .expect_status(400);
    service
        .request(Method::POST, "/prompts")
        .json(&prompt("x"))
        .await
        .expect_status(401);
    service.delete("nonsense", &path).await.expect_status(401);
    service
        .put(token, "/prompts", &json!({}))
        .await
        .expect_status(405);
    assert_eq!(trail.events("").await.len(), 1, "the creation alone");
}

#[tokio::test]
async fn a_whole_account_token_is_recorded_without_a_project() {
    let trail = Trail::start().await;
    let admin = trail.scope.token(Persona::WholeAccount);
    trail
        .service
        .post(&admin, "/prompts", &prompt("Nowhere"))
        .await
        .expect_error(403, "forbidden");
    let page = trail.service.get(&admin, "/audit-trail").await.expect_status(200);
    assert_eq!(
        page.body["events"].as_array().unwrap().len(),
        1,
        "{}",
        page.text()
    );
    let record = &page.body["events"][0];
    assert_eq!(record["project_id"], json!(null));
    assert_eq!(record["status"], 403);
    assert_eq!(record["principal_user_id"], "account-admin");
    assert_eq!(
        trail.events("").await,
        [json!(null); 0],
        "it is no project's record"
    );
}

#[tokio::test]
async fn change_by_the_operator_is_recorded_as_the_systems() {
    let trail = Trail::start().await;
    let id = trail.create("Greeting").await.id();
    trail.scope.ops(&["prompt", "publish", &id]).expect_success();
    let file = trail.service.folder().join("interactions.json");
    std::fs::write(&file, r#"[{"id":"int-1","name":"Summarise","versions":[]}]"#).unwrap();
    trail
        .scope
        .ops(&["interaction", "load", &file.to_string_lossy()])
        .expect_success();
    let events = trail.events("").await;
    let fields: Vec<_> = events[..2]
        .iter()
        .map(|event| {
            json!([
                event["action"],
                event["resource_type"],
                event["resource_id"],
                event["principal_type"]
            ])
        })
        .collect();
    let expected = [
        json!(["update", "interaction", "int-1", "system"]),
        json!(["publish", "prompt", id, "system"]),
    ];
    assert_eq!(fields, expected);
    assert_eq!(events[0]["principal_user_id"], json!(null));
    assert_eq!(events[0]["success"], true);
}
