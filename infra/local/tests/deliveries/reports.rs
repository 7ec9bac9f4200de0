//! Tests the events by which the service reports failed deliveries and disabled subscriptions.

use events::envelope::Envelope;
use events::records::deliveries::{DeliveryRecord, DeliveryStatus};
use serde_json::{Value, json};

use crate::world::World;

impl World {
    /// Subscribes a workflow to the service's reports.
    async fn watch(&self) -> String {
        self.subscribe(&["system"], json!({ "type": "workflow", "endpoint": "Quick" }))
            .await
    }

    /// Subscribes the receiver to these categories.
    async fn webhook_of(&self, categories: &[&str]) -> String {
        let target = json!({ "type": "webhook", "url": self.origin() });
        self.subscribe(categories, target).await
    }

    async fn deliveries_to(&self, subscription: &str) -> Vec<DeliveryRecord> {
        let mut all = self.all().await;
        all.retain(|delivery| delivery.subscription_id == subscription);
        all
    }

    async fn event_of(&self, delivery: &DeliveryRecord) -> Value {
        let record = self.events.find(&self.tenant, &delivery.event_id).await.unwrap();
        let envelope = Envelope::parse(&record.unwrap().envelope).unwrap();
        serde_json::from_str(&envelope.to_json().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn delivery_that_fails_for_good_is_reported_once() {
    let world = World::start().await;
    let watcher = world.watch().await;
    let subscription = world.webhook().await;
    world.answer_with(404, None);
    let event = world.event(None).await;
    world.settle().await;
    let failed = world.deliveries_to(&subscription).await.remove(0);
    assert_eq!(failed.status, DeliveryStatus::Failed);
    let reports = world.deliveries_to(&watcher).await;
    assert_eq!(reports.len(), 1, "{reports:?}");
    let report = world.event_of(&reports[0]).await;
    let expected = json!({
        "event_id": event, "event_category": "external", "action": "received", "resource_type": "thing", "resource_id": event,
        "subscription_id": subscription, "subscription_name": "s", "target_type": "webhook", "attempt_count": 1,
        "error": "The receiver answered with the status 404.", "response_status": 404,
    });
    assert_eq!(report["details"], expected);
    assert_eq!(
        (
            &report["action"],
            &report["resource_type"],
            &report["resource_id"],
            &report["source"]
        ),
        (
            &json!("delivery_failed"),
            &json!("event_delivery"),
            &json!(failed.id),
            &json!("millrace")
        )
    );
    // Another failure of the same delivery is another report.
    world.redelivery.retry(&world.tenant, &failed.id).await.unwrap();
    world.settle().await;
    assert_eq!(world.deliveries_to(&watcher).await.len(), 2);
}

#[tokio::test]
async fn delivery_whose_attempts_are_exhausted_is_reported_after_the_last() {
    let world = World::start().await;
    let watcher = world.watch().await;
    let subscription = world.webhook().await;
    world.answer_with(503, None);
    world.event(None).await;
    for _ in 0..9 {
        world.settle().await;
        assert!(world.deliveries_to(&watcher).await.is_empty());
        world.pass(12 * 3_600);
        world.sweeper.sweep(0).await.unwrap();
    }
    world.settle().await;
    let failed = world.deliveries_to(&subscription).await.remove(0);
    assert_eq!(
        (failed.status, failed.attempt_count),
        (DeliveryStatus::Failed, 10)
    );
    let reports = world.deliveries_to(&watcher).await;
    assert_eq!(reports.len(), 1);
    let details = &world.event_of(&reports[0]).await["details"];
    assert_eq!(
        (&details["attempt_count"], &details["response_status"]),
        (&json!(10), &json!(503))
    );
}

#[tokio::test]
async fn delivery_that_cannot_start_is_reported_once_however_often_it_is_matched() {
    let world = World::start().await;
    let watcher = world.watch().await;
    let target = json!({ "type": "workflow", "endpoint": "Unknown" });
    let subscription = world.subscribe(&["external"], target).await;
    world.event(None).await;
    let message = world.inbox.all();
    world.settle().await;
    for body in message {
        platform::queue::Queue::send(&world.inbox, &body).await.unwrap();
    }
    world.settle().await;
    assert_eq!(world.deliveries_to(&subscription).await.len(), 1);
    let reports = world.deliveries_to(&watcher).await;
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(world.event_of(&reports[0]).await["details"]["attempt_count"], 0);
}

#[tokio::test]
async fn failed_delivery_of_a_report_is_not_reported() {
    let world = World::start().await;
    // Both get all events, and both refuse them.
    let first = world.webhook_of(&["external", "system"]).await;
    let second = world.webhook_of(&["external", "system"]).await;
    world.answer_with(404, None);
    world.event(None).await;
    world.settle().await;
    // The event, and the failure of the other one: not its own, nor that of a report.
    for subscription in [first, second] {
        let deliveries = world.deliveries_to(&subscription).await;
        assert_eq!(deliveries.len(), 2, "{deliveries:?}");
        assert!(
            deliveries
                .iter()
                .all(|delivery| delivery.status == DeliveryStatus::Failed)
        );
    }
}

#[tokio::test]
async fn disabled_subscription_is_reported_once() {
    let world = World::start().await;
    let watcher = world.watch().await;
    let subscription = world.webhook_of(&["external", "system"]).await;
    world.answer_with(410, None);
    world.event(None).await;
    world.event(None).await;
    world.settle().await;
    let mut actions = Vec::new();
    for delivery in world.deliveries_to(&watcher).await {
        let event = world.event_of(&delivery).await;
        let action = event["action"].as_str().unwrap().to_owned();
        if action == "subscription_disabled" {
            assert_eq!(event["resource_id"], subscription.as_str());
            let reason = event["details"]["reason"].as_str().unwrap();
            assert!(reason.ends_with("with the status 410."), "{reason}");
        }
        actions.push(action);
    }
    let disabled = actions
        .iter()
        .filter(|action| *action == "subscription_disabled")
        .count();
    assert_eq!(disabled, 1, "{actions:?}");
    assert!(actions.iter().any(|action| action == "delivery_failed"));
    assert!(
        world.deliveries_to(&subscription).await.len() <= 2,
        "it gets none of these reports"
    );
}

#[tokio::test]
async fn cancelled_delivery_is_not_reported() {
    let world = World::start().await;
    let watcher = world.watch().await;
    world.webhook().await;
    world.answer_with(503, None);
    world.event(None).await;
    world.settle().await;
    let waiting = world.one().await;
    world
        .redelivery
        .cancel(&world.tenant, &waiting.id, None)
        .await
        .unwrap();
    world.settle().await;
    assert_eq!(world.one().await.status, DeliveryStatus::Cancelled);
    assert!(world.deliveries_to(&watcher).await.is_empty());
}
