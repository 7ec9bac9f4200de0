//! Tests that callers cannot forge log lines, and that the log contains none of their values.

use serde_json::{Value, json};
use tests::{Method, Persona, Service, Store, unique};

/// Ends a line, starts one that looks like the service's own, and clears a terminal in three ways.
const FORGERY: &str =
    "x\r\n2026-01-01T00:00:00.000000Z  INFO forged\u{1b}[2J\u{9b}2J\u{2028}\u{202e}\u{0}\u{7}";

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[tokio::test]
async fn no_line_is_forged_locally() {
    let service = Service::start_local_with(&[("MILLRACE_LOG", "debug")]).await;
    let token = service.scope().token(Persona::Developer);
    let escaped: String = url_escaped(FORGERY);
    let subscription = |target: Value, filter: Value| json!({ "name": "a", "run_as_role": "reader", "filter": filter, "target": target });
    let webhook =
        |headers: Value| json!({ "type": "webhook", "url": "https://example.com/", "headers": headers });
    let store = service
        .post(&token, "/data", &json!({ "name": "Logs" }))
        .await
        .id();
    let bodies = [
        (
            "/events/subscriptions",
            subscription(webhook(json!({ FORGERY: "a" })), json!({})),
        ),
        (
            "/events/subscriptions",
            subscription(webhook(json!({ "accept": FORGERY })), json!({})),
        ),
        (
            "/events/subscriptions",
            subscription(webhook(json!({})), json!({ FORGERY: [] })),
        ),
        (
            "/events/subscriptions",
            subscription(json!({ "type": FORGERY }), json!({})),
        ),
        (
            "/events/subscriptions",
            subscription(json!({ "type": "webhook", "url": FORGERY }), json!({})),
        ),
        (
            "/events/subscriptions",
            subscription(webhook(json!({})), json!({ "condition": { FORGERY: [] } })),
        ),
        (
            "/prompts",
            json!({ "name": FORGERY, "role": "user", "content_type": "text", "content": "a" }),
        ),
        (
            "/prompts",
            json!({ "name": "a", "role": "user", "content_type": FORGERY, "content": "a" }),
        ),
        (
            "/prompts",
            json!({ "name": "a", "role": "user", "content_type": "handlebars", "content": format!("{{{{{FORGERY}") }),
        ),
        (
            "/prompts/facets",
            json!({ "facets": [{ "name": "a", "field": FORGERY }] }),
        ),
        ("/workflows/runs", json!({ "status": FORGERY })),
        ("/workflows/runs", json!({ "query": FORGERY })),
        ("/workflows/runs", json!({ "next_page_token": FORGERY })),
        ("/data", json!({ "name": FORGERY })),
        (
            &format!("/data/{store}/query"),
            json!({ "sql": format!("SELECT \"{FORGERY}\"") }),
        ),
        (
            &format!("/data/{store}/query"),
            json!({ "sql": format!("SELECT * FROM \"{FORGERY}\"") }),
        ),
        (
            &format!("/data/{store}/tables"),
            json!({ "tables": [{ "name": FORGERY, "columns": [] }] }),
        ),
    ];
    for (path, body) in &bodies {
        let answer = service.post(&token, path, body).await;
        assert!(
            (400..500).contains(&answer.status),
            "{path} {body}: {}",
            answer.text()
        );
    }
    for path in [
        format!("/prompts/{escaped}"),
        format!("/data/{escaped}"),
        format!("/workflows/runs/{escaped}/{escaped}"),
        format!("/{escaped}"),
        format!("/audit-trail?actions={escaped}"),
        format!("/audit-trail?{escaped}=1&from={escaped}"),
    ] {
        service.get(&token, &path).await;
    }
    for (name, value) in [
        ("authorization", "Bearer a\tb"),
        ("x-request-id", "a b"),
        ("x-api-key", "sk-\u{e9}"),
    ] {
        service.request(Method::GET, "/data").header(name, value).await;
    }
    let log = service.log();
    assert!(log.lines().count() > bodies.len(), "{log}");
    for line in log.lines() {
        // Each line of the service starts with a year.
        let is_ours =
            line.get(..4).is_some_and(|year| year.parse::<u16>().is_ok()) && !line.contains("INFO forged ");
        assert!(
            is_ours && !line.starts_with("2026-01-01T00:00:00.000000Z"),
            "{line:?}"
        );
        assert!(!line.chars().any(is_obeyed), "{line:?}");
    }
}

fn url_escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The answer contains the rows that an import or a query refuses; the log does not.
#[tokio::test]
async fn no_value_of_a_row_is_logged_locally() {
    let store = Store::start_local_with(&[("MILLRACE_LOG", "debug")]).await;
    let secret = unique("secret");
    store
        .table("kept", &["id INTEGER primary_key", "day DATE", "name STRING"])
        .await;
    let rows = json!([{ "id": 1, "name": secret }]);
    store.append("kept", &rows).await.expect_status(200);
    store.table("keyed", &["name STRING primary_key"]).await;
    store
        .append("keyed", &json!([{ "name": secret }]))
        .await
        .expect_status(200);
    for (table, rows) in [
        ("kept", json!([{ "id": secret }])),
        ("kept", json!([{ "id": 2, "day": secret }])),
        ("kept", json!([{ "id": 2, "name": { "a": secret } }])),
        ("kept", json!([{ "id": 2, secret.as_str(): 1 }])),
        ("keyed", json!([{ "name": secret }])),
    ] {
        let answer = store.append(table, &rows).await;
        assert!([400, 409, 422].contains(&answer.status), "{}", answer.text());
        assert!(
            answer.text().contains(&secret) || answer.status == 422,
            "the caller is told: {}",
            answer.text()
        );
    }
    for sql in [
        "SELECT name::INTEGER FROM kept".to_owned(),
        format!("SELECT '{secret}'::DATE"),
    ] {
        let refused = store.query(&sql, &json!({})).await;
        refused.expect_error(422, "unprocessable");
    }
    for sql in [
        "SELECT error('Allocation failure ' || name) FROM kept".to_owned(),
        "SELECT error('std::bad_alloc ' || name) FROM kept".to_owned(),
        "SELECT strptime(name, '%Y') FROM kept".to_owned(),
        format!("SELECT \"{secret}\" FROM kept"),
    ] {
        store
            .query(&sql, &json!({}))
            .await
            .expect_error(400, "invalid_request");
    }
    let token = &store.token;
    let body = json!({ "name": "a", "role": "user", "content_type": secret, "content": [secret] });
    store
        .service
        .post(token, "/prompts", &body)
        .await
        .expect_status(400);
    let body = json!({ "name": "a", "role": "user", "content_type": "text", "content": "a",
        "inputSchema": { "properties": { "a": { "enum": ["b"] } } }, "test_data": { "a": secret } });
    store
        .service
        .post(token, "/prompts", &body)
        .await
        .expect_status(400);
    let log = store.service.log();
    let leaks: Vec<_> = log.lines().filter(|line| line.contains(&secret)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(log.contains("quote data of the caller"), "{log}");
}
