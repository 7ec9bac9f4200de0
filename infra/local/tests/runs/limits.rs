//! Tests the limits of a run, and those of a table's transaction.

use platform::ErrorKind;
use platform::queue::Priority;
use platform::stored_json;
use serde_json::{Value, json};
use workflow::engine::HistoryForm;
use workflow::event::EventKind;
use workflow::records::{RunPlace, RunWrite};
use workflow::status::RunStatus;
use workflow::store::{Commit, Committed};
use workflow::updates::{MAX_UPDATES, updates_since};
use workflow::{Payload, limits};

use crate::world::World;

/// Sets a number in the state of a run, as if the run had reached it.
async fn rewrite(world: &World, run_id: &str, field: &str, value: Value) {
    let mut record = world.runs.find(&world.tenant, run_id).await.unwrap().unwrap();
    let mut state: Value = serde_json::from_str(&stored_json::read(record.state).unwrap()).unwrap();
    assert!(state[field].is_number(), "{field}");
    let expected = Some(record.version);
    record.version += 1;
    state["version"] = record.version.into();
    state[field] = value;
    record.state = state.to_string();
    let place = RunPlace {
        run_id: run_id.to_owned(),
        started_at: world.clock.now(),
        status: record.status.clone(),
        workflow_type: "Listen".to_owned(),
        document_id: None,
        rule_id: None,
        priority: Priority::Normal,
        due_at: None,
        removed_at: None,
    };
    let write = RunWrite {
        expected,
        record,
        place,
        chunks: Vec::new(),
    };
    let commit = Commit::default();
    let outcome = world.runs.commit(&world.tenant, &commit, &[write]).await.unwrap();
    assert_eq!(outcome, Committed::Done);
}

#[tokio::test]
async fn of_the_updates_of_one_turn_the_newest_are_kept_however_many_there_are() {
    let world = World::start().await;
    let run = world.begin("Chatter", "w", json!([1_100, 10])).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let head = world.runs.updates_head(&world.tenant, &run).await.unwrap();
    assert_eq!(head.last, 1_100);
    let updates = updates_since(&world.engine, &world.runs, &world.tenant, &run, i64::MIN).await;
    let (updates, has_more) = updates.unwrap();
    assert!(!has_more);
    let numbers = updates.into_iter().map(|update| {
        let details: Value = update.details.unwrap().read().unwrap();
        details["number"].as_u64().unwrap()
    });
    let expected = 1_100 - MAX_UPDATES..1_100;
    assert_eq!(numbers.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_turn_that_asks_for_more_than_a_transaction_takes_fails_where_people_see_it() {
    let world = World::start().await;
    for (workflow_type, input, part) in [
        (
            "Chatter",
            json!([1_000, 9_000]),
            "bytes of update messages at a time",
        ),
        ("Crowd", json!(1_900), "bytes of update messages at a time"),
        ("Boast", json!(2_200_000), "a payload has at most"),
    ] {
        let run = world.begin(workflow_type, workflow_type, input).await;
        let state = world.drive(&run).await;
        assert_eq!(state.status, RunStatus::Running);
        let failed = state.failed_turn.expect("the turn came to nothing");
        assert!(failed.failure.message.contains(part), "{failed:?}");
    }
}

#[tokio::test]
async fn a_history_of_too_many_events_ends_its_run_and_says_why() {
    let world = World::start().await;
    let run = world.begin("Alarms", "w", Value::Null).await;
    let mut rounds = 0;
    let state = loop {
        let state = world.drive(&run).await;
        if state.is_closed() {
            break state;
        }
        rounds += 1;
        assert!(rounds < 40, "{} events", state.last_event);
        world.pass(1);
    };
    assert_eq!(state.status, RunStatus::Terminated);
    // A turn is written whole, so the last one may exceed the limit.
    let most = limits::MAX_EVENTS + 2 * limits::MAX_PENDING as u64;
    assert!(
        (limits::MAX_EVENTS..=most).contains(&state.last_event),
        "{}",
        state.last_event
    );
    let after = state.last_event - 1;
    let form = Some(HistoryForm::Events { after });
    let detail = world.engine.describe(&world.tenant, &state, form).await.unwrap();
    let detail = serde_json::to_string(&detail).unwrap();
    assert!(
        detail.contains("a run has at most 51200 and 52428800"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_history_of_too_many_bytes_ends_its_run() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    world.drive(&run).await;
    rewrite(&world, &run, "history_bytes", limits::MAX_HISTORY_BYTES.into()).await;
    let input = Payload::from_value("x").unwrap();
    world
        .engine
        .signal(&world.tenant, &run, "Other", &input, "t")
        .await
        .unwrap();
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Terminated);
}

#[tokio::test]
async fn a_run_takes_ten_thousand_signals_and_no_more() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    world.drive(&run).await;
    rewrite(&world, &run, "signals", (limits::MAX_SIGNALS - 1).into()).await;
    let input = Payload::from_value("x").unwrap();
    let signal = || world.engine.signal(&world.tenant, &run, "Other", &input, "t");
    signal().await.unwrap();
    let refused = signal().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.message().contains("as many signals"), "{refused}");
    // The run can still be cancelled.
    world.engine.cancel(&world.tenant, &run, None, "t").await.unwrap();
    let state = world.drive(&run).await;
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    let is_request = |kind: &EventKind| matches!(kind, EventKind::WorkflowExecutionCancelRequested { .. });
    assert!(history.iter().any(|event| is_request(&event.kind)));
}
