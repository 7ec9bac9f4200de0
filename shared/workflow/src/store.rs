//! Defines the store of runs that the engine needs. It has two implementations: the table, and for tests a
//! memory that loses responses.

use events::action::RunAction;
use platform::queue::BoxFuture;
use platform::records::Guard;
use platform::records::deliveries::DeliveryWrite;
use platform::records::events::EventRecord;
use platform::records::runs::{Committed, CurrentWrite, DueRun, UpdatesHead, UpdatesWrite};
use platform::{Result, Tenant, UtcTime};
use serde_json::value::RawValue;

use crate::draft::Draft;
use crate::event::Event;
use crate::state::RunState;

/// Event of the platform about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub id: String,
    pub action: RunAction,
}

/// Changes that are written together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The changed run comes first.
    pub runs: Vec<Draft>,
    /// New owner of a workflow id.
    pub current: Option<CurrentWrite>,
    /// Run that must be open: the parent of a new run.
    pub parent: Option<String>,
    pub events: Vec<EventRecord>,
    pub updates: Option<UpdatesWrite>,
    /// Change of the delivery that the run carries out.
    pub delivery: Option<DeliveryWrite>,
    /// Condition on another record.
    pub guard: Option<Guard>,
}

pub trait Store: Send + Sync {
    fn find<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<Option<RunState>>>;

    /// Returns the run that owns a workflow id.
    fn find_current<'a>(
        &'a self,
        tenant: &'a Tenant,
        workflow_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>>;

    /// Returns the events that are not in the run's state.
    fn history<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<Vec<Event>>>;

    /// Returns one of the events that are not in the run's state.
    fn event<'a>(
        &'a self,
        tenant: &'a Tenant,
        run_id: &'a str,
        event: u64,
    ) -> BoxFuture<'a, Result<Option<Event>>>;

    /// Writes a commit. After an error, the commit may have happened.
    fn commit<'a>(&'a self, tenant: &'a Tenant, commit: &'a Commit) -> BoxFuture<'a, Result<Committed>>;

    /// Returns the runs that are due by a time, the longest overdue first; all of them only if `all` is true.
    fn due(&self, by: UtcTime, all: bool) -> BoxFuture<'_, Result<Vec<DueRun>>>;

    /// Returns ended runs to remove by a time, the longest overdue first, up to a limit. Empty for a store
    /// that keeps everything.
    fn removals(&self, _: UtcTime) -> BoxFuture<'_, Result<Vec<DueRun>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes a run whose time has come, with all of its data, unless a run that is kept names it. Continues
    /// an interrupted removal.
    fn remove<'a>(&'a self, _: &'a Tenant, _: &'a str, _: UtcTime) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the numbers of a run's updates.
    fn updates_head<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<UpdatesHead>>;

    /// Stores a payload in the object store.
    fn put_payload<'a>(&'a self, key: &'a str, json: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Removes a payload of a run that did not start. Does nothing in a store that keeps everything.
    fn remove_payload<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns a payload from the object store; None if it is gone.
    fn find_payload<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Box<RawValue>>>>;
}
