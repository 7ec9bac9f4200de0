//! Provides an engine over the service's own records, with a clock that the test moves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, Services};
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{Delivery, Queue};
use platform::records::Table;
use platform::{Clock, Error, Result, Tenant, UtcTime};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use workflow::engine::{Engine, Hint, Ids, Services as EngineServices, StartRun, TokioSleep};
use workflow::event::Event;
use workflow::records::{DueRun, Runs, UpdatesHead, UpdatesWrite};
use workflow::state::RunState;
use workflow::store::{Commit, Committed, Store};
use workflow::table::TableStore;
use workflow::turn_runner::OnThread;
use workflow::{ActivityContext, Context, Payload, Registry, limits};

/// Messages that were sent to the queue and to the bus; only the test reads them.
#[derive(Default)]
pub struct Messages {
    pub hints: Mutex<Vec<(Hint, Duration)>>,
    pub events: Mutex<Vec<Value>>,
}

#[async_trait]
impl Queue for Messages {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        let hint = serde_json::from_str(body).unwrap();
        self.hints.lock().unwrap().push((hint, delivery.delay));
        Ok(())
    }
}

#[async_trait]
impl Bus for Messages {
    async fn publish(&self, detail: &str) -> Result<()> {
        self.events
            .lock()
            .unwrap()
            .push(serde_json::from_str(detail).unwrap());
        Ok(())
    }
}

pub struct World {
    pub engine: Engine,
    /// Number of following commits that fail without effect.
    pub failing: Arc<AtomicU32>,
    pub swallowing: Arc<Swallowing>,
    store: Arc<Flaky>,
    pub calls: Arc<AtomicU32>,
    pub messages: Arc<Messages>,
    pub clock: Clock,
    pub tenant: Tenant,
    pub objects: Objects,
    pub runs: Runs,
    pub table: Table,
    pub services: Services,
    _data: (DataDir, TempDir),
}

