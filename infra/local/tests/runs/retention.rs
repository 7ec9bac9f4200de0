//! Tests that an ended run is removed with all its records and payloads, and not before runs that name it.

use platform::ErrorKind;
use serde_json::{Value, json};
use workflow::status::RunStatus;

use crate::world::World;

const DAY_SECONDS: i64 = 24 * 3_600;
const RETENTION_SECONDS: i64 = 90 * DAY_SECONDS;

impl World {
    /// Removes expired records, as time does, and then the runs that the sweeper would hint at.
    pub async fn remove_what_has_ended(&self) {
        self.services.expire(self.clock.now()).await.unwrap();
        for run in self.engine.removals(self.clock.now()).await.unwrap() {
            self.engine.drive(&run.tenant, &run.run_id).await.unwrap();
        }
    }

    pub async fn has(&self, run_id: &str) -> bool {
        match self.engine.get(&self.tenant, run_id).await {
            Ok(state) => {
                let history = self.engine.history(&self.tenant, &state).await.unwrap();
                let mut events = history;
                self.engine.fetch_all(&mut events, true).await.unwrap();
                true
            }
            Err(cause) => {
                assert_eq!(cause.kind(), ErrorKind::NotFound, "{cause}");
                false
            }
        }
    }

    /// Returns the keys of a run's records in the table.
    pub async fn records_of(&self, run_id: &str) -> Vec<String> {
        let (records, next) = self.table.scan(None).await.unwrap();
        assert!(next.is_none());
        let of_run = records.into_iter().filter(|(key, record)| {
            key.pk.ends_with(run_id) || record.get("run_id").and_then(Value::as_str) == Some(run_id)
        });
        of_run
            .map(|(key, _)| format!("{} / {}", key.pk, key.sk))
            .collect()
    }

    pub async fn object_keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for prefix in ["payloads/", "states/"] {
            let objects = self.objects.list(prefix).await.unwrap();
            keys.extend(objects.into_iter().map(|object| object.key));
        }
        keys
    }
}

#[tokio::test]
async fn a_short_run_goes_by_itself_and_its_workflow_id_is_free() {
    let world = World::start().await;
    let run = world.begin("Counted", "w", Value::Null).await;
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
    world.pass(RETENTION_SECONDS);
    world.remove_what_has_ended().await;
    assert!(world.has(&run).await, "its time has not come");
    world.pass(1);
    world.remove_what_has_ended().await;
    assert!(!world.has(&run).await);
    assert_eq!(world.records_of(&run).await, [""; 0]);
    let again = world.begin("Counted", "w", Value::Null).await;
    assert_ne!(run, again);
}

