//! Tests the forms of bodies that senders have: arrays, forms, CloudEvents, text, compressed ones.

use std::io::Read as _;

use serde_json::{Value, json};
use tests::events::Channel;
use tests::{Events, Method};

use super::signing::{Sending, channel};

async fn send(events: &Events, channel: &Channel, sending: &Sending) -> Value {
    let sending = sending
        .clone()
        .with("authorization", format!("Bearer {}", channel.token()));
    sending.to(events, channel).await.expect_status(202).body
}

/// Waits for `count` events. Returns them in the order of `details.payload.n`.
async fn receive(events: &Events, count: usize) -> Vec<Value> {
    let requests = events.received("/all", count).await;
    assert_eq!(requests.len(), count);
    let mut received: Vec<_> = requests
        .iter()
        .map(|request| request.json()["event"].clone())
        .collect();
    received.sort_by_key(|event| event["details"]["payload"]["n"].as_u64());
    received
}

#[tokio::test]
async fn an_array_becomes_an_event_for_each_element() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let body = json!({ "name": "n", "source": "s", "transform": { "action_path": "event", "idempotency_key_path": "id" } });
    let plain = events.channel(&body).await;
    let elements: Vec<_> = (0..60)
        .map(|n| json!({ "event": format!("e{n}"), "id": format!("k{n}"), "n": n }))
        .collect();
    let answer = send(&events, &plain, &Sending::json(&json!(elements))).await;
    let ids = answer["event_ids"].as_array().unwrap().clone();
    assert_eq!((ids.len(), &answer["event_id"]), (60, &ids[0]));
    let received = receive(&events, 60).await;
    for (n, event) in received.iter().enumerate() {
        assert_eq!(event["event_id"], ids[n]);
        assert_eq!(event["action"], format!("e{n}"));
        assert_eq!(event["details"]["payload"], elements[n]);
    }
    // A repeat has the same ids and makes no event; one new element makes one.
    let again = send(&events, &plain, &Sending::json(&json!(elements))).await;
    assert_eq!(again["event_ids"], json!(ids));
    let more = json!([elements[0], { "event": "new", "id": "new", "n": 60 }]);
    let again = send(&events, &plain, &Sending::json(&more)).await;
    assert_eq!(again["event_ids"][0], ids[0]);
    receive(&events, 61).await;
}

#[tokio::test]
async fn an_array_is_taken_whole_or_not_at_all() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let plain = events.plain_channel().await;
    let token = format!("Bearer {}", plain.token());
    for body in [
        json!([{ "n": 1 }, 7]),
        json!([{ "n": 1 }, { "n": 2, "action": "x" }, null]),
        json!([]),
        Value::Array(vec![json!({ "n": 1 }); 501]),
    ] {
        let sending = Sending::json(&body).with("authorization", token.clone());
        sending
            .to(&events, &plain)
            .await
            .expect_error(400, "invalid_request");
    }
    let body = json!({ "name": "whole", "source": "s", "arrays": "whole" });
    let whole = events.channel(&body).await;
    let answer = send(&events, &whole, &Sending::json(&json!([1, { "n": 2 }]))).await;
    assert_eq!(answer["event_ids"], Value::Null);
    let received = receive(&events, 1).await;
    assert_eq!(received[0]["details"]["payload"], json!([1, { "n": 2 }]));
}

