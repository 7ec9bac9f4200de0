//! Tests request bodies in general: malformed JSON, wrong content types, too large, too deep, and numbers
//! beyond every number type.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Answer, Method, Service};

use crate::requests::{refused, started, with};

/// Sends a raw body to `POST /prompts`.
async fn raw(service: &Service, token: &str, body: impl Into<Vec<u8>>) -> Answer {
    let request = service.request(Method::POST, "/prompts").token(token);
    request
        .header("content-type", "application/json")
        .body(body)
        .await
}

#[tokio::test]
async fn malformed_json_says_where() {
    let (service, token) = started().await;
    let whole = prompt("Greeting").to_string();
    for (body, part) in [
        (&whole.as_bytes()[..whole.len() - 1], "line 1 column"),
        (&whole.as_bytes()[..20], "line 1 column"),
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"{", "line 1 column"),
        (b"{\n\"name\": 'x'}", "line 2 column"),
        (b"{\"name\": \"x\",}", "line 1 column"),
        (b"{} {}", "line 1 column"),
        (b"nonsense", "line 1 column"),
        (b"\xff\xfe{}", "UTF-16"),
        (b"\xfe{}", "line 1 column"),
        (b"{\"name\": \"\xff\"}", "line 1 column"),
        (b"{\"name\": \"\\ud800\"}", "line 1 column"),
        (b"{\"name\": \"a\nb\"}", "line 2 column"),
        (b"{\"name\": NaN}", "line 1 column"),
    ] {
        refused(raw(&service, &token, body).await, part);
    }
}

#[tokio::test]
async fn the_body_must_be_an_object() {
    let (service, token) = started().await;
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    let positional = json!(["Greeting", "user", "d", "text", "Hello", {}, {}, []]);
    for body in [
        json!([]),
        positional,
        json!("text"),
        json!(7),
        json!(null),
        json!(true),
    ] {
        refused(service.post(&token, "/prompts", &body).await, "The body");
        refused(service.put(&token, &path, &body).await, "The body");
    }
    assert_eq!(service.get(&token, &path).await.body["version"], 1);
}

#[tokio::test]
async fn duplicate_keys_are_refused() {
    let (service, token) = started().await;
    let whole = prompt("Greeting").to_string();
    let rest = whole.strip_prefix('{').unwrap();
    for (first, part) in [
        (r#"{"name":"a","#, "name"),
        (r#"{"test_data":{},"test_data":{},"#, "test_data"),
        (r#"{"test_data":{"a":1,"a":2},"#, "a"),
        (r#"{"inputSchema":{"type":"object","type":"array"},"#, "type"),
    ] {
        refused(raw(&service, &token, format!("{first}{rest}")).await, part);
    }
}

#[tokio::test]
async fn bodies_over_the_limit_are_413() {
    let (service, token) = started().await;
    // Only a text may be longer than 64 KiB.
    let mut largest = with("content", "x".repeat(250 * 1_024).into());
    largest["content_type"] = "text".into();
    service
        .post(&token, "/prompts", &largest)
        .await
        .expect_status(201);
    for size in [300 << 10, 5 << 20, 7 << 20] {
        let answer = service
            .post(&token, "/prompts", &with("content", "x".repeat(size).into()))
            .await;
        answer.expect_error(413, "payload_too_large");
        let answer = raw(&service, &token, vec![b' '; size]).await;
        answer.expect_error(413, "payload_too_large");
    }
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    let answer = service
        .put(&token, &path, &json!({ "content": "x".repeat(300 << 10) }))
        .await;
    answer.expect_error(413, "payload_too_large");
}

/// If the server refused and closed while the caller still sends, the caller would see a broken connection.
#[tokio::test]
async fn a_large_body_does_not_hide_another_refusal() {
    let (service, token) = started().await;
    let large = vec![b' '; 12 << 20];
    let send = |path: &str, token: &str| {
        service
            .request(Method::POST, path)
            .token(token)
            .body(large.clone())
    };
    for _ in 0..8 {
        send("/prompts", "none").await.expect_status(401);
        send("/nothing-here", &token).await.expect_status(404);
        send("/audit-trail", &token).await.expect_status(405);
        send("/prompts", &token).await.expect_status(415);
    }
}

#[tokio::test]
async fn the_content_type_must_be_json() {
    let (service, token) = started().await;
    let body = prompt("Greeting").to_string();
    let path = format!(
        "/prompts/{}",
        service.post(&token, "/prompts", &prompt("Greeting")).await.id()
    );
    for (content_type, status) in [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON", 201),
        ("text/plain", 415),
        ("text/json-ish", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/xml", 415),
        ("nonsense", 415),
    ] {
        let request = service.request(Method::POST, "/prompts").token(&token);
        let answer = request
            .header("content-type", content_type)
            .body(body.clone())
            .await;
        let put = service.request(Method::PUT, &path).token(&token);
        let put = put.header("content-type", content_type).body(body.clone()).await;
        if status == 415 {
            answer.expect_error(415, "unsupported_media_type");
            put.expect_error(415, "unsupported_media_type");
        } else {
            answer.expect_status(status);
            put.expect_status(200);
        }
    }
    let untyped = service
        .request(Method::POST, "/prompts")
        .token(&token)
        .body(body)
        .await;
    untyped.expect_error(415, "unsupported_media_type");
}

#[tokio::test]
async fn deep_json_is_refused_without_a_crash() {
    let (service, token) = started().await;
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    for depth in [1_000, 20_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let deep = nested(open, close, depth);
            refused(raw(&service, &token, deep.clone()).await, "The body");
            let inside = format!(
                r#"{{"name":"a","role":"user","content_type":"text","content":"","test_data":{{"a":{deep}}}}}"#
            );
            refused(raw(&service, &token, inside).await, "The body");
        }
    }
    service.get(&token, "/prompts?limit=1").await.expect_status(200);
}

#[tokio::test]
async fn numbers_are_kept_or_refused_but_never_changed() {
    let (service, token) = started().await;
    for (number, is_exact) in [
        ("0", true),
        ("-1", true),
        ("1.5", true),
        ("9007199254740993", true),
        ("18446744073709551615", true),
        ("-9223372036854775808", true),
        ("1e-7", true),
        ("1e400", false),
        ("-1e400", false),
        ("1e999999999", false),
    ] {
        let body = format!(
            r#"{{"name":"a","role":"user","content_type":"text","content":"","test_data":{{"n":{number}}}}}"#
        );
        let answer = raw(&service, &token, body).await;
        if is_exact {
            let path = format!("/prompts/{}", answer.expect_status(201).id());
            let answer = service.get(&token, &path).await.expect_status(200);
            let expected: Value = number.parse().unwrap();
            assert_eq!(answer.body["test_data"]["n"], expected, "{number}");
        } else {
            refused(answer, "The body");
        }
    }
}

#[tokio::test]
async fn updates_cannot_add_up_to_more_than_a_record_holds() {
    let (service, token) = started().await;
    let created = service
        .post(&token, "/prompts", &prompt("Greeting"))
        .await
        .expect_status(201);
    let path = format!("/prompts/{}", created.id());
    let large = "x".repeat(200 * 1_024);
    service
        .put(
            &token,
            &path,
            &json!({ "content_type": "text", "content": large }),
        )
        .await
        .expect_status(200);
    let answer = service
        .put(&token, &path, &json!({ "test_data": { "large": large } }))
        .await;
    answer.expect_error(413, "payload_too_large");
    let answer = service.get(&token, &path).await.expect_status(200);
    assert_eq!(answer.body["version"], 2);
}