#[tokio::test]
async fn a_run_with_a_long_history_and_large_payloads_goes_with_them() {
    let world = World::start().await;
    let run = world.begin("Large", "w", json!(300_000)).await;
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
    let long = world.begin("Count", "l", json!(100)).await;
    assert_eq!(world.drive(&long).await.status, RunStatus::Completed);
    assert!(world.records_of(&long).await.len() > 2);
    assert!(!world.object_keys().await.is_empty());
    world.pass(RETENTION_SECONDS - 1);
    world.remove_what_has_ended().await;
    assert!(world.has(&run).await && world.has(&long).await);
    world.pass(2);
    world.remove_what_has_ended().await;
    for run in [&run, &long] {
        assert!(!world.has(run).await);
        assert_eq!(world.records_of(run).await, [""; 0]);
    }
    assert_eq!(world.object_keys().await, [""; 0]);
    assert!(world.engine.removals(world.clock.now()).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_open_run_keeps_history_and_payloads_for_as_long_as_it_is_open() {
    let world = World::start().await;
    let large = "x".repeat(200_000);
    let run = world.begin("Listen", "w", Value::Null).await;
    world.drive(&run).await;
    let payload = workflow::Payload::from_value(&large).unwrap();
    world
        .engine
        .signal(&world.tenant, &run, "Other", &payload, "test")
        .await
        .unwrap();
    world.drive(&run).await;
    for _ in 0..50 {
        world.pass(RETENTION_SECONDS);
        world.remove_what_has_ended().await;
        assert!(world.has(&run).await);
    }
    let go = workflow::Payload::from_value(&1).unwrap();
    world
        .engine
        .signal(&world.tenant, &run, "Go", &go, "test")
        .await
        .unwrap();
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
    world.pass(RETENTION_SECONDS + 1);
    world.remove_what_has_ended().await;
    assert!(!world.has(&run).await);
    assert_eq!(world.object_keys().await, [""; 0]);
}

#[tokio::test]
async fn a_child_stays_as_long_as_its_parent_and_has_its_payloads_for_itself() {
    let world = World::start().await;
    let large = "x".repeat(200_000);
    let parent = world.begin("Parent", "p", json!(large)).await;
    world.drive(&parent).await;
    let child = world
        .runs
        .find_current(&world.tenant, "p-child")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(world.drive(&child).await.status, RunStatus::Completed);
    world.drive(&parent).await;
    for _ in 0..20 {
        world.pass(60 * DAY_SECONDS);
        world.remove_what_has_ended().await;
        assert!(world.has(&parent).await && world.has(&child).await);
    }
    let go = workflow::Payload::from_value(&1).unwrap();
    world
        .engine
        .signal(&world.tenant, &parent, "Go", &go, "test")
        .await
        .unwrap();
    assert_eq!(world.drive(&parent).await.status, RunStatus::Completed);
    for _ in 0..13 {
        let had_parent = world.has(&parent).await;
        world.pass(10 * DAY_SECONDS);
        world.remove_what_has_ended().await;
        assert!(world.has(&child).await || !had_parent || !world.has(&parent).await);
    }
    assert!(!world.has(&parent).await && !world.has(&child).await);
    assert_eq!(world.object_keys().await, [""; 0]);
}

#[tokio::test]
async fn a_chain_stays_until_its_last_run_goes() {
    let world = World::start().await;
    let first = world.begin("Chain", "c", json!(3)).await;
    let mut runs = vec![first];
    loop {
        let last = runs.last().unwrap().clone();
        let state = world.drive(&last).await;
        if state.status != RunStatus::ContinuedAsNew {
            assert_eq!(state.status, RunStatus::Running);
            break;
        }
        runs.push(
            world
                .runs
                .find_current(&world.tenant, "c")
                .await
                .unwrap()
                .unwrap(),
        );
    }
    assert_eq!(runs.len(), 4);
    for _ in 0..20 {
        world.pass(60 * DAY_SECONDS);
        world.remove_what_has_ended().await;
        for run in &runs {
            assert!(world.has(run).await);
        }
    }
    let last = runs.last().unwrap();
    let go = workflow::Payload::from_value(&1).unwrap();
    world
        .engine
        .signal(&world.tenant, last, "Go", &go, "test")
        .await
        .unwrap();
    assert_eq!(world.drive(last).await.status, RunStatus::Completed);
    world.pass(RETENTION_SECONDS - 1);
    world.remove_what_has_ended().await;
    for run in &runs {
        assert!(world.has(run).await);
    }
    world.pass(20 * DAY_SECONDS);
    world.remove_what_has_ended().await;
    world.remove_what_has_ended().await;
    for run in &runs {
        assert!(!world.has(run).await);
    }
}

#[tokio::test]
async fn what_a_removal_left_is_removed_by_the_next() {
    let world = World::start().await;
    let run = world.begin("Large", "w", json!(300_000)).await;
    world.drive(&run).await;
    world.pass(RETENTION_SECONDS + 1);
    let record = world.runs.find_kept(&world.tenant, &run).await.unwrap().unwrap();
    assert!(
        world
            .runs
            .hide(&world.tenant, &run, "w", (&record, true))
            .await
            .unwrap()
    );
    assert!(!world.has(&run).await, "it is hidden at once");
    // A lagging index still lists the run.
    let standings = world.runs.standings(&world.tenant, &[&run]).await.unwrap();
    assert_eq!(standings, [None]);
    assert!(!world.records_of(&run).await.is_empty());
    world.remove_what_has_ended().await;
    assert_eq!(world.records_of(&run).await, [""; 0]);
    assert_eq!(world.object_keys().await, [""; 0]);
}

#[tokio::test]
async fn numbers_of_updates_rise_after_all_messages_have_expired() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let update = workflow::updates::UpdateMessage {
        timestamp: 0,
        kind: "PROGRESS".to_owned(),
        message: "m".to_owned(),
        details: Some(workflow::Payload::from_value(&"d".repeat(200_000)).unwrap()),
        workstream_id: None,
    };
    let mut last = 0;
    for _ in 0..3 {
        for _ in 0..2 {
            world
                .engine
                .post_update(&world.tenant, &run, &update)
                .await
                .unwrap();
            let head = world.runs.updates_head(&world.tenant, &run).await.unwrap();
            assert!(head.last > last);
            last = head.last;
        }
        world.pass(91 * DAY_SECONDS);
        world.remove_what_has_ended().await;
        let head = world.runs.updates_head(&world.tenant, &run).await.unwrap();
        assert_eq!(head.last, 0, "it goes with the last message");
        let removed = workflow::removal::remove_update_details(&world.objects, platform::Clock::System.now());
        assert_eq!(removed.await.unwrap(), 0, "files have the time of the machine");
    }
    let later = platform::Clock::System.now().plus_ms(98 * 24 * 3_600_000);
    let removed = workflow::removal::remove_update_details(&world.objects, later)
        .await
        .unwrap();
    assert_eq!(removed, 1);
    assert_eq!(world.object_keys().await, [""; 0]);
}
