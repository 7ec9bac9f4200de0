//! Workflow runs over the records that the service keeps them in, with a clock that the test moves: what is kept where, and what
//! happens by its time.
#![cfg(test)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, RECORDS_TABLE, RUNS_TABLE, Services};
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{BoxFuture, Delivery, Queue};
use platform::records::Table;
use platform::records::events::Events;
use platform::records::runs::Runs;
use platform::{Clock, ErrorKind, Result, Tenant};
use serde_json::{Value, json};
use tempfile::TempDir;
use workflow::engine::{Engine, Hint, HistoryForm, IdReuse, StartRun};
use workflow::event::EventKind;
use workflow::state::RunState;
use workflow::status::RunStatus;
use workflow::wiring::Wiring;
use workflow::{ActivityContext, Context, Payload, Registry, limits};

/// What went to the queue and to the bus; nobody reads it but the test.
#[derive(Default)]
struct Sent {
    hints: Mutex<Vec<(Hint, Duration)>>,
    events: Mutex<Vec<Value>>,
}

impl Queue for Sent {
    fn send_as<'a>(&'a self, body: &'a str, delivery: Delivery<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let hint = serde_json::from_str(body).unwrap();
            self.hints.lock().unwrap().push((hint, delivery.delay));
            Ok(())
        })
    }
}

impl Bus for Sent {
    fn publish<'a>(&'a self, detail: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.events
                .lock()
                .unwrap()
                .push(serde_json::from_str(detail).unwrap());
            Ok(())
        })
    }
}

struct World {
    engine: Engine,
    sent: Arc<Sent>,
    clock: Clock,
    tenant: Tenant,
    objects: Objects,
    _data: (DataDir, TempDir),
}

fn registry() -> Registry {
    Registry::new()
        .workflow("Count", |context: Context, count: u32| async move {
            let mut sum = 0;
            for step in 0..count {
                sum += context.activity::<u32>("same", &step).await?;
            }
            Ok(sum)
        })
        .workflow("Large", |context: Context, bytes: usize| async move {
            let text: String = context.activity("text", &bytes).await?;
            let again: String = context.activity("same", &text).await?;
            Ok(again.len())
        })
        .workflow("Wait", |context: Context, seconds: u64| async move {
            context.timer(Duration::from_secs(seconds)).await
        })
        .workflow("Listen", |context: Context, (): ()| async move {
            context.signals("Go").receive::<Value>().await
        })
        .workflow("HangOnce", |context: Context, (): ()| async move {
            context.activity::<()>("hang_once", &()).await
        })
        .activity("hang_once", |context: ActivityContext, (): ()| async move {
            if context.attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
        .activity("same", |_, value: Value| async move { Ok(value) })
        .activity("text", |_, bytes: usize| async move { Ok("x".repeat(bytes)) })
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).await.unwrap();
        let (sent, clock) = (
            Arc::new(Sent::default()),
            Clock::manual("2026-01-01T00:00:00Z".parse().unwrap()),
        );
        let records = Table::connect(&services.records, RECORDS_TABLE);
        let objects = Objects::connect(&services.objects, DATA_BUCKET);
        let wiring = Wiring {
            runs: Runs::new(
                Table::connect(&services.records, RUNS_TABLE),
                Events::new(records),
            ),
            objects: objects.clone(),
            queue: sent.clone(),
            bus: sent.clone(),
            clock: clock.clone(),
            listener: None,
        };
        Self {
            engine: wiring.engine(registry()),
            sent,
            clock,
            tenant: Tenant::new("acme", "demo").unwrap(),
            objects,
            _data: (data, folder),
        }
    }

    async fn begin(&self, workflow_type: &str, id: &str, input: Value) -> String {
        let start = StartRun::new(workflow_type, id, Payload::of(&input).unwrap());
        let started = self.engine.start(&self.tenant, &start).await.unwrap();
        assert!(started.is_new);
        started.run_id
    }

    async fn state(&self, run_id: &str) -> RunState {
        self.engine.get(&self.tenant, run_id).await.unwrap()
    }

    async fn drive(&self, run_id: &str) -> RunState {
        self.engine.drive(&self.tenant, run_id).await.unwrap();
        self.state(run_id).await
    }

    /// The hints since the last time.
    fn hints(&self) -> Vec<(Hint, Duration)> {
        std::mem::take(&mut self.sent.hints.lock().unwrap())
    }

    async fn due(&self) -> Vec<String> {
        let due = self.engine.due(self.clock.now()).await.unwrap();
        due.into_iter().map(|run| run.run_id).collect()
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance_ms(seconds * 1_000);
    }
}

