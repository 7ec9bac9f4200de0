//! Measures the engine without a database, for the benchmarks, and prints one JSON object.
//!
//! It times turns over histories of growing length, and runs of three activities over records in memory,
//! which is the cost of a run beyond its records.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use platform::bus::Bus;
use platform::queue::{Delivery, Queue};
use platform::{Clock, Error, Result, Tenant, UtcTime};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use workflow::engine::{Engine, Hint, Ids, Listener, Services, StartRun, TokioSleep};
use workflow::event::{Event, EventKind, Started};
use workflow::records::{DueRun, UpdatesHead, UpdatesWrite};
use workflow::state::RunState;
use workflow::store::{Commit, Committed, Store};
use workflow::turn::{Replay, make_turn};
use workflow::turn_runner::OnThread;
use workflow::{ActivityOptions, Context, Failure, Payload, Registry};

/// Numbers of events in the histories.
const HISTORIES: [u64; 4] = [600, 6_000, 24_000, 50_000];
/// Turns per history.
const TURNS: usize = 51;
/// Activities per run.
const STEPS: u32 = 3;
/// Pairs of clients and runs.
const LOADS: [(u32, u64); 2] = [(1, 3_000), (32, 10_000)];
/// Messages that are processed concurrently.
const WORKERS: usize = 64;

#[tokio::main]
async fn main() -> Result<()> {
    let mut turns = Vec::new();
    for events in HISTORIES {
        turns.push(json!({ "events": events, "ms": turn_ms(events)? }));
    }
    let mut loads = Vec::new();
    for (clients, runs) in LOADS {
        let (took, seconds) = load(clients, runs).await?;
        loads.push(json!({ "clients": clients, "run_ms": took, "seconds": seconds }));
    }
    let report = json!({ "turns": turns, "loads": loads });
    writeln!(std::io::stdout(), "{report}").map_err(Error::internal)
}

fn registry() -> Registry {
    Registry::new()
        .workflow("Steps", |context: Context, steps: u32| async move {
            for step in 0..steps {
                context.activity::<u32>("step", &step).await?;
            }
            Ok::<_, Failure>(steps)
        })
        .activity("step", |_, step: u32| async move { Ok(step) })
}

/// Measures turns over a history whose next command is an activity; the durations are in milliseconds.
fn turn_ms(events: u64) -> Result<Vec<f64>> {
    let history = history(events)?;
    let registry = registry();
    let code = registry
        .find_workflow("Steps")
        .ok_or_else(|| Error::internal("no type"))?;
    let mut took = Vec::new();
    for _ in 0..TURNS {
        let began = Instant::now();
        let result = make_turn(
            code,
            Replay {
                history: &history,
                processed: events - 1,
                query: None,
                abort: None,
            },
        );
        took.push(began.elapsed().as_secs_f64() * 1e3);
        let turn = result.map_err(Error::internal)?;
        if !matches!(turn.events.as_slice(), [EventKind::ActivityTaskScheduled { .. }]) {
            return Err(Error::internal(format!("the turn asked for {:?}", turn.events)));
        }
    }
    Ok(took)
}

/// Makes a history that ends with the completion of an activity: three events per activity.
fn history(events: u64) -> Result<Vec<Event>> {
    let activities = (events - 1) / 3;
    let started = Started {
        workflow_type: "Steps".to_owned(),
        workflow_id: "w".to_owned(),
        run_id: "r".to_owned(),
        input: Payload::from_value(&u32::MAX).map_err(Error::internal)?,
        initiated_by: String::new(),
        ..Started::default()
    };
    let mut kinds = vec![EventKind::WorkflowExecutionStarted(Box::new(started))];
    // Signals that the code does not read fill up the number of events.
    for _ in 0..(events - 1) % 3 {
        kinds.push(EventKind::WorkflowExecutionSignaled {
            name: "Other".to_owned(),
            input: Payload::null(),
            identity: String::new(),
        });
    }
    for activity in 1..=activities {
        let scheduled_event_id = kinds.len() as u64 + 1;
        kinds.push(EventKind::ActivityTaskScheduled {
            activity_id: activity.to_string(),
            name: "step".to_owned(),
            input: Payload::from_value(&activity).map_err(Error::internal)?,
            options: ActivityOptions::default(),
        });
        kinds.push(EventKind::ActivityTaskStarted {
            scheduled_event_id,
            attempt: 1,
            started_at: UtcTime::EPOCH,
            last_failure: None,
        });
        kinds.push(EventKind::ActivityTaskCompleted {
            scheduled_event_id,
            started_event_id: scheduled_event_id + 1,
            result: Payload::from_value(&activity).map_err(Error::internal)?,
        });
    }
    let events = kinds.into_iter().zip(1..).map(|(kind, id)| Event {
        id,
        time: UtcTime::EPOCH,
        kind,
    });
    Ok(events.collect())
}

