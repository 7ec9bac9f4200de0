//! Tests workflow targets that take the run's workflow id from the event, and targets with a missing type.

use std::sync::Arc;

use events::envelope::{RawObject, raw};
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use local::bus::LocalBus;
use platform::ErrorKind;
use serde_json::{Value, json};

use crate::world::World;

fn order(id: &Value) -> RawObject {
    RawObject::from([("payload".to_owned(), raw(&json!({ "order_id": id })).unwrap())])
}

fn target(endpoint: &str) -> Value {
    json!({ "type": "workflow", "endpoint": endpoint, "workflow_id": "details.payload.order_id" })
}

/// Publishes an event about an order and returns its delivery.
async fn delivered(world: &World, id: &Value) -> DeliveryRecord {
    let event = world.event_with(None, order(id)).await;
    assert_eq!(world.match_messages().await, 0);
    let mut all = world.all().await.into_iter();
    all.find(|delivery| delivery.event_id == event).unwrap()
}

#[tokio::test]
async fn events_with_the_same_id_start_one_run() {
    let world = World::start().await;
    world.subscribe(&["external"], target("Waiting")).await;
    let first = delivered(&world, &json!("order-7")).await;
    assert_eq!(first.workflow_id.as_deref(), Some("order-7"));
    assert_eq!(first.status, DeliveryStatus::Pending);

    // Once while the run is open, and once after its end.
    for _ in 0..2 {
        let next = delivered(&world, &json!("order-7")).await;
        assert_eq!(next.status, DeliveryStatus::Succeeded);
        assert_eq!(
            (&next.workflow_id, &next.workflow_run_id, &next.last_error),
            (&first.workflow_id, &first.workflow_run_id, &None)
        );
        world.pass(61);
        world.settle().await;
    }
    let first = world.deliveries.get(&world.tenant, &first.id).await.unwrap();
    assert_eq!(first.status, DeliveryStatus::Succeeded);
    let other = delivered(&world, &json!("order-8")).await;
    assert_ne!(other.workflow_run_id, first.workflow_run_id);
    let number = delivered(&world, &json!(7)).await;
    assert_eq!(number.workflow_id.as_deref(), Some("7"));
}

#[tokio::test]
async fn a_message_that_comes_twice_leaves_the_delivery_as_it_is() {
    let world = World::start().await;
    world.subscribe(&["external"], target("Waiting")).await;
    let event = world.event_with(None, order(&json!("order-7"))).await;
    let record = world.events.find(&world.tenant, &event).await.unwrap().unwrap();
    let bus = LocalBus::new(world.clock.clone(), vec![Arc::new(world.inbox.clone())]);
    for _ in 0..5 {
        events::publish::publish_stored(&bus, &record).await;
    }
    // All messages in one batch, before any of them marks the event as matched.
    assert_eq!(world.match_messages().await, 0);
    assert_eq!(world.one().await.status, DeliveryStatus::Pending);
}

#[tokio::test]
async fn an_event_without_a_usable_id_fails_its_delivery_for_good() {
    let world = World::start().await;
    world.subscribe(&["external"], target("Quick")).await;
    let long = "x".repeat(201);
    for (id, why) in [
        (json!(null), "neither a text nor an integer"),
        (json!(1.5), "neither a text nor an integer"),
        (json!(true), "neither a text nor an integer"),
        (json!(["a"]), "neither a text nor an integer"),
        (json!({ "a": 1 }), "neither a text nor an integer"),
        (json!(""), "is empty, too long or holds other characters"),
        (json!(long), "is empty, too long or holds other characters"),
        (json!("a#b"), "is empty, too long or holds other characters"),
        (json!("a/b"), "is empty, too long or holds other characters"),
        (json!("a\u{7}b"), "is empty, too long or holds other characters"),
        (json!("delivery-e1-s1"), "begins with 'delivery-'"),
    ] {
        let delivery = delivered(&world, &id).await;
        let error = delivery.last_error.unwrap();
        assert_eq!(delivery.status, DeliveryStatus::Failed, "{id}");
        assert!(
            error.contains("'details.payload.order_id'") && error.contains(why),
            "{id}: {error}"
        );
        assert_eq!((delivery.workflow_id, delivery.workflow_run_id), (None, None));
    }
    let before = world.all().await.len();
    world.event(None).await;
    world.settle().await;
    let all = world.all().await;
    assert_eq!(all.len(), before + 1);
    let without = all.iter().filter(|delivery| {
        let error = delivery.last_error.as_deref().unwrap_or_default();
        error.contains("leads to nothing in the event")
    });
    assert_eq!(without.count(), 1);
}

#[tokio::test]
async fn an_id_of_a_run_of_another_type_fails_the_delivery() {
    let world = World::start().await;
    world.subscribe(&["external"], target("Waiting")).await;
    delivered(&world, &json!("order-7")).await;
    world.subscribe(&["external"], target("Quick")).await;
    let event = world.event_with(None, order(&json!("order-7"))).await;
    world.match_messages().await;
    let all = world.all().await;
    let statuses = all.iter().filter(|delivery| delivery.event_id == event);
    let failed: Vec<_> = statuses
        .filter(|delivery| delivery.status == DeliveryStatus::Failed)
        .collect();
    assert_eq!(failed.len(), 1);
    let error = failed[0].last_error.as_deref().unwrap();
    assert!(
        error.contains("'order-7'") && error.contains("of the type 'Waiting'"),
        "{error}"
    );
}

#[tokio::test]
async fn an_operator_starts_a_run_of_the_same_id_after_the_end_of_the_first() {
    let world = World::start().await;
    world.subscribe(&["external"], target("Waiting")).await;
    let first = delivered(&world, &json!("order-7")).await;
    let second = delivered(&world, &json!("order-7")).await;
    let refusal = world
        .redelivery
        .retry(&world.tenant, &second.id)
        .await
        .unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Conflict);
    assert!(
        refusal
            .message()
            .contains("of the workflow id 'order-7' has not ended")
    );
    world.settle().await;
    world.pass(61);
    world.settle().await;
    world.redelivery.retry(&world.tenant, &second.id).await.unwrap();
    let second = world.deliveries.get(&world.tenant, &second.id).await.unwrap();
    assert_eq!(second.workflow_id, first.workflow_id);
    assert_ne!(second.workflow_run_id, first.workflow_run_id);
}

#[tokio::test]
async fn a_type_that_is_no_longer_there_fails_the_delivery() {
    let world = World::start().await;
    world
        .subscribe(&["external"], json!({ "type": "workflow", "endpoint": "Gone" }))
        .await;
    world.event(None).await;
    world.settle().await;
    let delivery = world.one().await;
    let error = delivery.last_error.unwrap();
    assert_eq!(
        (delivery.status, delivery.workflow_run_id),
        (DeliveryStatus::Failed, None)
    );
    assert!(
        error.starts_with("There is no workflow type 'Gone'; there are "),
        "{error}"
    );
}