#[tokio::test]
async fn a_long_history_leaves_the_state_and_is_read_back_whole() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(100)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert!(state.tail_begins() > 200, "{}", state.tail_begins());
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert_eq!(history.len(), 302);
    assert!(history.iter().zip(1..).all(|(event, id)| event.id == id));
    let detail = world
        .engine
        .describe(&world.tenant, &state, Some(HistoryForm::Events { after: 300 }))
        .await
        .unwrap();
    let detail = serde_json::to_value(&detail).unwrap();
    assert_eq!(
        (&detail["input"], &detail["result"]),
        (&json!(100), &json!(4_950))
    );
    assert_eq!(detail["history"]["events"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_large_payload_is_kept_beside_the_records_and_given_back_whole() {
    let world = World::start().await;
    let run = world.begin("Large", "w", json!(1_500_000)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(detail.result, Some(json!(1_500_000)));
    // Three events carry it; it is kept once.
    let kept = world.objects.list("payloads/").await.unwrap();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].key.starts_with(&format!("payloads/acme/demo/{run}/")));
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert!(serde_json::to_string(&history).unwrap().len() < 5_000);

    let run = world.begin("Large", "too-large", json!(3_000_000)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Failed);
    let detail = world.engine.describe(&world.tenant, &state, None).await.unwrap();
    assert_eq!(detail.error.unwrap().kind, "PayloadTooLarge");
}

#[tokio::test]
async fn a_timer_fires_by_a_message_or_where_that_is_lost_by_its_time() {
    let world = World::start().await;
    let run = world.begin("Wait", "w", json!(600)).await;
    world.drive(&run).await;
    let delayed: Vec<_> = world
        .hints()
        .into_iter()
        .filter(|(_, delay)| !delay.is_zero())
        .collect();
    assert_eq!(delayed.len(), 1);
    assert_eq!(delayed[0].1, Duration::from_secs(600));
    // A message before its time changes nothing.
    world.pass(599);
    assert_eq!(world.drive(&run).await.status, RunStatus::Running);
    world.pass(1);
    assert!(world.due().await.is_empty(), "a message is on its way");
    world.pass(10);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    assert_eq!(world.drive(&run).await.status, RunStatus::Completed);
    assert!(world.due().await.is_empty());

    // One that is longer than a queue can wait has no message, and is due at its time.
    let run = world.begin("Wait", "long", json!(30 * 24 * 3_600)).await;
    world.hints();
    world.drive(&run).await;
    assert!(world.hints().iter().all(|(_, delay)| delay.is_zero()));
    world.pass(30 * 24 * 3_600 - 1);
    assert!(world.due().await.is_empty());
    world.pass(1);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_start_whose_message_was_lost_is_due_after_a_while() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    assert!(world.due().await.is_empty());
    world
        .clock
        .advance_ms(i64::try_from(limits::HINT_GRACE_MS).unwrap());
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    // A clock that goes back does no harm.
    world.pass(-3_600);
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    let history = world.engine.history(&world.tenant, &state).await.unwrap();
    assert!(history.windows(2).all(|pair| pair[0].time <= pair[1].time));
}

#[tokio::test]
async fn a_run_of_one_quick_activity_is_two_commits_and_one_message() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    let state = world.drive(&run).await;
    assert_eq!(state.status, RunStatus::Completed);
    assert_eq!(world.hints().len(), 1);
    // The start, everything up to the end, and the note that the end was announced.
    assert_eq!(state.version, 3);
}

#[tokio::test]
async fn a_run_is_announced_when_it_begins_and_when_it_ends_each_once() {
    let world = World::start().await;
    let run = world.begin("Count", "w", json!(1)).await;
    world.drive(&run).await;
    world.drive(&run).await;
    let events = world.sent.events.lock().unwrap().clone();
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

    // Many at once are one as well.
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
async fn signals_are_kept_also_those_that_nobody_listens_to() {
    let world = World::start().await;
    let run = world.begin("Listen", "w", Value::Null).await;
    let input = Payload::of("x").unwrap();
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
    // It dies when it is written that the attempt has begun.
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
    // Nobody else carries the attempt out as long as it may go on.
    world.pass(59);
    assert!(has_begun(&world.drive(&run).await));
    world.pass(3);
    assert_eq!(world.due().await, std::slice::from_ref(&run));
    world.drive(&run).await;
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
