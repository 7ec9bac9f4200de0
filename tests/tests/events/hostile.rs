//! Tests hostile receivers: each attempt ends in time, takes little memory, and does not delay other
//! deliveries.

use serde_json::{Value, json};
use tests::Events;
use tests::hostile::{ALL, Meanness};

/// Returns the memory of a local service; 0 for one elsewhere, which reports none.
fn memory_kb(events: &mut Events) -> u64 {
    match events.service.is_shared() {
        true => 0,
        false => events.service.process().memory_kb(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_attempt_ends_in_time_and_says_how() {
    let mut events = Events::start().await;
    let channel = events.plain_channel().await;
    for meanness in ALL {
        let origin = meanness.serve().await;
        // The receiver first generates its answer, which takes time on a busy machine.
        let timeout_ms = if matches!(meanness, Meanness::Bomb) {
            15_000
        } else {
            1_500
        };
        events
            .subscribe(&json!({
                "name": format!("{meanness:?}"), "run_as_role": "reader", "filter": { "action": [format!("{meanness:?}")] },
                "target": { "type": "webhook", "url": origin, "timeout_ms": timeout_ms },
            }))
            .await;
    }
    let before = memory_kb(&mut events);
    for meanness in ALL {
        let event = events
            .event(&channel, &json!({ "action": format!("{meanness:?}") }))
            .await;
        let delivery = events
            .delivery_of(&event, &["succeeded", "retrying", "failed"])
            .await;
        let attempt = &delivery["attempts"][0];
        let expected = match meanness {
            // The status is the result of the attempt, whatever follows it.
            Meanness::Endless | Meanness::Drip | Meanness::Bomb => ("succeeded", json!(200)),
            Meanness::Redirect => ("failed", json!(302)),
            _ => ("retrying", Value::Null),
        };
        assert_eq!(
            (
                delivery["status"].as_str().unwrap(),
                attempt["response_status"].clone()
            ),
            expected,
            "{meanness:?}: {delivery}"
        );
        // 4,096 bytes; each invalid UTF-8 byte may be shown as one character.
        let excerpt = attempt["response_body"].as_str().unwrap_or_default();
        assert!(excerpt.len() <= 4_096, "{meanness:?}");
    }
    let after = memory_kb(&mut events);
    assert!(after < before + 100_000, "{before} KB before, {after} KB after");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_delays_no_other() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let origin = Meanness::Hang.serve().await;
    events
        .subscribe(&json!({
            "name": "Hang", "run_as_role": "reader", "filter": { "action": ["hang"] },
            "target": { "type": "webhook", "url": origin, "timeout_ms": 50_000 },
        }))
        .await;
    let mut body = events.webhook_body("/good");
    body["filter"]["action"] = json!(["good"]);
    events.subscribe(&body).await;
    // More than one account may have open, and each lasts longer than the test. Elsewhere each takes a Lambda
    // environment, and an emulator has all of them on one machine.
    let count = if events.service.is_shared() { 20 } else { 300 };
    for _ in 0..count {
        events.event(&channel, &json!({ "action": "hang" })).await;
    }
    for n in 0..50 {
        events.event(&channel, &json!({ "action": "good", "n": n })).await;
        events.received("/good", n + 1).await;
    }
    let hanging = events
        .deliveries(&json!({ "action": ["hang"], "limit": 200 }))
        .await;
    assert!(
        hanging.iter().all(|delivery| delivery["status"] != "succeeded"),
        "no receiver took them"
    );
}
