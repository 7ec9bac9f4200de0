//! Tests subscriptions that match the events of their own runs.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn runs_that_start_each_other_come_to_an_end() {
    let world = World::start().await;
    for _ in 0..2 {
        world
            .subscribe(
                &["workflow", "external"],
                json!({ "type": "workflow", "endpoint": "Quick" }),
            )
            .await;
    }
    world.event(None).await;
    world.settle().await;
    // Each subscription matches the event, and each matches the two events of the other's run.
    assert_eq!(world.all().await.len(), 2 + 2 * 2);
    let lengths: Vec<_> = world
        .all()
        .await
        .iter()
        .map(|delivery| delivery.workflow_run_id.is_some())
        .collect();
    assert!(lengths.iter().all(|started| *started));
}

#[tokio::test]
async fn a_delivery_brings_no_events_of_its_own() {
    let world = World::start().await;
    world.webhook().await;
    let target = json!({ "type": "workflow", "endpoint": "Quick" });
    world.subscribe(&["workflow"], target).await;
    world.event(None).await;
    world.settle().await;
    assert_eq!(world.all().await.len(), 1);
}