fn registry(calls: &Arc<AtomicU32>) -> Registry {
    let calls = calls.clone();
    Registry::new()
        .activity("counted", move |_, value: Value| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok(value) }
        })
        .workflow("Counted", |context: Context, (): ()| async move {
            context.activity::<Value>("counted", &1).await
        })
        .workflow(
            "Chatter",
            |context: Context, (many, length): (usize, usize)| async move {
                for number in 0..many {
                    let details = json!({ "number": number, "more": "d".repeat(2_000) });
                    context.publish("TALK", &"m".repeat(length), details);
                }
                Ok(())
            },
        )
        .workflow("Crowd", |context: Context, many: usize| async move {
            let input = "i".repeat(1_000);
            let activities = (0..many).map(|_| context.activity::<()>("same", &input).start());
            let activities: Vec<_> = activities.collect();
            let children = (0..many).map(|_| context.child::<()>("Listen", &input).start());
            let children: Vec<_> = children.collect();
            context.publish("TALK", &"m".repeat(9_000), Value::Null);
            context.canceled().await;
            drop((activities, children));
            Ok(())
        })
        .workflow("Boast", |context: Context, length: usize| async move {
            context.publish("TALK", "m", json!("d".repeat(length)));
            Ok(())
        })
        .workflow("Later", |context: Context, (): ()| async move {
            context.timer(Duration::from_secs(1)).await?;
            context.activity::<Value>("counted", &1).await
        })
        .workflow("Alarms", |context: Context, (): ()| async move {
            loop {
                let timers = (0..limits::MAX_PENDING).map(|_| context.timer(Duration::from_secs(1)));
                join_all(timers.collect::<Vec<_>>()).await;
            }
            #[expect(unreachable_code, reason = "it says what the run returns")]
            Ok(())
        })
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
        .workflow("Parent", |context: Context, input: String| async move {
            let child = context.child::<String>("Echo", &input).workflow_id("p-child");
            let answer = child.start().await?;
            context.signals("Go").receive::<Value>().await?;
            Ok(answer.len())
        })
        .workflow("Echo", |_: Context, input: String| async move { Ok(input) })
        .workflow("Chain", |context: Context, more: u32| async move {
            if more > 0 {
                return Err(context.continue_as_new(&(more - 1)));
            }
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

fn engine(
    store: Arc<Flaky>,
    calls: &Arc<AtomicU32>,
    messages: &Arc<Messages>,
    clock: &Clock,
    worker: &str,
) -> Engine {
    Engine::new(EngineServices {
        store,
        registry: Arc::new(registry(calls)),
        queue: messages.clone(),
        bus: messages.clone(),
        clock: clock.clone(),
        ids: Ids::Random,
        sleep: Arc::new(TokioSleep),
        turn_runner: Arc::new(OnThread::default()),
        listener: None,
        api: None,
        worker: worker.to_owned(),
    })
}

/// Store that fails as many commits as configured.
struct Flaky {
    inner: TableStore,
    failing: Arc<AtomicU32>,
    swallowing: Arc<Swallowing>,
}

/// Loses the response of a commit that was made.
#[derive(Default)]
pub struct Swallowing {
    /// Number of reads that fail after the next commit, whose response is lost; 0 loses nothing.
    pub next: AtomicU32,
    blind: AtomicU32,
}

#[async_trait]
impl Store for Flaky {
    async fn find(&self, tenant: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        let blind = self.swallowing.blind.load(Ordering::SeqCst);
        if blind > 0 {
            self.swallowing.blind.store(blind - 1, Ordering::SeqCst);
            return Err(Error::unavailable("the records are away"));
        }
        self.inner.find(tenant, run_id).await
    }

    async fn find_current(&self, tenant: &Tenant, id: &str) -> Result<Option<String>> {
        self.inner.find_current(tenant, id).await
    }

    async fn history(&self, tenant: &Tenant, run_id: &str) -> Result<Vec<Event>> {
        self.inner.history(tenant, run_id).await
    }

    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>> {
        self.inner.event(tenant, run_id, event).await
    }

    async fn commit(&self, tenant: &Tenant, commit: &Commit) -> Result<Committed> {
        let failures = self.failing.load(Ordering::SeqCst);
        if failures > 0 {
            self.failing.store(failures - 1, Ordering::SeqCst);
            return Err(Error::unavailable("the records are away"));
        }
        let swallows = self.swallowing.next.swap(0, Ordering::SeqCst);
        let committed = self.inner.commit(tenant, commit).await?;
        if swallows > 0 {
            self.swallowing.blind.store(swallows, Ordering::SeqCst);
            return Err(Error::unavailable("the answer is lost"));
        }
        Ok(committed)
    }

    async fn due(&self, by: UtcTime, all: bool) -> Result<Vec<DueRun>> {
        self.inner.due(by, all).await
    }

    async fn removals(&self, by: UtcTime) -> Result<Vec<DueRun>> {
        self.inner.removals(by).await
    }

    async fn remove(&self, tenant: &Tenant, run_id: &str, now: UtcTime) -> Result<()> {
        self.inner.remove(tenant, run_id, now).await
    }

    async fn updates_head(&self, tenant: &Tenant, run_id: &str) -> Result<UpdatesHead> {
        self.inner.updates_head(tenant, run_id).await
    }

    async fn has_updates(&self, tenant: &Tenant, updates: &UpdatesWrite) -> Result<bool> {
        self.inner.has_updates(tenant, updates).await
    }

    async fn put_payload(&self, key: &str, json: &str) -> Result<()> {
        self.inner.put_payload(key, json).await
    }

    async fn find_payload(&self, key: &str) -> Result<Option<Box<RawValue>>> {
        self.inner.find_payload(key).await
    }
}

impl World {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        let services = Services::open(&data).unwrap();
        let (messages, clock) = (
            Arc::new(Messages::default()),
            Clock::manual("2026-01-01T00:00:00Z".parse().unwrap()),
        );
        let events = services.table(EVENTS_TABLE);
        let objects = services.bucket(DATA_BUCKET);
        let runs = Runs::new(services.table(RUNS_TABLE), events);
        let swallowing = Arc::<Swallowing>::default();
        let (failing, calls) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let store = Arc::new(Flaky {
            inner: TableStore::new(runs.clone(), objects.clone()),
            failing: failing.clone(),
            swallowing: swallowing.clone(),
        });
        let engine = engine(store.clone(), &calls, &messages, &clock, "this");
        Self {
            engine,
            store,
            failing,
            swallowing,
            calls,
            messages,
            clock,
            tenant: Tenant::new("acme", "demo").unwrap(),
            objects,
            runs,
            table: services.table(RUNS_TABLE),
            services,
            _data: (data, folder),
        }
    }

    pub async fn begin(&self, workflow_type: &str, id: &str, input: Value) -> String {
        let start = StartRun::new(workflow_type, id, Payload::from_value(&input).unwrap());
        let started = self.engine.start(&self.tenant, &start).await.unwrap();
        assert!(started.is_new);
        started.run_id
    }

    /// Returns the engine of the next process.
    pub fn successor(&self) -> Engine {
        engine(
            self.store.clone(),
            &self.calls,
            &self.messages,
            &self.clock,
            "next",
        )
    }

    pub async fn state(&self, run_id: &str) -> RunState {
        self.engine.get(&self.tenant, run_id).await.unwrap()
    }

    pub async fn drive(&self, run_id: &str) -> RunState {
        self.engine.drive(&self.tenant, run_id).await.unwrap();
        self.state(run_id).await
    }

    /// Takes the hints that were sent since the last call.
    pub fn hints(&self) -> Vec<(Hint, Duration)> {
        std::mem::take(&mut self.messages.hints.lock().unwrap())
    }

    pub async fn due(&self) -> Vec<String> {
        let due = self.engine.due(self.clock.now()).await.unwrap();
        due.into_iter().map(|run| run.run_id).collect()
    }

    pub fn pass(&self, seconds: i64) {
        self.clock.advance_ms(seconds * 1_000);
    }
}
