//! Tests that a sweep of one minute's timers ends long before the next minute, in simulated time: requests
//! take as long as those of DynamoDB and SQS do on a slow day.
#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use conformance::Tables;
use conformance::model::Model;
use events::records::events::Events;
use parking_lot::Mutex;
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::Priority;
use platform::queue::{Delivery, Queue};
use platform::records::keys::{self, DueKind};
use platform::records::store::{Item, Page, Position, RecordStore, Step, Written};
use platform::records::{Condition, Key, Query, Table};
use platform::{Clock, Error, Result, Tenant, UtcTime};
use serde_json::json;
use sweeper_function::Sweeper;
use workflow::Registry;
use workflow::records::Runs;
use workflow::wiring::Wiring;

const TIMERS: u64 = 50_000;
const READ: Duration = Duration::from_millis(20);
const SEND: Duration = Duration::from_millis(50);
/// The function's time limit is 55 s.
const LIMIT: Duration = Duration::from_secs(30);

/// Records in memory, whose reads take time.
struct Slow {
    model: Model,
    reads: AtomicUsize,
}

#[async_trait]
impl RecordStore for Slow {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        self.model.find(table, key).await
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.model.find_many(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        self.model.write(step).await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        self.model.transact(steps).await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.model.add(table, key, number, amount, expires_at).await
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(READ).await;
        self.model.page(table, query, most, start).await
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        self.model.count(table, query).await
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.model.scan(table, start).await
    }
}

/// Counts messages and requests, which take time.
#[derive(Default)]
struct Counted {
    requests: AtomicUsize,
    delays: Mutex<Vec<Duration>>,
}

#[async_trait]
impl Queue for Counted {
    async fn send_as(&self, _: &str, delivery: Delivery<'_>) -> Result<()> {
        self.send_all(&[(String::new(), delivery)]).await
    }

    async fn send_all(&self, messages: &[(String, Delivery<'_>)]) -> Result<()> {
        assert!(messages.len() <= 10, "SQS takes ten messages in a request");
        self.requests.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(SEND).await;
        self.delays
            .lock()
            .extend(messages.iter().map(|(_, delivery)| delivery.delay));
        Ok(())
    }
}

struct NoBus;

#[async_trait]
impl Bus for NoBus {
    async fn publish(&self, _: &str) -> Result<()> {
        Err(Error::internal("no event is due"))
    }
}

#[tokio::test(start_paused = true)]
async fn timers_of_a_minute_are_hinted_within_half_of_it() {
    let tables = Tables::named();
    let model = Model::new(&tables);
    let now: UtcTime = "2026-01-02T03:04:00Z".parse().unwrap();
    let tenant = Tenant::new("acme", "demo").unwrap();
    let runs = Table::new(Arc::new(model.clone()), &tables.listed);
    for number in 0..TIMERS {
        let due_at = now.plus_ms(number * 60_000 / TIMERS);
        let id = platform::ids::new_id(due_at);
        let key = keys::run(&tenant, &id).with_due(DueKind::Runs(Priority::Normal).shard_of(&id), due_at);
        let outcome = runs
            .put(&key, &json!({ "status": "RUNNING" }), Condition::Absent)
            .await;
        assert_eq!(outcome.unwrap(), Written::Done);
    }
    let slow = Arc::new(Slow {
        model,
        reads: AtomicUsize::new(0),
    });
    let runs = Table::new(slow.clone(), &tables.listed);
    let events = Table::new(slow.clone(), &tables.listed);
    let queue = Arc::new(Counted::default());
    let wiring = Wiring {
        runs: Runs::new(runs, events.clone()),
        objects: Objects::new(Arc::new(conformance::nowhere::Nowhere), "data"),
        queue: queue.clone(),
        bus: Arc::new(NoBus),
        clock: Clock::manual(now),
        listener: None,
        api: None,
    };
    let engine = wiring.engine(Registry::new()).unwrap();
    let sweeper = Sweeper::new(engine, Events::new(events), Arc::new(NoBus), Clock::manual(now));

    let began = tokio::time::Instant::now();
    sweeper.sweep(60_000).await.unwrap();
    let took = began.elapsed();
    assert!(took < LIMIT, "a sweep took {took:?}");
    assert_eq!(queue.requests.load(Ordering::Relaxed) as u64, TIMERS / 10);
    let mut delays = queue.delays.lock().clone();
    delays.sort_unstable();
    assert_eq!(delays.len() as u64, TIMERS);
    assert_eq!((delays[0], delays[49_999].as_secs()), (Duration::ZERO, 59));

    // The next sweep repeats none of them while their messages are under way.
    sweeper.sweep(60_000).await.unwrap();
    assert_eq!(queue.delays.lock().len() as u64, TIMERS);
}
