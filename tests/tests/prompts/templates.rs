//! Tests prompt templates: create, read, update, delete, versions, preconditions.

use serde_json::{Value, json};
use tests::samples::{prompt, whole_prompt};
use tests::{Method, Persona, Service, redacted, unique};

use crate::requests::started;

#[tokio::test]
async fn create_answers_with_the_whole_template() {
    let service = Service::start().await;
    let scope = service.scope();
    let token = scope.token(Persona::Developer);

    let created = service
        .post(&token, "/prompts", &whole_prompt("Greeting"))
        .await
        .expect_status(201);
    insta::assert_json_snapshot!(redacted(&created.body), @r#"
    {
      "content": "Hello ${name}!",
      "content_type": "jst",
      "created_at": "<time>",
      "created_by": "user:developer",
      "description": "Greets somebody.",
      "id": "<id>",
      "inputSchema": {
        "properties": {
          "name": {
            "type": "string"
          }
        },
        "required": [
          "name"
        ],
        "type": "object"
      },
      "name": "Greeting",
      "project": "project",
      "role": "assistant",
      "status": "draft",
      "tags": [
        "greeting",
        "short"
      ],
      "test_data": {
        "name": "Ada"
      },
      "updated_at": "<time>",
      "updated_by": "user:developer",
      "version": 1
    }
    "#);
    assert_eq!(created.body["project"], scope.project);
    assert_eq!(created.body["created_at"], created.body["updated_at"]);

    let location = created.header("location");
    let url = service.located(location);
    let answer = service.get(&token, &url).await.expect_status(200);
    assert_eq!(answer.body, created.body);
    assert_eq!(answer.header("etag"), created.header("etag"));
}

#[tokio::test]
async fn field_left_out_is_absent_and_tags_are_empty() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let created = service
        .post(&token, "/prompts", &prompt("Greeting"))
        .await
        .expect_status(201);
    insta::assert_json_snapshot!(redacted(&created.body), @r#"
    {
      "content": "Hello {{name}}!",
      "content_type": "handlebars",
      "created_at": "<time>",
      "created_by": "user:developer",
      "id": "<id>",
      "name": "Greeting",
      "project": "project",
      "role": "user",
      "status": "draft",
      "tags": [],
      "updated_at": "<time>",
      "updated_by": "user:developer",
      "version": 1
    }
    "#);
}

#[tokio::test]
async fn fields_of_ours_and_unknown_ones_are_ignored_on_write() {
    let (service, token) = started().await;
    let mut body = prompt("Greeting");
    let foreign = json!({
        "id": "mine", "status": "published", "version": 7, "project": "theirs", "parent": "none",
        "created_by": "user:root", "updated_by": "user:root", "created_at": 0, "colour": ["red"]
    });
    for (key, value) in foreign.as_object().unwrap() {
        body[key] = value.clone();
    }
    let created = service.post(&token, "/prompts", &body).await.expect_status(201);
    let path = format!("/prompts/{}", created.id());
    let alone = service.put(&token, &path, &foreign).await;
    let alone = alone.expect_error(400, "invalid_request");
    assert!(alone.message().contains("'colour'"), "{}", alone.message());
    let mut change = foreign.clone();
    change["name"] = "Greeting".into();
    let updated = service.put(&token, &path, &change).await.expect_status(200);
    for (answer, version) in [(&created, 1), (&updated, 2)] {
        assert_ne!(answer.body["id"], "mine");
        assert_eq!(answer.body["status"], "draft");
        assert_eq!(answer.body["version"], version);
        assert_ne!(answer.body["project"], "theirs");
        assert_ne!(answer.body["created_by"], "user:root");
        assert_eq!(answer.body.get("parent"), None);
        assert_eq!(answer.body.get("colour"), None);
    }
}

#[tokio::test]
async fn every_content_type_is_kept_to_the_byte() {
    let (service, token) = started().await;
    for (content_type, content) in [
        (
            "handlebars",
            "{{#each items}}\r\n\t- {{this}} \u{1F600}\n{{/each}}",
        ),
        ("handlebars", ""),
        (
            "jst",
            "Total: ${items.map(item => item.price).join(`, `)} \\` \\${x}",
        ),
        ("text", "{{not closed ${either `` \u{202E} é e\u{301}"),
        ("text", ""),
    ] {
        let mut body = prompt("Content");
        body["content_type"] = content_type.into();
        body["content"] = content.into();
        let created = service.post(&token, "/prompts", &body).await.expect_status(201);
        let path = format!("/prompts/{}", created.id());
        let prompt = service.get(&token, &path).await.expect_status(200);
        assert_eq!(prompt.body["content"], content);
        assert_eq!(prompt.body["content_type"], content_type);
    }
}

#[tokio::test]
async fn update_changes_the_given_fields_and_counts_up() {
    let (service, token) = started().await;
    let created = service
        .post(&token, "/prompts", &whole_prompt("Greeting"))
        .await
        .expect_status(201);
    let path = format!("/prompts/{}", created.id());

    let changes = [
        json!({ "name": "Farewell" }),
        json!({ "role": "system" }),
        json!({ "description": "Says goodbye." }),
        json!({ "content_type": "handlebars", "content": "Bye {{name}}!" }),
        json!({ "test_data": { "name": "Grace", "age": 85 } }),
        json!({ "inputSchema": { "type": "object" } }),
        json!({ "tags": ["farewell"] }),
        json!({ "tags": [] }),
        json!({}),
    ];
    let mut expected = created.body.clone();
    for (index, change) in changes.iter().enumerate() {
        for (key, value) in change.as_object().unwrap() {
            expected[key] = value.clone();
        }
        expected["version"] = json!(index + 2);
        let updated = service.put(&token, &path, change).await.expect_status(200);
        assert!(updated.body["updated_at"].as_str() >= expected["updated_at"].as_str());
        expected["updated_at"] = updated.body["updated_at"].clone();
        assert_eq!(updated.body, expected, "{change}");
        assert_eq!(service.get(&token, &path).await.body, expected, "{change}");
    }
}

#[tokio::test]
async fn null_removes_an_optional_field() {
    let (service, token) = started().await;
    let created = service
        .post(&token, "/prompts", &whole_prompt("Greeting"))
        .await
        .expect_status(201);
    let path = format!("/prompts/{}", created.id());
    for field in ["description", "test_data", "inputSchema"] {
        let updated = service
            .put(&token, &path, &json!({ field: null }))
            .await
            .expect_status(200);
        assert_eq!(updated.body.get(field), None, "{}", updated.body);
    }
    let prompt = service.get(&token, &path).await;
    assert_eq!(prompt.body["version"], 4);
    assert_eq!(prompt.body["content"], "Hello ${name}!");
}

#[tokio::test]
async fn an_update_without_a_body_makes_a_version() {
    let (service, token) = started().await;
    let id = service.post(&token, "/prompts", &prompt("Greeting")).await.id();
    let path = format!("/prompts/{id}");
    let empty = service.request(Method::PUT, &path).token(&token);
    assert_eq!(empty.await.expect_status(200).body["version"], 2);
    let empty = service.request(Method::PUT, &path).token(&token);
    let typed = empty.header("content-type", "application/json").await;
    assert_eq!(typed.expect_status(200).body["version"], 3);
}

#[tokio::test]
async fn updated_by_is_who_updated() {
    let service = Service::start().await;
    let scope = service.scope();
    let (ada, grace) = (
        scope.token_with(&["--user-id", "ada"]),
        scope.token_with(&["--user-id", "grace"]),
    );
    let created = service.post(&ada, "/prompts", &prompt("Greeting")).await;
    let path = format!("/prompts/{}", created.id());
    let updated = service.put(&grace, &path, &json!({})).await.expect_status(200);
    assert_eq!(updated.body["created_by"], "user:ada");
    assert_eq!(updated.body["updated_by"], "user:grace");
}

#[tokio::test]
async fn deleted_template_is_missing_from_every_read() {
    let (service, token) = started().await;
    let name = unique("Gone");
    let id = service.post(&token, "/prompts", &prompt(&name)).await.id();
    let path = format!("/prompts/{id}");
    let deleted = service.delete(&token, &path).await.expect_status(200);
    assert_eq!(deleted.body, json!({ "id": id }));

    service.delete(&token, &path).await.expect_error(404, "not_found");
    for below in ["", "/versions", "/forks", "/interactions"] {
        let answer = service.get(&token, &format!("{path}{below}")).await;
        answer.expect_error(404, "not_found");
    }
    let put = service.put(&token, &path, &json!({})).await;
    put.expect_error(404, "not_found");
    let fork = service.post(&token, &format!("{path}/fork"), &json!({})).await;
    fork.expect_error(404, "not_found");
    let listed = service.get(&token, &format!("/prompts?name={name}")).await;
    assert_eq!(listed.expect_status(200).body, json!([]));
}

#[tokio::test]
async fn an_id_that_never_existed_is_404_everywhere() {
    let (service, token) = started().await;
    for id in [
        "01900000-0000-7000-8000-000000000000",
        "nonsense",
        "%20",
        "a%2Fb",
        "...",
    ] {
        let path = format!("/prompts/{id}");
        for below in ["", "/versions", "/forks", "/interactions"] {
            let answer = service.get(&token, &format!("{path}{below}")).await;
            answer.expect_error(404, "not_found");
        }
        let put = service.put(&token, &path, &json!({})).await;
        put.expect_error(404, "not_found");
        service.delete(&token, &path).await.expect_error(404, "not_found");
        let fork = service.post(&token, &format!("{path}/fork"), &json!({})).await;
        fork.expect_error(404, "not_found");
    }
}

#[tokio::test]
async fn refusal_has_the_fields_of_the_contract() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let missing = "/prompts/01900000-0000-7000-8000-000000000000";
    let answer = service.get(&token, missing).header("x-request-id", "mine").await;
    assert_eq!(answer.header("x-request-id"), "mine");
    let mut body: Value = answer.body.clone();
    assert_eq!(body["request_id"], "mine");
    body = redacted(&body);
    insta::assert_json_snapshot!(body, @r#"
    {
      "error": "not_found",
      "message": "The prompt template '<id>' does not exist.",
      "request_id": "<request id>",
      "status": 404
    }
    "#);
}

#[tokio::test]
async fn reading_and_writing_need_their_permissions() {
    let service = Service::start().await;
    let scope = service.scope();
    let (developer, reader) = (scope.token(Persona::Developer), scope.token(Persona::Reader));
    let nobody = scope.token(Persona::Nobody);
    let id = service
        .post(&developer, "/prompts", &prompt("Greeting"))
        .await
        .id();
    let path = format!("/prompts/{id}");
    let fork = format!("{path}/fork");
    let facets = json!({ "facets": [] });

    for (request, permission) in [
        (service.get(&nobody, &path), "interaction:read"),
        (service.get(&nobody, "/prompts"), "interaction:read"),
        (
            service.get(&nobody, &format!("{path}/versions")),
            "interaction:read",
        ),
        (service.get(&nobody, &format!("{path}/forks")), "interaction:read"),
        (
            service.get(&nobody, &format!("{path}/interactions")),
            "interaction:read",
        ),
        (
            service.post(&nobody, "/prompts/facets", &facets),
            "interaction:read",
        ),
        (
            service.post(&reader, "/prompts", &prompt("Mine")),
            "interaction:write",
        ),
        (service.put(&reader, &path, &json!({})), "interaction:write"),
        (service.post(&reader, &fork, &json!({})), "interaction:write"),
        (service.delete(&reader, &path), "interaction:delete"),
    ] {
        let refused = request.await.expect_error(403, "forbidden");
        assert!(
            refused.message().contains(permission),
            "{}: {}",
            refused.request,
            refused.message()
        );
    }
    let unchanged = service.get(&reader, &path).await.expect_status(200);
    assert_eq!(unchanged.body["version"], 1);
    let forks = service.get(&reader, &format!("{path}/forks")).await;
    assert_eq!(forks.expect_status(200).body, json!([]));
    service
        .post(&reader, "/prompts/facets", &facets)
        .await
        .expect_status(200);
}
