//! Tests a receiver that answers 410: its subscription is disabled, and the deliveries that this cancelled
//! can be redelivered.

use events::records::deliveries::DeliveryStatus;
use events::subscription::StoredSubscription;

use crate::world::World;

impl World {
    async fn subscription(&self, id: &str) -> StoredSubscription {
        let record = self.matcher.subscriptions.get(&self.tenant, id).await.unwrap();
        StoredSubscription::from_record(&record).unwrap()
    }

    pub async fn enable(&self, id: &str, enabled: bool) {
        let before = self.matcher.subscriptions.get(&self.tenant, id).await.unwrap();
        let mut subscription = StoredSubscription::from_record(&before).unwrap();
        subscription.enabled = enabled;
        subscription.disabled = None;
        let next = subscription.record(before.revision + 1).unwrap();
        let result = self
            .matcher
            .subscriptions
            .save(&self.tenant, &before, &next)
            .await;
        assert_eq!(result.unwrap(), platform::records::Outcome::Done);
    }
}

#[tokio::test]
async fn what_a_receiver_that_is_gone_cancelled_is_delivered_once_it_is_back() {
    let world = World::start().await;
    let id = world.webhook().await;
    world.answer_with(500, None);
    world.event(None).await;
    world.settle().await;
    let waiting = world.one().await;
    world.answer_with(410, None);
    world.pass(1);
    world.event(None).await;
    world.settle().await;

    let subscription = world.subscription(&id).await;
    let gone = world
        .all()
        .await
        .into_iter()
        .find(|delivery| delivery.id != waiting.id);
    let gone = gone.unwrap();
    assert!(!subscription.enabled && gone.status == DeliveryStatus::Failed);
    let disabled = subscription.disabled.unwrap();
    assert_eq!(
        disabled.reason,
        format!(
            "The receiver answered the delivery '{}' with the status 410.",
            gone.id
        )
    );
    assert_eq!(disabled.at, world.clock.now());

    world.pass(10);
    world.settle().await;
    let cancelled = world.deliveries.get(&world.tenant, &waiting.id).await.unwrap();
    let why = format!(
        "The subscription is disabled since {}. {}",
        disabled.at, disabled.reason
    );
    assert_eq!(
        (cancelled.status, cancelled.last_error.as_deref()),
        (DeliveryStatus::Cancelled, Some(why.as_str()))
    );

    let refusal = world
        .redelivery
        .retry(&world.tenant, &waiting.id)
        .await
        .unwrap_err();
    assert!(refusal.message().contains(&why), "{refusal}");
    assert!(
        refusal
            .message()
            .ends_with("Enable it first, then retry the delivery.")
    );
    world.enable(&id, true).await;
    world.answer_with(200, None);
    for delivery in [&waiting.id, &gone.id] {
        world.redelivery.retry(&world.tenant, delivery).await.unwrap();
        world.settle().await;
        let delivery = world.deliveries.get(&world.tenant, delivery).await.unwrap();
        assert_eq!(
            (delivery.status, delivery.attempt_count),
            (DeliveryStatus::Succeeded, 2)
        );
        assert_eq!(delivery.last_error, None);
    }
}
