//! What has ended goes after its time; what has not, stays.

use platform::records::deliveries::{DeliveryRecord, DeliveryStatus};
use serde_json::json;

use crate::world::World;

const DAY_SECONDS: i64 = 24 * 3_600;

async fn found(world: &World, delivery: &DeliveryRecord) -> Option<DeliveryRecord> {
    let found = world.deliveries.find(&world.tenant, &delivery.id).await;
    found.unwrap()
}

async fn expire(world: &World) {
    world.services.expire(world.clock.now()).await.unwrap();
}

#[tokio::test]
async fn a_delivery_goes_90_days_after_its_end_and_is_hidden_at_once() {
    let world = World::start().await;
    world.webhook().await;
    world.event(None).await;
    world.settle().await;
    let delivery = world.one().await;
    assert_eq!(delivery.status, DeliveryStatus::Succeeded);
    world.pass(90 * DAY_SECONDS - 1);
    expire(&world).await;
    assert!(found(&world, &delivery).await.is_some());
    world.pass(1);
    let hidden = world
        .deliveries
        .find_unexpired(&world.tenant, &delivery.id, world.clock.now());
    assert!(hidden.await.unwrap().is_none());
    world.pass(1);
    expire(&world).await;
    assert!(found(&world, &delivery).await.is_none());
    assert!(world.all().await.is_empty());
}

#[tokio::test]
async fn an_open_delivery_stays_and_so_does_one_that_is_made_again() {
    let world = World::start().await;
    world.webhook().await;
    world.answer_with(404, None);
    world.event(None).await;
    world.settle().await;
    let failed = world.one().await;
    assert_eq!(failed.status, DeliveryStatus::Failed);
    world.pass(89 * DAY_SECONDS);
    world.answer_with(503, None);
    world.redelivery.retry(&world.tenant, &failed.id).await.unwrap();
    world.settle().await;
    assert_eq!(world.one().await.status, DeliveryStatus::Retrying);
    world.hints.lose_all();
    world.pass(1_000 * DAY_SECONDS);
    expire(&world).await;
    assert_eq!(
        found(&world, &failed).await.unwrap().status,
        DeliveryStatus::Retrying
    );
}

#[tokio::test]
async fn a_delivery_that_no_run_carries_out_goes_as_well() {
    let world = World::start().await;
    let target = json!({ "type": "workflow", "endpoint": "Quick", "workflow_id": "details.missing" });
    world.subscribe(&["external"], target).await;
    world.event(None).await;
    assert_eq!(world.match_told().await, 0);
    let failed = world.one().await;
    assert_eq!(failed.status, DeliveryStatus::Failed);
    world.pass(90 * DAY_SECONDS + 1);
    expire(&world).await;
    assert!(found(&world, &failed).await.is_none());
}
