//! Tests that nothing that is exported has a secret.

use serde_json::json;
use tests::{Collector, Events, Method};

#[tokio::test]
async fn exported_bytes_have_no_secret_locally() {
    let collector = Collector::start().await;
    let events = Events::start_local_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20collector-secret",
        ),
        ("MILLRACE_LOG", "trace"),
    ])
    .await;
    let mut body = events.webhook_body("/path-of-hook?key=query-of-hook");
    body["target"]["signing_mode"] = json!("signed");
    let subscription = events.subscribe(&body).await;
    let channel = events.plain_channel().await;
    let by_query = format!("{}?token={}&other=query-of-caller", channel.url, channel.token());
    let posted = events
        .request(Method::POST, &by_query)
        .json(&json!({ "payload": "body-of-event" }));
    let event_id = posted.await.expect_status(202).body["event_id"]
        .as_str()
        .unwrap()
        .to_owned();
    events.delivery_of(&event_id, &["succeeded"]).await;
    events
        .get("wrong-token", "/prompts?search=query-of-request")
        .await
        .expect_status(401);
    collector.named(1, "run WebhookDelivery").await;
    collector.settle().await;
    let bytes = collector.bytes();
    assert_eq!(collector.header("authorization"), "Bearer collector-secret");
    assert!(bytes.len() > 1_000 && !collector.logs().is_empty());
    for secret in [
        "collector-secret",
        "path-of-hook",
        "query-of-hook",
        "query-of-caller",
        "query-of-request",
        "body-of-event",
        "wrong-token",
        channel.token(),
        subscription["signing_secret"].as_str().unwrap(),
        &events.token,
    ] {
        let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{secret}");
    }
}
