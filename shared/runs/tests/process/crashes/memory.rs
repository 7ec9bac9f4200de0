//! Keeps records in memory, which survive the services that write them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use platform::bus::Bus;
use platform::queue::{Delivery, Queue};
use platform::{Result, Tenant, UtcTime};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use workflow::event::Event;
use workflow::records::runs::{Committed, DueRun, UpdatesHead};
use workflow::state::RunState;
use workflow::store::{Commit, Store};

#[derive(Clone, Default)]
struct Kept {
    state: String,
    version: u64,
    chunks: Vec<Event>,
    due_at: Option<UtcTime>,
    closed: bool,
}

#[derive(Default)]
struct Records {
    runs: BTreeMap<String, Kept>,
    current: BTreeMap<String, String>,
    updates: BTreeMap<String, UpdatesHead>,
    payloads: BTreeMap<String, String>,
    life: Option<Life>,
}

/// Lifetime of the service.
struct Life {
    chance: StdRng,
    percent: u32,
    is_over: bool,
}

#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Records>>, Arc<Notify>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap()
    }

    /// Starts a new service, which crashes after this percentage of writes.
    pub fn live(&self, first: u64, percent: u32, seed: u64) {
        let chance = StdRng::seed_from_u64(seed ^ first);
        self.lock().life = Some(Life {
            chance,
            percent,
            is_over: false,
        });
    }

    /// Waits for the crash of the service.
    pub async fn died(&self) {
        self.1.notified().await;
    }

    /// A crashed service gets no more responses.
    async fn alive(&self) {
        if self.lock().life.as_ref().is_some_and(|life| life.is_over) {
            std::future::pending::<()>().await;
        }
    }

    /// Decides whether the service crashes now.
    fn dies(&self) -> bool {
        let mut records = self.lock();
        let Some(life) = &mut records.life else {
            return false;
        };
        let dies = life.chance.random_range(0..100) < life.percent;
        if dies {
            life.is_over = true;
            self.1.notify_one();
        }
        dies
    }

    pub fn is_closed(&self, run_id: &str) -> bool {
        self.lock().runs.get(run_id).is_some_and(|kept| kept.closed)
    }

    /// Returns the number of writes of a run.
    pub fn commits(&self, run_id: &str) -> u64 {
        self.lock().runs[run_id].version
    }

    pub fn run_ids(&self) -> Vec<String> {
        self.lock().runs.keys().cloned().collect()
    }

    pub fn history(&self, run_id: &str) -> Vec<Event> {
        let records = self.lock();
        let kept = &records.runs[run_id];
        let state: RunState = serde_json::from_str(&kept.state).unwrap();
        let mut events = kept.chunks.clone();
        events.extend(state.tail);
        events
    }

    fn write(&self, commit: &Commit) -> Committed {
        let mut records = self.lock();
        for draft in &commit.runs {
            if records.runs.get(&draft.state.run_id).map(|kept| kept.version) != draft.expected {
                return Committed::Stale;
            }
        }
        if let Some(current) = &commit.current
            && records.current.get(&current.workflow_id) != current.expected.as_ref()
        {
            return Committed::Taken;
        }
        if let Some(parent) = &commit.parent
            && records.runs.get(parent).is_none_or(|kept| kept.closed)
        {
            return Committed::Taken;
        }
        for draft in &commit.runs {
            let kept = records.runs.entry(draft.state.run_id.clone()).or_default();
            kept.state = serde_json::to_string(&draft.state).unwrap();
            kept.version = draft.state.version;
            kept.chunks.extend(draft.chunks.iter().flatten().cloned());
            kept.due_at = draft.due_at();
            kept.closed = draft.state.is_closed();
        }
        if let Some(current) = &commit.current {
            records
                .current
                .insert(current.workflow_id.clone(), current.run_id.clone());
        }
        if let Some(updates) = &commit.updates {
            records.updates.insert(updates.run_id.clone(), updates.head);
        }
        Committed::Done
    }
}

#[async_trait]
impl Store for Memory {
    async fn find(&self, _: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        self.alive().await;
        let records = self.lock();
        Ok(records
            .runs
            .get(run_id)
            .map(|kept| serde_json::from_str(&kept.state).unwrap()))
    }

    async fn find_current(&self, _: &Tenant, id: &str) -> Result<Option<String>> {
        self.alive().await;
        Ok(self.lock().current.get(id).cloned())
    }

    async fn history(&self, _: &Tenant, run_id: &str) -> Result<Vec<Event>> {
        self.alive().await;
        let records = self.lock();
        Ok(records
            .runs
            .get(run_id)
            .map(|kept| kept.chunks.clone())
            .unwrap_or_default())
    }

    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>> {
        let history = Store::history(self, tenant, run_id).await?;
        Ok(history.into_iter().find(|found| found.id == event))
    }

    async fn commit(&self, _: &Tenant, commit: &Commit) -> Result<Committed> {
        self.alive().await;
        let committed = self.write(commit);
        if self.dies() {
            self.alive().await;
        }
        Ok(committed)
    }

    async fn due(&self, by: UtcTime, _: bool) -> Result<Vec<DueRun>> {
        self.alive().await;
        let records = self.lock();
        let due = records.runs.iter().filter_map(|(run_id, kept)| {
            Some(DueRun {
                tenant: Tenant::new("acme", "demo").unwrap(),
                run_id: run_id.clone(),
                due_at: kept.due_at.filter(|at| *at <= by)?,
            })
        });
        Ok(due.collect())
    }

    async fn updates_head(&self, _: &Tenant, run_id: &str) -> Result<UpdatesHead> {
        self.alive().await;
        Ok(self.lock().updates.get(run_id).copied().unwrap_or_default())
    }

    async fn put_payload(&self, key: &str, json: &str) -> Result<()> {
        self.alive().await;
        self.lock().payloads.insert(key.to_owned(), json.to_owned());
        Ok(())
    }

    async fn find_payload(&self, key: &str) -> Result<Option<Box<RawValue>>> {
        self.alive().await;
        let found = self.lock().payloads.get(key).cloned();
        Ok(found.map(|json| RawValue::from_string(json).unwrap()))
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
