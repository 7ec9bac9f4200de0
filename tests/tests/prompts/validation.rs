//! Tests invalid input to the prompt template endpoints: refused with a sentence that names the position,
//! never with a 5xx.

use serde_json::{Value, json};
use tests::samples::prompt;

use crate::requests::{refused, started, with};

#[tokio::test]
async fn a_wrong_type_is_named_by_its_json_path() {
    let (service, token) = started().await;
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    for (field, value, part) in [
        ("name", json!(7), "$.name"),
        ("name", json!(["x"]), "$.name"),
        ("role", json!({}), "$.role"),
        ("description", json!(1.5), "$.description"),
        ("content_type", json!(true), "$.content_type"),
        ("content_type", json!({ "text": null }), "$.content_type"),
        ("content_type", json!("html"), "$.content_type"),
        ("content_type", json!("Handlebars"), "$.content_type"),
        ("content_type", json!(""), "$.content_type"),
        ("content", json!(7), "$.content"),
        ("tags", json!("red"), "$.tags"),
        ("tags", json!(["red", 7]), "$.tags[1]"),
        ("tags", json!({ "red": true }), "$.tags"),
        ("test_data", json!("x"), "test_data"),
        ("test_data", json!([]), "test_data"),
        ("inputSchema", json!("x"), "inputSchema"),
        ("inputSchema", json!(true), "inputSchema"),
    ] {
        let answer = service
            .post(&token, "/prompts", &with(field, value.clone()))
            .await;
        assert_eq!(answer.body["field"], part.trim_start_matches("$."));
        refused(answer, part);
        refused(service.put(&token, &path, &json!({ field: value })).await, part);
    }
    assert_eq!(service.get(&token, &path).await.body["version"], 1);
}

#[tokio::test]
async fn a_missing_field_is_named() {
    let (service, token) = started().await;
    for field in ["name", "role", "content_type", "content"] {
        let mut body = prompt("Greeting");
        body.as_object_mut().unwrap().remove(field);
        refused(service.post(&token, "/prompts", &body).await, field);
        refused(
            service.post(&token, "/prompts", &with(field, Value::Null)).await,
            field,
        );
    }
}

#[tokio::test]
async fn empty_and_blank_texts_are_refused() {
    let (service, token) = started().await;
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    for field in ["name", "role"] {
        for blank in ["", " ", "\t\n", "\u{a0}\u{2003}"] {
            let answer = service.post(&token, "/prompts", &with(field, blank.into())).await;
            assert_eq!(answer.body["field"], field);
            refused(answer, field);
            refused(service.put(&token, &path, &json!({ field: blank })).await, field);
        }
    }
    refused(
        service
            .post(&token, "/prompts", &with("tags", json!(["red", ""])))
            .await,
        "tags[1]",
    );
}

#[tokio::test]
async fn nul_is_refused_in_names_and_never_a_5xx_elsewhere() {
    let (service, token) = started().await;
    refused(
        service
            .post(&token, "/prompts", &with("name", "a\0b".into()))
            .await,
        "name",
    );
    refused(
        service
            .post(&token, "/prompts", &with("role", "a\0b".into()))
            .await,
        "role",
    );
    refused(
        service
            .post(&token, "/prompts", &with("tags", json!(["a\0b"])))
            .await,
        "tags[0]",
    );
    for field in ["content", "description"] {
        let answer = service
            .post(&token, "/prompts", &with(field, "a\0b".into()))
            .await;
        assert!(matches!(answer.status, 201 | 400), "{field}: {}", answer.text());
        if answer.status == 201 {
            let prompt = service.get(&token, &format!("/prompts/{}", answer.id())).await;
            assert_eq!(prompt.body[field], "a\0b");
        }
    }
}