/// Executes runs for concurrent clients. Returns the duration of each run in milliseconds, and of all in
/// seconds.
async fn load(clients: u32, runs: u64) -> Result<(Vec<f64>, f64)> {
    let (hints, mut hinted) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared {
        memory: Mutex::default(),
        waiting: Mutex::default(),
        hints,
    });
    let engine = Engine::new(Services {
        store: shared.clone(),
        registry: Arc::new(registry()),
        queue: shared.clone(),
        bus: shared.clone(),
        clock: Clock::System,
        ids: Ids::Random,
        sleep: Arc::new(TokioSleep),
        turn_runner: Arc::new(OnThread::default()),
        listener: Some(shared.clone()),
        api: None,
        worker: "this".to_owned(),
    });
    let worker = engine.clone();
    let follow = tokio::spawn(async move {
        let permits = Arc::new(tokio::sync::Semaphore::new(WORKERS));
        while let Some(hint) = hinted.recv().await {
            let (engine, permit) = (worker.clone(), Arc::clone(&permits).acquire_owned().await);
            tokio::spawn(async move {
                let followed: Result<()> = async {
                    let hint: Hint = serde_json::from_str(&hint).map_err(Error::internal)?;
                    engine.drive(&hint.tenant, &hint.run_id).await
                }
                .await;
                drop(permit);
                followed
            });
        }
    });
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let (engine, shared, next) = (engine.clone(), shared.clone(), next.clone());
            tokio::spawn(async move {
                let mut took = Vec::new();
                while next.fetch_add(1, Ordering::Relaxed) < runs {
                    took.push(one(&engine, &shared).await?);
                }
                Ok::<_, Error>(took)
            })
        })
        .collect();
    let mut took = Vec::new();
    for client in clients {
        took.extend(client.await.map_err(Error::internal)??);
    }
    let seconds = began.elapsed().as_secs_f64();
    follow.abort();
    Ok((took, seconds))
}

async fn one(engine: &Engine, shared: &Shared) -> Result<f64> {
    let began = Instant::now();
    let tenant = Tenant::new("acme", "demo")?;
    let id = platform::ids::new_id(Clock::System.now());
    let input = Payload::from_value(&STEPS).map_err(Error::internal)?;
    let start = StartRun {
        run_id: Some(id.clone()),
        ..StartRun::new("Steps", &id, input)
    };
    let (ended, end) = oneshot::channel();
    shared.waiting().insert(id, ended);
    engine.start(&tenant, &start).await?;
    end.await.map_err(Error::internal)?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// Stores runs as JSON texts, as the table does.
#[derive(Default)]
struct Memory {
    runs: HashMap<String, (u64, String)>,
    chunks: HashMap<String, Vec<Event>>,
    current: BTreeMap<String, String>,
}

struct Shared {
    memory: Mutex<Memory>,
    waiting: Mutex<HashMap<String, oneshot::Sender<()>>>,
    hints: mpsc::UnboundedSender<String>,
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.waiting.lock()
    }

    fn write(&self, commit: &Commit) -> Result<Committed> {
        let mut memory = self.memory();
        for draft in &commit.runs {
            let version = memory.runs.get(&draft.state.run_id).map(|(version, _)| *version);
            if version != draft.expected {
                return Ok(Committed::Stale);
            }
        }
        if let Some(current) = &commit.current {
            if memory.current.get(&current.workflow_id) != current.expected.as_ref() {
                return Ok(Committed::Taken);
            }
            let (id, run) = (current.workflow_id.clone(), current.run_id.clone());
            memory.current.insert(id, run);
        }
        for draft in &commit.runs {
            let json = serde_json::to_string(&draft.state).map_err(Error::internal)?;
            let id = draft.state.run_id.clone();
            let chunks = memory.chunks.entry(id.clone()).or_default();
            chunks.extend(draft.chunks.iter().flatten().cloned());
            memory.runs.insert(id, (draft.state.version, json));
        }
        Ok(Committed::Done)
    }
}

#[async_trait]
impl Store for Shared {
    async fn find(&self, _: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        let run = self.memory().runs.get(run_id).map(|(_, json)| json.clone());
        run.map(|json| serde_json::from_str(&json).map_err(Error::internal))
            .transpose()
    }

    async fn find_current(&self, _: &Tenant, id: &str) -> Result<Option<String>> {
        let run_id = self.memory().current.get(id).cloned();
        Ok(run_id)
    }

    async fn history(&self, _: &Tenant, run_id: &str) -> Result<Vec<Event>> {
        let chunks = self.memory().chunks.get(run_id).cloned();
        Ok(chunks.unwrap_or_default())
    }

    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>> {
        let history = self.history(tenant, run_id).await?;
        Ok(history.into_iter().find(|entry| entry.id == event))
    }

    async fn commit(&self, _: &Tenant, commit: &Commit) -> Result<Committed> {
        self.write(commit)
    }

    async fn due(&self, _: UtcTime, _: bool) -> Result<Vec<DueRun>> {
        Ok(Vec::new())
    }

    async fn updates_head(&self, _: &Tenant, _: &str) -> Result<UpdatesHead> {
        Ok(UpdatesHead::default())
    }

    async fn has_updates(&self, _: &Tenant, _: &UpdatesWrite) -> Result<bool> {
        Ok(false)
    }

    async fn put_payload(&self, key: &str, _: &str) -> Result<()> {
        Err(Error::internal(format!("the payload {key} is large")))
    }

    async fn find_payload(&self, _: &str) -> Result<Option<Box<RawValue>>> {
        Ok(None)
    }
}

#[async_trait]
impl Queue for Shared {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> Result<()> {
        self.hints.send(body.to_owned()).map_err(Error::internal)
    }
}

#[async_trait]
impl Bus for Shared {
    async fn publish(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

impl Listener for Shared {
    fn changed(&self, _: &Tenant, run_id: &str) {
        if let Some(waiting) = self.waiting().remove(run_id) {
            let _ = waiting.send(());
        }
    }
}
