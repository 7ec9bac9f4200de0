//! What the engine needs of the records. Two stores hold them: the table, and for tests a memory that loses answers.

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

/// An event of the platform about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// Its id.
    pub id: String,
    /// What happened.
    pub action: RunAction,
}

/// Changes that are written together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Runs; the one that the commit is about comes first.
    pub runs: Vec<Draft>,
    /// The run that a workflow id is to stand for.
    pub current: Option<CurrentWrite>,
    /// A run that must not have ended: the one that starts another.
    pub parent: Option<String>,
    /// Events of the platform.
    pub events: Vec<EventRecord>,
    /// Update messages.
    pub updates: Option<UpdatesWrite>,
    /// What becomes of the delivery that the run carries out.
    pub delivery: Option<DeliveryWrite>,
    /// What must hold elsewhere.
    pub guard: Option<Guard>,
}

/// The records of runs.
pub trait Store: Send + Sync {
    /// Where a run stands; None where there is no such run.
    fn find<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<Option<RunState>>>;

    /// The run that a workflow id stands for.
    fn find_current<'a>(
        &'a self,
        tenant: &'a Tenant,
        workflow_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>>;

    /// The events that a run's state no longer holds.
    fn history<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<Vec<Event>>>;

    /// One of the events that a run's state no longer holds.
    fn event<'a>(
        &'a self,
        tenant: &'a Tenant,
        run_id: &'a str,
        event: u64,
    ) -> BoxFuture<'a, Result<Option<Event>>>;

    /// Writes all of it or nothing. An error says nothing about which of the two.
    fn commit<'a>(&'a self, tenant: &'a Tenant, commit: &'a Commit) -> BoxFuture<'a, Result<Committed>>;

    /// The runs that somebody should look at by a time: those that wait longest first, and all of them only where `all` is wanted.
    fn due(&self, by: UtcTime, all: bool) -> BoxFuture<'_, Result<Vec<DueRun>>>;

    /// The ended runs that are to be removed by a time; those that wait longest first, and not all where
    /// there are many. None of a store that keeps everything.
    fn removals(&self, _: UtcTime) -> BoxFuture<'_, Result<Vec<DueRun>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Removes a run whose time has come, with everything that is kept for it, unless a run that is kept
    /// names it. Continues where this ended before.
    fn remove<'a>(&'a self, _: &'a Tenant, _: &'a str, _: UtcTime) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// The numbers of a run's update messages.
    fn updates_head<'a>(&'a self, tenant: &'a Tenant, run_id: &'a str) -> BoxFuture<'a, Result<UpdatesHead>>;

    /// Keeps a payload beside the records.
    fn put_payload<'a>(&'a self, key: &'a str, json: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Removes a payload of a run that did not begin. Nothing of a store that keeps everything.
    fn remove_payload<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// A payload that is kept beside the records; None where it is gone.
    fn find_payload<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Box<RawValue>>>>;
}
