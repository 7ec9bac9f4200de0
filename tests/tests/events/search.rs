//! Tests the search of deliveries by every field.

use std::time::Instant;

use serde_json::{Value, json};
use tests::Events;
use tests::runs::{PAUSE, WITHIN};

#[tokio::test]
async fn deliveries_are_found_by_whatever_is_known_of_them() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let good = events.webhook("/good").await;
    let mut body = events.webhook_body("/status/404");
    body["filter"]["action"] = json!(["odd"]);
    let bad = events.subscribe(&body).await;
    let mut ids = Vec::new();
    for n in 0..12 {
        let action = if n % 2 == 1 { "odd" } else { "even" };
        let body =
            json!({ "action": action, "resource_type": "thing", "resource_id": format!("r-{}", n % 3) });
        ids.push(events.event(&channel, &body).await);
    }
    let deadline = Instant::now() + WITHIN;
    while events
        .deliveries(&json!({ "status": ["succeeded", "failed"] }))
        .await
        .len()
        < 18
    {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(PAUSE).await;
    }
    let all = events.deliveries(&json!({})).await;
    assert_eq!(all.len(), 18);
    assert!(
        all.windows(2)
            .all(|pair| pair[0]["created_at"].as_str() >= pair[1]["created_at"].as_str())
    );
    for (search, count) in [
        (json!({ "event_id": ids[1] }), 2),
        (json!({ "event_id": ids[1], "status": ["failed"] }), 1),
        (json!({ "resource_id": "r-0" }), 6),
        (json!({ "subscription_id": good["id"] }), 12),
        (
            json!({ "subscription_id": bad["id"], "status": ["succeeded"] }),
            0,
        ),
        (json!({ "status": ["failed"] }), 6),
        (json!({ "status": ["failed", "succeeded", "failed"] }), 18),
        (json!({ "status": ["pending", "cancelled"] }), 0),
        (json!({ "status": [] }), 18),
        (json!({ "target_type": ["workflow"] }), 0),
        (
            json!({ "target_type": ["workflow", "webhook"], "event_category": ["external"] }),
            18,
        ),
        (json!({ "action": ["odd"], "resource_type": ["thing"] }), 12),
        (json!({ "from": "2999-01-01T00:00:00Z" }), 0),
        (json!({ "to": "2999-01-01T00:00:00Z" }), 18),
        (
            json!({ "from": all[4]["created_at"], "to": all[0]["created_at"] }),
            5,
        ),
        (json!({ "event_id": "none" }), 0),
        (json!({ "event_id": "x".repeat(3_000) }), 0),
    ] {
        let deliveries = events.deliveries(&search).await;
        assert!(
            deliveries.len() == count || (search.get("from").is_some() && deliveries.len() >= count),
            "{search}: {}",
            deliveries.len()
        );
    }
    // Pages add up to the same list.
    for search in [
        json!({}),
        json!({ "status": ["failed", "succeeded"] }),
        json!({ "action": ["odd"] }),
    ] {
        let whole = events.deliveries(&search).await;
        let (mut paged, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let mut page = search.clone();
            page["limit"] = json!(5);
            page["cursor"] = cursor;
            let answer = events
                .post(&events.token, "/events/deliveries/search", &page)
                .await
                .expect_status(200)
                .body;
            paged.extend(answer["deliveries"].as_array().unwrap().clone());
            match answer.get("next_cursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{search}");
    }
    for (search, message) in [
        (json!({ "limit": 0 }), "The field 'limit' must be from 1 to 200."),
        (
            json!({ "limit": 201 }),
            "The field 'limit' must be from 1 to 200.",
        ),
        (
            json!({ "status": ["done"] }),
            "The field 'status' names 'done'; there are evaluating, pending, running, retrying, succeeded, failed, cancelled.",
        ),
        (
            json!({ "target_type": ["Webhook"] }),
            "The field 'target_type' names 'Webhook'; there are webhook, workflow, agent, process.",
        ),
        (
            json!({ "event_category": ["External"] }),
            "The field 'event_category' names 'External'; there are content,",
        ),
        (json!({ "status": "failed" }), "$.status"),
        (
            json!({ "cursor": "x" }),
            "The cursor does not belong to this listing",
        ),
        (json!({ "from": "yesterday" }), "$.from"),
    ] {
        let refused = events
            .post(&events.token, "/events/deliveries/search", &search)
            .await
            .expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(message),
            "{search}: {}",
            refused.message()
        );
    }
}

/// Uses no receiver, so that it also runs where functions refuse addresses of this machine.
#[tokio::test]
async fn an_event_is_attempted_until_the_operator_ends_that() {
    let events = Events::start().await;
    let mut body = events.webhook_body("/");
    body["target"]["url"] = "https://receiver.invalid/".into();
    body["target"]["signing_mode"] = "signed".into();
    events.subscribe(&body).await;
    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({ "action": "made" })).await;
    let delivery = events.delivery_of(&event, &["retrying"]).await;
    assert_eq!(delivery["event_id"], event, "{delivery}");
    assert!(
        delivery["attempts"][0]["error"]
            .as_str()
            .unwrap()
            .contains("cannot be reached")
    );
    let id = delivery["id"].as_str().unwrap();
    events.scope.ops(&["delivery", "cancel", id]).expect_success();
    let ended = events.delivery_of(&event, &["cancelled"]).await;
    assert!(ended["attempt_count"].as_u64().unwrap() >= 1, "{ended}");
}
