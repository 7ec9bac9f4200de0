//! Tests what is published: a draft is never used while there is a published version, and a deleted template
//! is still used and named.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Answer, Persona, Service};

use crate::requests::started;

async fn publish(service: &Service, token: &str, path: &str, body: &Value) -> Answer {
    service.post(token, &format!("{path}/publish"), body).await
}

#[tokio::test]
async fn one_version_is_published_at_a_time_and_drafts_change_nothing() {
    let (service, token) = started().await;
    let mut body = prompt("Greeting");
    body["message"] = "The first.".into();
    let created = service.post(&token, "/prompts", &body).await.expect_status(201);
    assert_eq!(created.body["message"], "The first.");
    let path = format!("/prompts/{}", created.id());
    let published = publish(&service, &token, &path, &json!({})).await;
    let published = published.expect_status(200);
    assert_eq!(published.body["status"], "published");
    assert_eq!(published.body["published_version"], 1);
    let change = json!({ "content": "Bye {{name}}!", "message": "Half of it." });
    let draft = service.put(&token, &path, &change).await.expect_status(200);
    assert_eq!(
        (&draft.body["status"], &draft.body["published_version"]),
        (&json!("draft"), &json!(1))
    );
    service.put(&token, &path, &json!({})).await.expect_status(200);
    let statuses = async || {
        let versions = service.get(&token, &format!("{path}/versions")).await;
        versions.expect_status(200).each("status")
    };
    assert_eq!(statuses().await, ["draft", "draft", "published"]);
    for (version, after) in [
        (json!({ "version": 2 }), ["draft", "published", "draft"]),
        (json!({}), ["published", "draft", "draft"]),
        (json!({ "version": 3 }), ["published", "draft", "draft"]),
        (json!({ "version": 1 }), ["draft", "draft", "published"]),
    ] {
        publish(&service, &token, &path, &version)
            .await
            .expect_status(200);
        assert_eq!(statuses().await, after, "{version}");
    }
    let versions = service.get(&token, &format!("{path}/versions")).await;
    assert_eq!(
        versions.each("message"),
        [Value::Null, json!("Half of it."), json!("The first.")]
    );
    assert!(
        versions
            .each("updated_by")
            .iter()
            .all(|author| author.is_string())
    );
    // The template itself is the draft, and says which version is published.
    let template = service.get(&token, &path).await.expect_status(200);
    assert_eq!(template.body["published_version"], 1);
}

#[tokio::test]
async fn only_writers_publish_and_only_versions_that_there_are() {
    let service = Service::start().await;
    let scope = service.scope();
    let [token, reader, stranger] =
        [Persona::Developer, Persona::Reader, Persona::OtherProject].map(|who| scope.token(who));
    let created = service.post(&token, "/prompts", &prompt("Greeting")).await;
    let path = format!("/prompts/{}", created.id());
    let missing = publish(&service, &token, &path, &json!({ "version": 2 })).await;
    missing.expect_error(404, "not_found");
    let refused = publish(&service, &token, &path, &json!({ "version": "1" })).await;
    refused.expect_error(400, "invalid_request");
    let refused = publish(&service, &reader, &path, &json!({})).await;
    refused.expect_error(403, "forbidden");
    let refused = publish(&service, &stranger, &path, &json!({})).await;
    refused.expect_error(404, "not_found");
    let answer = service.get(&token, &path).await.expect_status(200);
    assert_eq!(answer.body["status"], "draft");
}

#[tokio::test]
async fn deleted_template_that_interactions_use_is_named() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);
    let created = service.post(&token, "/prompts", &prompt("Greeting")).await;
    let (id, path) = (created.id(), format!("/prompts/{}", created.id()));
    let file = service.folder().join("interactions.json");
    let interactions = json!([{
        "id": "int-1", "name": "greets", "versions": [{ "version": 1, "prompts": [id] }],
    }]);
    std::fs::write(&file, interactions.to_string()).unwrap();
    let file = file.to_string_lossy();
    let loaded = scope.ops(&["interaction", "load", &file]).expect_success();
    assert!(
        loaded.stdout.contains("a draft, because no version is published"),
        "{loaded:?}"
    );
    publish(&service, &token, &path, &json!({}))
        .await
        .expect_status(200);
    let listed = scope.ops(&["interaction", "list"]).expect_success();
    assert!(
        listed.stdout.contains(&format!("{id} version 1, published")),
        "{listed:?}"
    );

    let deleted = service.delete(&token, &path).await.expect_status(200);
    let warnings = deleted.body["warnings"].to_string();
    assert!(warnings.contains("'greets' (int-1) still uses"), "{warnings}");
    let uses = service.get(&token, &format!("{path}/interactions")).await;
    let uses = uses.expect_status(200).body;
    assert_eq!(uses["deleted"], true);
    assert_eq!(uses["interactions"][0]["id"], "int-1");
    let listed = scope.ops(&["interaction", "list"]).expect_success();
    assert!(listed.stdout.contains("which is deleted"), "{listed:?}");
    let output = scope.ops(&["check"]).expect_success();
    assert!(
        output.stdout.contains("int-1 uses the prompt template"),
        "{output:?}"
    );
    let unused = service.post(&token, "/prompts", &prompt("Unused")).await;
    let path = format!("/prompts/{}", unused.id());
    let deleted = service.delete(&token, &path).await.expect_status(200);
    assert_eq!(deleted.body, json!({ "id": unused.id() }));
    let uses = service.get(&token, &format!("{path}/interactions")).await;
    uses.expect_error(404, "not_found");
}
