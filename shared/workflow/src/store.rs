//! Defines the store of runs that the engine needs. It has two implementations: the table, and for tests a
//! memory that loses responses.

use async_trait::async_trait;
use events::records::deliveries::{DeliveryRecord, DeliveryWrite};
use events::records::events::EventRecord;
use platform::records::Guard;
use platform::{Result, Tenant, UtcTime};
use serde_json::value::RawValue;

use crate::draft::Draft;
use crate::event::Event;
use crate::records::{CurrentWrite, DueRun, UpdatesHead, UpdatesWrite};
use crate::state::RunState;

/// Changes that are written together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The changed run comes first.
    pub runs: Vec<Draft>,
    /// New owner of a workflow id.
    pub current: Option<CurrentWrite>,
    /// Run that must be open: the parent of a new run.
    pub parent: Option<String>,
    /// Events of the platform.
    pub events: Vec<EventRecord>,
    pub updates: Option<UpdatesWrite>,
    /// Change of the delivery that the first run carries out; the engine derives it unless the starter
    /// requests one.
    pub delivery: Option<DeliveryWrite>,
    /// Condition on another record.
    pub guard: Option<Guard>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    /// The commit is durable.
    Done,
    /// Nothing was written: another writer changed one of the runs or added an update message. The caller
    /// must read again.
    Stale,
    /// Nothing was written: the workflow id belongs to another run, or the run that must be under way has
    /// ended.
    Taken,
    /// Nothing was written: the guard does not hold.
    GuardFailed,
}

#[async_trait]
pub trait Store: Send + Sync {
    async fn find(&self, tenant: &Tenant, run_id: &str) -> Result<Option<RunState>>;

    /// Returns the run that owns a workflow id.
    async fn find_current(&self, tenant: &Tenant, workflow_id: &str) -> Result<Option<String>>;

    /// Returns the events that are not in the run's state.
    async fn history(&self, tenant: &Tenant, run_id: &str) -> Result<Vec<Event>>;

    /// Returns one of the events that are not in the run's state.
    async fn event(&self, tenant: &Tenant, run_id: &str, event: u64) -> Result<Option<Event>>;

    /// Returns a delivery; None in a store without deliveries.
    async fn find_delivery(&self, _: &Tenant, _: &str) -> Result<Option<DeliveryRecord>> {
        Ok(None)
    }

    /// Writes a commit. After an error, the commit may have happened.
    async fn commit(&self, tenant: &Tenant, commit: &Commit) -> Result<Committed>;

    /// Returns the runs that are due by a time, the longest overdue first; all of them only if `all` is true.
    async fn due(&self, by: UtcTime, all: bool) -> Result<Vec<DueRun>>;

    /// Returns ended runs to remove by a time, the longest overdue first, up to a limit. Empty for a store
    /// that keeps everything.
    async fn removals(&self, _: UtcTime) -> Result<Vec<DueRun>> {
        Ok(Vec::new())
    }

    /// Removes a run whose time has come, with all of its data, unless a run that is kept names it. Continues
    /// an interrupted removal.
    async fn remove(&self, _: &Tenant, _: &str, _: UtcTime) -> Result<()> {
        Ok(())
    }

    /// Returns the numbers of a run's updates.
    async fn updates_head(&self, tenant: &Tenant, run_id: &str) -> Result<UpdatesHead>;

    /// Returns whether these updates were written, under these numbers and at this time.
    async fn has_updates(&self, tenant: &Tenant, updates: &UpdatesWrite) -> Result<bool>;

    /// Stores a payload in the object store.
    async fn put_payload(&self, key: &str, json: &str) -> Result<()>;

    /// Removes a payload of a run that did not start. Does nothing in a store that keeps everything.
    async fn remove_payload(&self, _: &str) -> Result<()> {
        Ok(())
    }

    /// Returns a payload from the object store; None if it is gone.
    async fn find_payload(&self, key: &str) -> Result<Option<Box<RawValue>>>;
}