#[tokio::test]
async fn any_text_of_people_comes_back_as_it_was() {
    let (service, token) = started().await;
    for name in [
        "Robert'); DROP TABLE prompts;--",
        "\"quoted\" and 'quoted' and `quoted`",
        "back\\slash / slash # hash % percent ? & = +",
        "<script>alert(1)</script>",
        "{{handlebars}} ${jst} $ref",
        "  spaces kept  ",
        "日本語 العربية עברית हिन्दी",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} \u{1F3F3}\u{FE0F}\u{200D}\u{1F308} \u{10FFFF}",
        "e\u{301} is not é",
        "null",
        "0",
    ] {
        let mut body = with("name", name.into());
        body["role"] = name.into();
        body["description"] = name.into();
        body["tags"] = json!([name]);
        body["test_data"] = json!({ name: [name, null, true, 1.5, -7, { name: name }] });
        let created = service.post(&token, "/prompts", &body).await.expect_status(201);
        let path = format!("/prompts/{}", created.id());
        let prompt = service.get(&token, &path).await.expect_status(200);
        for field in ["name", "role", "description", "tags", "test_data"] {
            assert_eq!(prompt.body[field], body[field], "{name}");
        }
        let fork = service.post(&token, &format!("{path}/fork"), &json!({})).await;
        assert_eq!(fork.expect_status(201).body["name"], format!("{name} (fork)"));
    }
}

#[tokio::test]
async fn template_syntax_errors_have_a_line_and_a_column() {
    let (service, token) = started().await;
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    for (content_type, content, line) in [
        ("handlebars", "Hello {{name}", 1),
        ("handlebars", "One\nTwo\nHello {{#if a}}x", 3),
        ("handlebars", "One\n{{#if a}}x{{/each}}", 2),
        ("handlebars", "{{/if}}", 1),
        ("jst", "Hello ${name", 1),
        ("jst", "One\nHello ${}", 2),
        ("jst", "One\nTwo ${a b}", 2),
        ("jst", "Hello `; process.exit(); `", 1),
    ] {
        let mut body = with("content", content.into());
        body["content_type"] = content_type.into();
        for answer in [
            service.post(&token, "/prompts", &body).await,
            service.put(&token, &path, &body).await,
        ] {
            let place = format!("line {line}");
            assert!(
                answer.message().contains("column"),
                "{content:?}: {}",
                answer.text()
            );
            refused(answer, &place);
        }
    }
    // The existing content must also be valid in the new type.
    let content = service
        .put(&token, &path, &json!({ "content_type": "text", "content": "${" }))
        .await;
    content.expect_status(200);
    let change = service
        .put(&token, &path, &json!({ "content_type": "jst" }))
        .await;
    refused(change, "line 1");
}

#[tokio::test]
async fn invalid_schema_is_refused() {
    let (service, token) = started().await;
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    for schema in [
        json!({ "type": "objekt" }),
        json!({ "type": 7 }),
        json!({ "required": "name" }),
        json!({ "properties": [] }),
        json!({ "properties": { "a": { "minimum": "one" } } }),
        json!({ "pattern": "(" }),
        json!({ "$ref": "#/$defs/missing" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "$ref": "file:///etc/passwd" }),
    ] {
        let body = with("inputSchema", schema.clone());
        refused(service.post(&token, "/prompts", &body).await, "inputSchema");
        refused(
            service
                .put(&token, &path, &json!({ "inputSchema": schema }))
                .await,
            "inputSchema",
        );
    }
}

#[tokio::test]
async fn test_data_must_satisfy_the_schema() {
    let (service, token) = started().await;
    let schema = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string" }, "items": { "items": { "type": "integer" } } }
    });
    for (data, part) in [
        (json!({}), "name"),
        (json!({ "name": 7 }), "/name"),
        (json!({ "name": "Ada", "items": [1, "two"] }), "/items/1"),
    ] {
        let mut body = with("inputSchema", schema.clone());
        body["test_data"] = data.clone();
        refused(service.post(&token, "/prompts", &body).await, part);

        // The same with one of the two already stored.
        for (first, second) in [("inputSchema", "test_data"), ("test_data", "inputSchema")] {
            let created = service
                .post(&token, "/prompts", &with(first, body[first].clone()))
                .await;
            let path = format!("/prompts/{}", created.expect_status(201).id());
            let change = json!({ second: body[second] });
            refused(service.put(&token, &path, &change).await, part);
        }
    }
}
