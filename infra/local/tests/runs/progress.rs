//! Tests how runs start, continue and end, also where a process crashes or the records are unavailable.

use std::sync::atomic::Ordering;
use std::time::Duration;

use platform::ErrorKind;
use platform::records::{Condition, Key, Written};
use serde_json::{Value, json};
use workflow::Payload;
use workflow::engine::{IdReuse, StartRun};
use workflow::event::EventKind;
use workflow::state::RunState;
use workflow::status::RunStatus;
use workflow::turn::NewUpdate;
use workflow::updates::UpdateMessage;

use crate::world::World;

#[tokio::test]
async fn a_run_of_one_quick_activity_is_two_commits_and_one_message() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert_eq!(world.hints().len(), 1);
    // One commit for the start, and one for everything until the end.
    assert_eq!(state.version, 2);
}

#[tokio::test]
async fn a_run_is_announced_when_it_begins_and_when_it_ends_each_once() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    world.drive(&run).await;
    world.drive(&run).await;
    let events = world.messages.events.lock().unwrap().clone();
    let actions: Vec<_> = events
        .iter()
        .map(|event| event["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["workflow_started", "workflow_completed"]);
    for event in &events {
        assert_eq!(event["event_category"], "workflow");
        assert_eq!(event["details"]["workflow_run_id"], run.as_str());
        assert_eq!(
            (&event["account_id"], &event["project_id"]),
            (&json!("acme"), &json!("demo"))
        );
    }
    assert_ne!(events[0]["event_id"], events[1]["event_id"]);
}

#[tokio::test]
async fn a_run_that_cannot_continue_does_not_keep_a_worker_busy() {
    let world = World::start().await;
    let run = world.begin("Chain", "w", json!(1)).await;
    let other = world.begin("Listen", "x", Value::Null).await;
    // No write of the engine does this: the run continues as another one only under its own workflow id.
    let key = Key::new("acme#demo#workflow#w", "current");
    let record = json!({ "run_id": other });
    let put = world.table.put(&key, &record, Condition::Present).await;
    assert_eq!(put.unwrap(), Written::Done);
    let drive = world.engine.drive(&world.tenant, &run);
    let error = tokio::time::timeout(Duration::from_secs(60), drive)
        .await
        .expect("it ends")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_workflow_id_has_one_run_at_a_time() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let start = StartRun::new("Listen", "w", Payload::null());
    let again = world.engine.start(&world.tenant, &start).await.unwrap();
    assert_eq!((again.run_id.as_str(), again.is_new), (run.as_str(), false));
    world
        .engine
        .terminate(&world.tenant, &run, None, "t")
        .await
        .unwrap();
    let once = StartRun {
        id_reuse: IdReuse::Never,
        ..start.clone()
    };
    assert!(!world.engine.start(&world.tenant, &once).await.unwrap().is_new);
    let next = world.engine.start(&world.tenant, &start).await.unwrap();
    assert!(next.is_new && next.run_id != run);

    // Concurrent starts create one run.
    let start = StartRun::new("Listen", "many", Payload::null());
    let starts = (0..16).map(|_| world.engine.start(&world.tenant, &start));
    let started = futures::future::join_all(starts).await;
    let runs: std::collections::BTreeSet<_> = started
        .iter()
        .map(|started| started.as_ref().unwrap().run_id.clone())
        .collect();
    let new = started
        .iter()
        .filter(|started| started.as_ref().unwrap().is_new)
        .count();
    assert_eq!((runs.len(), new), (1, 1));
}

#[tokio::test]
async fn signals_without_a_receiver_are_kept() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let input = Payload::from_value("x").unwrap();
    for _ in 0..20 {
        world
            .engine
            .signal(&world.tenant, &run, "Other", &input, "t")
            .await
            .unwrap();
    }
    let state = world.state(&run).await;
    assert_eq!(state.signals, 20);
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    let signals = history
        .iter()
        .filter(|event| matches!(event.kind, EventKind::WorkflowExecutionSignaled { .. }));
    assert_eq!(signals.count(), 20);
    world
        .engine
        .terminate(&world.tenant, &run, None, "t")
        .await
        .unwrap();
    let refused = world
        .engine
        .signal(&world.tenant, &run, "Go", &input, "t")
        .await
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn an_attempt_whose_process_died_is_given_up_and_repeated() {
    let world = World::start().await;
    let run = world.begin("HangOnce", "w", Value::Null).await;
    let (engine, tenant, id) = (world.engine.clone(), world.tenant.clone(), run.clone());
    let dies = tokio::spawn(async move { engine.drive(&tenant, &id).await });
    // The process dies once the start of the attempt is written.
    let has_begun = |state: &RunState| {
        state
            .activities
            .values()
            .any(|activity| activity.started_at.is_some())
    };
    while !has_begun(&world.state(&run).await) {
        tokio::task::yield_now().await;
    }
    dies.abort();
    let _ = dies.await;
    // No other worker starts the attempt before its time limit.
    world.pass(59);
    assert!(has_begun(&world.drive(&run).await));
    // Due times are multiples of 30 s.
    world.pass(31);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    let state = world.drive(&run).await;
    let failures: Vec<_> = state
        .activities
        .values()
        .map(|activity| activity.last_failure.clone())
        .collect();
    assert_eq!(failures[0].as_ref().unwrap().kind, "StartToCloseTimeout");
    world.pass(1);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    let attempts = history.iter().find_map(|event| match event.kind {
        EventKind::ActivityTaskStarted { attempt, .. } => Some(attempt),
        _ => None,
    });
    assert_eq!(attempts, Some(2));
}

#[tokio::test]
async fn the_next_process_fails_the_attempts_of_the_one_that_ended() {
    let world = World::start().await;
    let run = world.begin("HangOnce", "w", Value::Null).await;
    let (engine, tenant, id) = (world.engine.clone(), world.tenant.clone(), run.clone());
    let dies = tokio::spawn(async move { engine.drive(&tenant, &id).await });
    let pending = |state: RunState| state.activities.into_values().next();
    while pending(world.state(&run).await).is_none_or(|activity| activity.started_at.is_none()) {
        tokio::task::yield_now().await;
    }
    dies.abort();
    let _ = dies.await;
    world.successor().take_over().await.unwrap();
    let failure = pending(world.state(&run).await).unwrap().last_failure.unwrap();
    assert_eq!(failure.kind, "WorkerLost");
    world.pass(1);
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_that_takes_longer_than_it_may_ends() {
    let world = World::start().await;
    let start = StartRun {
        timeout_ms: Some(60_000),
        ..StartRun::new("Listen", "w", Payload::null())
    };
    let run = world.engine.start(&world.tenant, &start).await.unwrap().run_id;
    world.drive(&run).await;
    world.pass(60);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::TimedOut);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(detail.error.unwrap().kind, "Timeout");
}

#[tokio::test]
async fn attempts_go_on_while_the_records_are_away() {
    let world = World::start().await;
    let run = world.begin("Counted", "w", Value::Null).await;
    world.failing.store(3, Ordering::SeqCst);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert_eq!(world.failing.load(Ordering::SeqCst), 0);
    assert_eq!(
        world.calls.load(Ordering::SeqCst),
        1,
        "what was done is not done again"
    );
}

#[tokio::test]
async fn a_worker_about_to_drive_a_run_gets_no_second_hint() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let signal = async || {
        let input = Payload::from_value("x").unwrap();
        let signal = world.engine.signal(&world.tenant, &run, "Other", &input, "t");
        signal.await.unwrap();
        let hints = world.hints().into_iter();
        hints.map(|(_, delay)| delay).collect::<Vec<_>>()
    };
    world.hints();
    assert_eq!(signal().await, [Duration::from_secs(1)]);
    world.drive(&run).await;
    world.hints();
    assert_eq!(signal().await, [Duration::ZERO]);
    assert_eq!(signal().await, [Duration::from_secs(1)]);
}

#[tokio::test]
async fn an_attempt_that_was_written_with_a_lost_answer_begins() {
    let world = World::start().await;
    let run = world.begin("Later", "w", Value::Null).await;
    world.drive(&run).await;
    world.pass(1);
    // The commit with the fired timer and the attempt's start is written, but its response is lost, and the
    // next reads fail.
    world.swallowing.next.store(2, Ordering::SeqCst);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert_eq!(world.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn update_whose_response_is_lost_is_published_once() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let update = NewUpdate {
        kind: "PROGRESS".to_owned(),
        message: "m".to_owned(),
        details: None,
        workstream_id: None,
    };
    let update = UpdateMessage::from_new(update).unwrap();
    world.swallowing.next.store(1, Ordering::SeqCst);
    let posted = world.engine.post_update(&world.tenant, &run, &update).await;
    posted.unwrap();
    // The next read of a run fails after the loss.
    world.engine.get(&world.tenant, &run).await.unwrap_err();
    // An equal update later is another one.
    let posted = world.engine.post_update(&world.tenant, &run, &update).await;
    posted.unwrap();
    let head = world.runs.updates_head(&world.tenant, &run).await.unwrap();
    assert_eq!(head.last, 2);
}
