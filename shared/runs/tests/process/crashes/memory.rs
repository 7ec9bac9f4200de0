//! Keeps records in memory, which survive the services that write them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use conformance::Tables;
use conformance::model::Model;
use conformance::nowhere::Nowhere;
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{Delivery, Queue};
use platform::records::store::{Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Key, Table, Written};
use platform::{Result, Tenant};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Notify;
use workflow::event::Event;
use workflow::records::Runs;
use workflow::state::RunState;
use workflow::store::Store as _;
use workflow::table::TableStore;

/// Lifetime of the service.
struct Life {
    chance: StdRng,
    percent: u32,
    is_over: bool,
}

#[derive(Clone)]
pub struct Memory {
    records: Model,
    tenant: Tenant,
    life: Arc<Mutex<Option<Life>>>,
    end: Arc<Notify>,
}

impl Memory {
    pub fn new(tenant: &Tenant) -> Self {
        Self {
            records: Model::new(&Tables::named()),
            tenant: tenant.clone(),
            life: Arc::default(),
            end: Arc::default(),
        }
    }

    /// Starts a new service, which crashes after this percentage of writes.
    pub fn live(&self, first: u64, percent: u32, seed: u64) {
        *self.life.lock().unwrap() = Some(Life {
            chance: StdRng::seed_from_u64(seed ^ first),
            percent,
            is_over: false,
        });
    }

    /// Waits for the crash of the service.
    pub async fn died(&self) {
        self.end.notified().await;
    }

    /// A crashed service gets no more responses.
    async fn alive(&self) {
        let is_over = self
            .life
            .lock()
            .unwrap()
            .as_ref()
            .is_some_and(|life| life.is_over);
        if is_over {
            std::future::pending::<()>().await;
        }
    }

    /// Decides whether the service crashes now.
    fn dies(&self) -> bool {
        let mut life = self.life.lock().unwrap();
        let Some(life) = life.as_mut() else {
            return false;
        };
        let dies = life.chance.random_range(0..100) < life.percent;
        if dies {
            life.is_over = true;
            self.end.notify_one();
        }
        dies
    }

    /// Returns the runs as the service of now reads and writes them.
    pub fn store(&self) -> TableStore {
        over(Arc::new(self.clone()))
    }

    pub async fn state(&self, run_id: &str) -> RunState {
        let store = over(Arc::new(self.records.clone()));
        store.find(&self.tenant, run_id).await.unwrap().unwrap()
    }

    pub async fn is_closed(&self, run_id: &str) -> bool {
        self.state(run_id).await.is_closed()
    }

    pub async fn run_ids(&self) -> Vec<String> {
        let (records, _) = table(Arc::new(self.records.clone())).scan(None).await.unwrap();
        let states = records.iter().filter(|(key, _)| key.sk == "state");
        states
            .filter_map(|(key, _)| Some(key.pk.rsplit_once("#run#")?.1.to_owned()))
            .collect()
    }

    pub async fn history(&self, run_id: &str) -> Vec<Event> {
        let store = over(Arc::new(self.records.clone()));
        let mut events = store.history(&self.tenant, run_id).await.unwrap();
        events.extend(self.state(run_id).await.tail);
        events
    }
}

fn table(records: Arc<dyn RecordStore>) -> Table {
    Table::new(records, &Tables::named().listed)
}

/// Returns a store of runs without large payloads.
fn over(records: Arc<dyn RecordStore>) -> TableStore {
    let table = table(records);
    let runs = Runs::new(table.clone(), table);
    TableStore::new(runs, Objects::new(Arc::new(Nowhere), "objects"))
}

#[async_trait]
impl RecordStore for Memory {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        self.alive().await;
        self.records.find(table, key).await
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.alive().await;
        self.records.find_many(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        self.transact(vec![step]).await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        self.alive().await;
        let written = self.records.transact(steps).await;
        if self.dies() {
            self.alive().await;
        }
        written
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.alive().await;
        self.records.add(table, key, number, amount, expires_at).await
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        self.alive().await;
        self.records.page(table, query, most, start).await
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        self.alive().await;
        self.records.count(table, query).await
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.alive().await;
        self.records.scan(table, start).await
    }
}

/// Loses all messages: due work is found by its time.
#[async_trait]
impl Queue for Memory {
    async fn send_as(&self, _: &str, _: Delivery<'_>) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Bus for Memory {
    async fn publish(&self, _: &str) -> Result<()> {
        Ok(())
    }
}
