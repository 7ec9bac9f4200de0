//! Tests that the owner of a channel sees what it refused, and that credentials can be rotated without a
//! gap.

use serde_json::{Value, json};
use tests::Events;
use tests::events::Channel;

use super::signing::{Sending, channel, now, sha256, sign_stripe};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

async fn refusals(events: &Events, channel: &Channel) -> Value {
    let path = format!("/events/channels/{}", channel.id());
    events.get(&events.token, &path).await.expect_status(200).body["refusals"].clone()
}

#[tokio::test]
async fn the_owner_sees_what_was_refused_and_why() {
    let events = Events::start().await;
    let stripe = channel(&events, "stripe", None).await;
    let body = Sending::json(&json!({ "id": "evt_1", "card": "4242424242424242" }));
    let at = now();
    let sign = |secret: &str, at: i64| sign_stripe(body.clone(), secret, at);
    assert_eq!(refusals(&events, &stripe).await, Value::Null);
    sign(SECRET, at)
        .to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    let path = format!("/events/channels/{}", stripe.id());
    events
        .put(
            &events.token,
            &path,
            &json!({ "signing_secret": format!(" {SECRET}\n") }),
        )
        .await
        .expect_status(200);
    body.to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    sign("another secret", at)
        .to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    sign(SECRET, at - 1_000)
        .to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    body.clone()
        .with("stripe-signature", "v1=00")
        .to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    let not_json = Sending::new("application/json", "not json".to_owned());
    sign_stripe(not_json, SECRET, at)
        .to(&events, &stripe)
        .await
        .expect_error(400, "invalid_request");
    let record = refusals(&events, &stripe).await;
    let expected = json!({ "secret_missing": 1, "signature_missing": 1, "signature_wrong": 1, "timestamp_outside_tolerance": 1,
        "timestamp_missing": 1, "body_invalid": 1 });
    assert_eq!(record["counts"], expected, "{record}");
    let last = record["last"].as_array().unwrap();
    assert_eq!(last.len(), 6);
    assert_eq!(last[0]["reason"], "body_invalid");
    assert!(
        last[4]["detail"].as_str().unwrap().contains("'stripe-signature'"),
        "{record}"
    );
    let text = record.to_string();
    assert!(!text.contains(SECRET) && !text.contains("4242"), "{text}");

    events
        .put(&events.token, &path, &json!({ "keep_refused_bodies": true }))
        .await
        .expect_status(200);
    let long = Sending::json(&json!({ "a": "x".repeat(500) }));
    long.to(&events, &stripe)
        .await
        .expect_error(401, "unauthenticated");
    let record = refusals(&events, &stripe).await;
    assert_eq!(record["last"][0]["body"].as_str().unwrap().len(), 200);
    sign(SECRET, at).to(&events, &stripe).await.expect_status(202);
}

#[tokio::test]
async fn ten_refusals_publish_one_event() {
    let events = Events::start().await;
    events.subscribe(&json!({
        "name": "Refusing", "run_as_role": "executor", "filter": { "event_category": ["system"], "action": ["channel_refusing"] },
        "target": { "type": "webhook", "url": format!("{}/system", events.receiver.origin) },
    })).await;
    let plain = events.plain_channel().await;
    for _ in 0..10 {
        Sending::json(&json!({}))
            .to(&events, &plain)
            .await
            .expect_error(401, "unauthenticated");
    }
    let requests = events.received("/system", 1).await;
    let event = requests[0].json()["event"].clone();
    assert_eq!(event["resource_type"], "event_channel");
    assert_eq!(event["resource_id"], plain.id());
    assert_eq!(event["details"]["reason"], "token_missing");
    assert_eq!(events.receiver.received_at("/system").len(), 1);
}

#[tokio::test]
async fn replaced_credentials_count_for_a_time() {
    let events = Events::start().await;
    let plain = events.plain_channel().await;
    let path = format!("/events/channels/{}", plain.id());
    let body = json!({ "rotate_token": true, "rotation_overlap_seconds": 3_600 });
    let rotated = events
        .put(&events.token, &path, &body)
        .await
        .expect_status(200)
        .body;
    assert!(rotated["previous_token_until"].is_string(), "{rotated}");
    let new = rotated["ingest_token"].as_str().unwrap();
    let by = |token: &str| Sending::json(&json!({})).with("authorization", format!("Bearer {token}"));
    by(plain.token()).to(&events, &plain).await.expect_status(202);
    by(new).to(&events, &plain).await.expect_status(202);
    events
        .put(&events.token, &path, &json!({ "rotate_token": true }))
        .await
        .expect_status(200);
    for token in [plain.token(), new] {
        by(token)
            .to(&events, &plain)
            .await
            .expect_error(401, "unauthenticated");
    }

    let signed_channel = events
        .channel(&json!({ "name": "n", "source": "s", "signature": { "header": "x-signature" } }))
        .await;
    let path = format!("/events/channels/{}", signed_channel.id());
    let by = |secret: &str| {
        Sending::json(&json!({})).with("x-signature", hex::encode(sha256(secret.as_bytes(), "{}")))
    };
    let body = json!({ "rotate_signing_secret": true, "rotation_overlap_seconds": 60 });
    let rotated = events
        .put(&events.token, &path, &body)
        .await
        .expect_status(200)
        .body;
    for secret in [
        signed_channel.secret(),
        rotated["signing_secret"].as_str().unwrap(),
    ] {
        by(secret).to(&events, &signed_channel).await.expect_status(202);
    }
    let body = json!({ "rotation_overlap_seconds": 604_801 });
    events
        .put(&events.token, &path, &body)
        .await
        .expect_error(400, "invalid_request");
}
