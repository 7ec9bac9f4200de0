//! Tests that archived records expire, and that no record expires before it is archived.

use event_log::archive::{Crash, Step};
use platform::records::{Condition, Written};
use serde_json::Value;

use crate::world::World;

const NOON: &str = "2026-11-24T12:00:00Z";

async fn expiries(world: &World) -> Vec<Option<i64>> {
    let mut times = Vec::new();
    let (records, _) = world.events_table.scan(None).await.unwrap();
    for (key, record) in records {
        if key.sk == "event" {
            times.push(record.get("expires_at").and_then(Value::as_i64));
        }
    }
    times
}

async fn match_all(world: &World) {
    for id in 0..5 {
        let event = world.events.find(&world.tenant, &format!("e{id:04}")).await;
        let event = event.unwrap().unwrap();
        let now = world.clock.now();
        world.events.matched(&world.tenant, &event, now).await.unwrap();
    }
}

#[tokio::test]
async fn an_event_that_is_matched_after_it_was_archived_expires_from_then_on() {
    let world = World::new().await;
    world.events(0..5, NOON).await;
    world.pass().await;
    assert_eq!(expiries(&world).await, [None; 5]);
    world.advance_minutes(60);
    match_all(&world).await;
    let expected = world.clock.now().as_seconds() + 90 * 24 * 3_600;
    assert_eq!(expiries(&world).await, [Some(expected); 5]);
}

#[tokio::test]
async fn records_expire_once_they_are_committed() {
    let world = World::new().await;
    world.events(0..5, NOON).await;
    match_all(&world).await;
    let dies = world.archiver_with("dies", 30, Crash::Pass(Step::FilesWritten));
    dies.pass(&world.log).await.unwrap_err();
    assert_eq!(expiries(&world).await, [None; 5]);
    let dies = world.archiver_with("dies", 30, Crash::Pass(Step::FilesCommitted));
    dies.pass(&world.log).await.unwrap_err();
    assert_eq!(expiries(&world).await, [None; 5]);
    world
        .archiver_with("lives", 30, Crash::Never)
        .pass(&world.log)
        .await
        .unwrap();
    let expected = world.clock.now().as_seconds() + 30 * 24 * 3_600;
    assert_eq!(expiries(&world).await, [Some(expected); 5]);
    assert_eq!(world.archived().await.len(), 5);
}

#[tokio::test]
async fn an_event_that_comes_again_after_its_expiry_is_no_second_one() {
    let world = World::new().await;
    let archiver = world.archiver_with("archiver", 1, Crash::Never);
    world.events(0..5, NOON).await;
    archiver.pass(&world.log).await.unwrap();
    world.advance_minutes(25 * 60);
    // Remove expired records, as DynamoDB does.
    let (records, _) = world.events_table.scan(None).await.unwrap();
    for (key, _) in records.into_iter().filter(|(key, _)| key.sk == "event") {
        let removed = world.events_table.delete(&key, Condition::Present).await.unwrap();
        assert!(matches!(removed, Written::Done));
    }
    world.events(3..8, NOON).await;
    let passed = archiver.pass(&world.log).await.unwrap();
    assert_eq!((passed.records, passed.repeats), (3, 2));
    world.events(7..8, NOON).await;
    archiver.pass(&world.log).await.unwrap();
    assert_eq!(world.tail().await, 0);
    let archived = world.archived().await;
    assert_eq!(archived.len(), 8);
    assert!(archived.values().all(|count| *count == 1), "{archived:?}");
}
