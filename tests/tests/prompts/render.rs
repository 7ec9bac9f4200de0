//! Tests `POST /prompts/render`: the text is that of the platform's own renderer, and nothing is stored.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Answer, Persona, Service};

use crate::requests::{refused, started};

async fn render(service: &Service, token: &str, body: &Value) -> Answer {
    service.post(token, "/prompts/render", body).await
}

#[tokio::test]
async fn each_language_is_rendered_with_the_data() {
    let (service, token) = started().await;
    let data = json!({ "name": "O'Brien & <sons>", "items": [{ "n": 1 }, { "n": 2 }] });
    for (content_type, content, text) in [
        (
            "handlebars",
            "Dear {{name}}:{{#each items}} {{n}}{{/each}}",
            "Dear O'Brien & <sons>: 1 2",
        ),
        ("handlebars", "[{{missing}}]", "[]"),
        (
            "jst",
            "Dear ${name}, ${items.length === 2 ? 'two' : 'other'}",
            "Dear O'Brien & <sons>, two",
        ),
        ("text", "{{name}} ${name}", "{{name}} ${name}"),
        ("text", "", ""),
    ] {
        let body = json!({ "content_type": content_type, "content": content, "data": data });
        let answer = render(&service, &token, &body).await.expect_status(200);
        assert_eq!(answer.body, json!({ "text": text }));
    }
    for data in [Value::Null, json!({})] {
        let body = json!({ "content_type": "handlebars", "content": "a{{b}}c", "data": data });
        assert_eq!(render(&service, &token, &body).await.body["text"], "ac");
    }
    let body = json!({ "content_type": "handlebars", "content": "a{{b}}c" });
    assert_eq!(render(&service, &token, &body).await.body["text"], "ac");
}

#[tokio::test]
async fn a_syntax_error_has_the_words_of_a_write() {
    let (service, token) = started().await;
    for (content_type, content, place) in [
        ("handlebars", "a\nb {{#if x}}", "line 2, column"),
        ("jst", "a\n${", "line 2, column"),
        ("jst", "a ` b", "line 1, column"),
    ] {
        let mut prompt_body = prompt("Greeting");
        prompt_body["content_type"] = content_type.into();
        prompt_body["content"] = content.into();
        prompt_body.as_object_mut().unwrap().remove("test_data");
        prompt_body.as_object_mut().unwrap().remove("inputSchema");
        let answer = service.post(&token, "/prompts", &prompt_body).await;
        let body = json!({ "content_type": content_type, "content": content });
        let rendered = render(&service, &token, &body).await;
        assert_eq!(rendered.message(), answer.message());
        let at = format!(
            "line {}, column {}:",
            rendered.body["line"], rendered.body["column"]
        );
        assert!(rendered.message().contains(&at), "{}", rendered.text());
        refused(rendered, place);
    }
}

#[tokio::test]
async fn template_that_fails_on_its_data_names_the_line() {
    let (service, token) = started().await;
    for (content_type, content, part) in [
        ("jst", "a\n${b}", "line 2"),
        ("jst", "${alert(1)}", "line 1"),
        ("handlebars", "a\n{{> other}}", "line 2"),
    ] {
        let body = json!({ "content_type": content_type, "content": content, "data": {} });
        refused(render(&service, &token, &body).await, part);
    }
}

#[tokio::test]
async fn invalid_bodies_are_refused() {
    let (service, token) = started().await;
    let body = json!({ "content_type": "handlebars", "content": "{{a}}", "data": {} });
    for (field, value, part) in [
        ("content_type", json!("html"), "$.content_type"),
        ("content_type", Value::Null, "content_type"),
        ("content", json!(7), "$.content"),
        ("content", Value::Null, "content"),
        ("data", json!([]), "$.data"),
        ("data", json!("x"), "$.data"),
        ("content", json!("x".repeat(65_537)), "at most 65536 bytes"),
    ] {
        let mut body = body.clone();
        body[field] = value;
        refused(render(&service, &token, &body).await, part);
    }
    let large = json!({ "content_type": "text", "content": "x".repeat(300_000) });
    render(&service, &token, &large)
        .await
        .expect_error(413, "payload_too_large");
}

#[tokio::test]
async fn a_template_that_multiplies_itself_is_stopped() {
    let (service, token) = started().await;
    let items = vec![0; 200];
    let data = json!({ "a": items, "text": "x".repeat(10_000) });
    for content in [
        "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{#each @root.a}}.{{/each}}{{/each}}{{/each}}{{/each}}",
        "{{#each a}}{{@root.text}}{{/each}}",
    ] {
        let body = json!({ "content_type": "handlebars", "content": content, "data": data });
        refused(render(&service, &token, &body).await, "more than");
    }
    let body = json!({ "content_type": "handlebars", "content": "{{a.[0]}}", "data": data });
    assert_eq!(render(&service, &token, &body).await.body["text"], "0");
}

#[tokio::test]
async fn rendering_needs_the_permission_to_read_and_stores_nothing() {
    let (service, _) = started().await;
    let scope = service.scope();
    let reader = scope.token(Persona::Reader);
    let body = json!({ "content_type": "text", "content": "a" });
    render(&service, &reader, &body).await.expect_status(200);
    render(&service, &scope.token(Persona::Nobody), &body)
        .await
        .expect_error(403, "forbidden");
    let listed = service.get(&reader, "/prompts").await.expect_status(200);
    assert_eq!(listed.body, json!([]));
    let auditor = scope.token(Persona::AccountAdmin);
    let trail = service.get(&auditor, "/audit-trail").await.expect_status(200);
    assert!(!trail.text().contains("prompts/render"), "{}", trail.text());
}