#[tokio::test]
async fn forms_text_and_lines_are_kept_as_they_are_sent() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let plain = events.plain_channel().await;
    for (kind, body, payload) in [
        (
            "application/x-www-form-urlencoded",
            "command=%2Fdeploy&text=prod",
            json!({ "command": "/deploy", "text": "prod" }),
        ),
        (
            "application/x-www-form-urlencoded",
            "payload=%7B%22zen%22%3A%22x%22%7D",
            json!({ "zen": "x" }),
        ),
        ("text/plain", "disk full", json!("disk full")),
        ("application/xml", "<a>\u{e9}</a>", json!("<a>\u{e9}</a>")),
        (
            "application/json",
            "\u{feff}{\"id\":9007199254740993}",
            json!({ "id": 9_007_199_254_740_993_u64 }),
        ),
    ] {
        let before = events.receiver.received_at("/all").len();
        send(&events, &plain, &Sending::new(kind, body.to_owned())).await;
        let requests = events.received("/all", before + 1).await;
        assert_eq!(
            requests[before].json()["event"]["details"]["payload"],
            payload,
            "{kind}"
        );
    }
    let lines = Sending::new("application/x-ndjson", "{\"n\":1}\n{\"n\":2}\n".to_owned());
    let answer = send(&events, &plain, &lines).await;
    assert_eq!(answer["event_ids"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn compressed_bodies_are_taken() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let plain = events.plain_channel().await;
    let mut bytes = Vec::new();
    let mut encoder =
        flate2::read::GzEncoder::new(&b"{\"action\":\"zipped\"}"[..], flate2::Compression::fast());
    encoder.read_to_end(&mut bytes).unwrap();
    let request = events.request(Method::POST, &plain.url).token(plain.token());
    request
        .header("content-encoding", "gzip")
        .body(bytes)
        .await
        .expect_status(202);
    let requests = events.received("/all", 1).await;
    assert_eq!(requests[0].json()["event"]["action"], "zipped");
}

#[tokio::test]
async fn cloud_events_are_taken_in_each_mode() {
    let events = Events::start().await;
    events.webhook("/all").await;
    let channel = channel(&events, "cloudevents", None).await;
    let event = |id: &str| {
        json!({ "specversion": "1.0", "type": "com.example.created", "source": "/orders", "subject": "42", "id": id,
        "time": "2026-01-02T03:04:05Z", "data": { "a": 1 } })
    };
    let structured = Sending::new("application/cloudevents+json", event("1").to_string());
    let first = send(&events, &channel, &structured).await;
    let batch = Sending::new(
        "application/cloudevents-batch+json",
        json!([event("1"), event("2")]).to_string(),
    );
    let answer = send(&events, &channel, &batch).await;
    assert_eq!(
        answer["event_ids"][0], first["event_id"],
        "a source and an id name one event"
    );
    let binary = Sending::json(&json!({ "a": 1 }))
        .with("ce-specversion", "1.0")
        .with("ce-type", "com.example.created")
        .with("ce-source", "/orders")
        .with("ce-subject", "42")
        .with("ce-id", "3")
        .with("ce-time", "2026-01-02T03:04:05Z");
    send(&events, &channel, &binary).await;
    let requests = events.received("/all", 3).await;
    assert_eq!(requests.len(), 3);
    for request in requests {
        let event = request.json()["event"].clone();
        for (field, value) in [
            ("action", "com.example.created"),
            ("resource_type", "/orders"),
            ("resource_id", "42"),
            ("timestamp", "2026-01-02T03:04:05.000Z"),
        ] {
            assert_eq!(event[field], value, "{event}");
        }
        assert_eq!(event["details"]["cloudevent"]["type"], "com.example.created");
    }
}

#[tokio::test]
async fn a_channel_can_take_larger_bodies() {
    let events = Events::start().await;
    let plain = events.plain_channel().await;
    let large = events
        .channel(&json!({ "name": "n", "source": "s", "max_body_kb": 1_024 }))
        .await;
    let body = |bytes: usize| Sending::json(&json!({ "text": "x".repeat(bytes) }));
    let sending =
        |channel: &Channel, bytes| body(bytes).with("authorization", format!("Bearer {}", channel.token()));
    sending(&plain, 300_000)
        .to(&events, &plain)
        .await
        .expect_status(413);
    sending(&large, 1_000_000)
        .to(&events, &large)
        .await
        .expect_status(202);
    sending(&large, 1_100_000)
        .to(&events, &large)
        .await
        .expect_status(413);
}
