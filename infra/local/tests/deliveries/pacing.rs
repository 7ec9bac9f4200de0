//! Tests what a webhook's target sets about its deliveries: body, retries, rate and order.

use std::collections::BTreeMap;

use events::envelope::{RawObject, raw};
use events::records::deliveries::DeliveryStatus;
use serde_json::{Value, json};

use crate::world::World;

fn order(key: &str, number: u64) -> RawObject {
    let payload = json!({ "order_id": key, "number": number });
    RawObject::from([("payload".to_owned(), raw(&payload).unwrap())])
}

fn ordered() -> Value {
    json!({ "ordered_by": "details.payload.order_id" })
}

/// Returns the key and the number of each request, in order.
fn arrived(world: &World) -> Vec<(String, u64)> {
    let payloads = world
        .got()
        .into_iter()
        .map(|got| got.body["event"]["details"]["payload"].clone());
    payloads
        .map(|payload| {
            (
                payload["order_id"].as_str().unwrap().to_owned(),
                payload["number"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn template_is_the_body() {
    let world = World::start().await;
    let template =
        json!({ "text": "Order {{ event.details.payload.order_id }}", "n": "$event.details.payload.number" });
    world
        .webhook_with(json!({ "payload_mode": "template", "template": template }))
        .await;
    world.event_with(None, order("A-7", 3)).await;
    world.settle().await;
    let got = world.got().remove(0);
    assert_eq!(got.body, json!({ "text": "Order A-7", "n": 3 }));
    assert_eq!(got.header("content-type"), "application/json");

    world
        .webhook_with(json!({ "payload_mode": "template", "template": "{{ event.action }}!" }))
        .await;
    world.event_with(None, order("A-8", 4)).await;
    world.settle().await;
    let text = world
        .got()
        .into_iter()
        .find(|got| got.body == json!("received!"))
        .unwrap();
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn template_that_cannot_be_filled_fails_the_delivery() {
    let world = World::start().await;
    world
        .webhook_with(json!({ "payload_mode": "template", "template": { "a": "$event.details.nothing" } }))
        .await;
    world.event(None).await;
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert!(
        delivery
            .last_error
            .unwrap()
            .contains("'target.template' cannot be filled")
    );
    assert!(world.got().is_empty());
}

#[tokio::test]
async fn target_sets_its_retries() {
    let world = World::start().await;
    world
        .webhook_with(json!({ "retry": { "schedule_seconds": [60], "statuses": [404] } }))
        .await;
    world.answer_with(404, None);
    world.event(None).await;
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Retrying);
    let pause = delivery.next_attempt_at.unwrap().millis_since(world.clock.now());
    assert!((48_000..=72_000).contains(&pause), "{pause}");
    world.pass(73);
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(
        (delivery.status, delivery.attempt_count),
        (DeliveryStatus::Failed, 2)
    );
}

#[tokio::test]
async fn no_second_has_more_requests_than_the_rate() {
    let world = World::start().await;
    world.webhook_with(json!({ "rate_per_second": 2 })).await;
    for _ in 0..7 {
        world.event(None).await;
    }
    for expected in [2, 4, 6, 7, 7] {
        world.settle().await;
        assert_eq!(world.got().len(), expected);
        world.pass(1);
    }
    let all = world.all().await;
    assert!(
        all.iter()
            .all(|delivery| delivery.status == DeliveryStatus::Succeeded && delivery.attempt_count == 1)
    );
}

#[tokio::test]
async fn late_requests_keep_the_rate() {
    let world = World::start().await;
    world.webhook_with(json!({ "rate_per_second": 2 })).await;
    for _ in 0..6 {
        world.event(None).await;
    }
    world.settle().await;
    // All seconds pass while no worker looks.
    world.pass(100);
    for expected in [4, 6] {
        world.settle().await;
        assert_eq!(world.got().len(), expected);
        world.pass(1);
    }
}

#[tokio::test]
async fn a_retried_delivery_holds_up_its_key_alone() {
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    world.answer_with(503, None);
    world.event_with(None, order("a", 1)).await;
    world.settle().await;
    assert!(world.got().is_empty(), "an earlier event may not be matched yet");
    world.pass(2);
    world.settle().await;
    world.answer_with(200, None);
    world.event_with(None, order("a", 2)).await;
    world.event_with(None, order("b", 1)).await;
    world.settle().await;
    world.pass(2);
    world.settle().await;
    let so_far = [("a".to_owned(), 1), ("b".to_owned(), 1)];
    assert_eq!(arrived(&world), so_far);
    world.pass(10);
    world.settle().await;
    assert_eq!(arrived(&world)[2..], [("a".to_owned(), 1), ("a".to_owned(), 2)]);
}

#[tokio::test]
async fn a_failed_or_cancelled_delivery_lets_the_next_go_on() {
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    world.answer_with(400, None);
    world.event_with(None, order("a", 1)).await;
    world.settle().await;
    world.pass(2);
    world.settle().await;
    world.answer_with(503, None);
    world.event_with(None, order("a", 2)).await;
    world.settle().await;
    world.pass(2);
    world.settle().await;
    world.answer_with(200, None);
    world.event_with(None, order("a", 3)).await;
    world.settle().await;
    world.pass(2);
    world.settle().await;
    assert_eq!(arrived(&world).len(), 2);
    let retrying = world
        .all()
        .await
        .into_iter()
        .find(|delivery| delivery.status == DeliveryStatus::Retrying);
    world
        .redelivery
        .cancel(&world.tenant, &retrying.unwrap().id, None)
        .await
        .unwrap();
    world.settle().await;
    let numbers: Vec<_> = arrived(&world).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn an_event_that_is_matched_late_keeps_its_place() {
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    world.event_with(None, order("a", 1)).await;
    world.inbox.lose_all();
    world.clock.advance_ms(10);
    world.event_with(None, order("a", 2)).await;
    world.settle().await;
    world.pass(6);
    world.settle().await;
    assert_eq!(arrived(&world), []);
    world.pass(40);
    world.sweeper.sweep(0).await.unwrap();
    world.settle().await;
    world.pass(6);
    world.settle().await;
    assert_eq!(arrived(&world), [("a".to_owned(), 1), ("a".to_owned(), 2)]);
}

#[tokio::test]
async fn orders_of_fifty_keys_arrive_in_order_by_key_although_the_receiver_fails() {
    const KEYS: u64 = 50;
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    for number in 0..500 {
        world
            .event_with(None, order(&format!("order-{}", number % KEYS), number))
            .await;
        world.clock.advance_ms(1);
    }
    world.answer_with(503, None);
    world.settle().await;
    world.pass(2);
    world.settle().await;
    assert_eq!(arrived(&world).len(), 50, "the first of each key");
    world.answer_with(200, None);
    // The process dies: its hints are lost, and the sweeper finds the runs.
    world.hints.lose_all();
    for _ in 0..10 {
        world.pass(60);
        world.sweeper.sweep(0).await.unwrap();
        world.settle().await;
    }
    let mut last = BTreeMap::new();
    for (key, number) in arrived(&world) {
        let before = last.insert(key.clone(), number).unwrap_or_default();
        assert!(before <= number, "{key}: {number} after {before}");
    }
    let all = world.all().await;
    assert_eq!(all.len(), 500);
    assert!(
        all.iter()
            .all(|delivery| delivery.status == DeliveryStatus::Succeeded)
    );
}

#[tokio::test]
async fn text_and_number_are_one_key() {
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    world.answer_with(503, None);
    for (key, number) in [(json!("7"), 1), (json!(7), 2), (json!("7"), 3)] {
        let payload = json!({ "order_id": key, "number": number });
        let details = RawObject::from([("payload".to_owned(), raw(&payload).unwrap())]);
        world.event_with(None, details).await;
        world.clock.advance_ms(1);
    }
    world.settle().await;
    world.pass(2);
    world.settle().await;
    assert_eq!(world.got().len(), 1, "the others wait for the first");
}

#[tokio::test]
async fn redriven_deliveries_of_a_key_keep_their_order() {
    let world = World::start().await;
    world.webhook_with(ordered()).await;
    world.answer_with(404, None);
    for number in 1..=6 {
        world.event_with(None, order("a", number)).await;
        world.clock.advance_ms(1);
    }
    for _ in 0..8 {
        world.settle().await;
        world.pass(2);
    }
    assert_eq!(arrived(&world).len(), 6);
    world.answer_with(200, None);
    let failed = world.all().await;
    for delivery in failed.iter().rev() {
        assert_eq!(delivery.status, DeliveryStatus::Failed);
        world.redelivery.retry(&world.tenant, &delivery.id).await.unwrap();
    }
    for _ in 0..8 {
        world.settle().await;
        world.pass(2);
    }
    let numbers: Vec<_> = arrived(&world)[6..].iter().map(|(_, number)| *number).collect();
    assert!(numbers.is_sorted() && numbers.len() == 6, "{numbers:?}");
}
