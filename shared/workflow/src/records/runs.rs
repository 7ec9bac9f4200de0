//! Stores workflow runs: their states, the events that a state no longer contains, and their update messages.
//!
//! States and events are JSON texts here; the engine (`shared/workflow`) defines them. Every write of a run
//! requires the `version` that was read.

use serde::{Deserialize, Serialize};

use events::records::deliveries::{Deliveries, DeliveryWrite};
use events::records::events::{EventRecord, Events};
use platform::clock::UtcTime;
use platform::config::Retention;
use platform::error::Result;
use platform::records::listing_shards::ListingShards;
use platform::records::schema::EXPIRES_AT;
use platform::records::{Changes, Condition, Guard, Order, Outcome, Query, Table, Written, keys};
use platform::tenant::Tenant;

use crate::records::current_runs::with_current;
use crate::records::run_removal::REMOVED;
use crate::records::run_updates::with_updates;

/// Labels of the steps of a commit.
const GUARD: &str = "guard";
const CURRENT: &str = "current";
const PARENT: &str = "parent";
const ENDED: &str = "ended";

pub use crate::records::current_runs::CurrentWrite;
pub use crate::records::run_listing::{DueRun, RunIndex, RunPosition, RunStanding};
pub use crate::records::run_place::RunPlace;
pub use crate::records::run_updates::{
    MAX_UPDATE_NUMBER, UPDATE_RETENTION_DAYS, UpdatesHead, UpdatesRecord, UpdatesWrite,
};

/// Status of a run that is under way.
pub const RUNNING: &str = "RUNNING";
/// Status of most runs. The index by status omits it: a listing of completed runs reads another index.
pub const COMPLETED: &str = "COMPLETED";
/// State of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub status: String,
    /// Increases by one with every write; each write requires the version that was read.
    pub version: u64,
    /// State, as JSON.
    pub state: String,
    /// Immutable attributes that a listing shows, as JSON. A separate attribute, because the indexes carry
    /// it; changing attributes are left out, or each change would write to each index.
    pub summary: String,
    /// Time of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// Expiry, in Unix seconds; None for a run that has not ended, or is removed in steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// Consecutive events of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryChunk {
    pub first_event: u64,
    /// Events, as a JSON array that the engine may have compressed.
    pub events: String,
}

#[derive(Clone, Debug)]
pub struct RunWrite {
    /// Version that was read; None for a run that must not exist.
    pub expected: Option<u64>,
    pub record: RunRecord,
    pub place: RunPlace,
    /// Events that leave the state.
    pub chunks: Vec<HistoryChunk>,
}

/// A workflow id whose run has ended.
#[derive(Clone, Debug)]
pub struct EndedCurrent {
    pub workflow_id: String,
    pub run_id: String,
    /// Expiry of the workflow id's record, in Unix seconds.
    pub expires_at: i64,
}

/// Writes that are committed together or not at all.
#[derive(Clone, Debug, Default)]
pub struct RunsCommit {
    /// The main run of the commit comes first.
    pub runs: Vec<RunWrite>,
    /// New current run of a workflow id.
    pub current: Option<CurrentWrite>,
    /// Expiry of that record, in Unix seconds, for a run that is known to end before it.
    pub current_expires_at: Option<i64>,
    /// Workflow id of a run that ends with this commit.
    pub ended: Option<EndedCurrent>,
    /// Events of the platform.
    pub events: Vec<EventRecord>,
    pub updates: Option<UpdatesWrite>,
    /// A run that must be under way.
    pub parent: Option<String>,
    /// Write of the delivery that the run carries out.
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

#[derive(Clone)]
pub struct Runs {
    pub(super) table: Table,
    pub(super) shards: ListingShards,
    retention: Retention,
    events: Events,
    deliveries: Deliveries,
}

impl Runs {
    /// Uses the table of runs, and the table of events and deliveries.
    pub fn new(table: Table, events: Table) -> Self {
        Self {
            shards: ListingShards::new(table.clone()),
            table,
            retention: Retention::default(),
            events: Events::new(events.clone()),
            deliveries: Deliveries::new(events),
        }
    }

    /// Sets how long ended runs and their deliveries are kept.
    #[must_use]
    pub fn retaining(self, retention: Retention) -> Self {
        Self {
            deliveries: self.deliveries.retaining(retention),
            retention,
            ..self
        }
    }

    pub const fn retention(&self) -> &Retention {
        &self.retention
    }

    pub async fn find(&self, tenant: &Tenant, run: &str) -> Result<Option<RunRecord>> {
        let found: Option<RunRecord> = self.table.find(&keys::run(tenant, run)).await?;
        Ok(found.filter(|record| record.status != REMOVED))
    }

    /// Returns the events that a run's state no longer contains, in order.
    pub async fn history(&self, tenant: &Tenant, run: &str) -> Result<Vec<HistoryChunk>> {
        let query = Query::partition(keys::run_parts(tenant, run)).prefix(keys::RUN_HISTORY);
        self.table.all(&query).await
    }

    /// Returns the stored chunk that contains this event; None if it is still in the state.
    pub async fn history_with(&self, tenant: &Tenant, run: &str, event: u64) -> Result<Option<HistoryChunk>> {
        let query = Query::partition(keys::run_parts(tenant, run))
            .between(
                keys::run_history(tenant, run, 0).sk,
                keys::run_history(tenant, run, event).sk,
            )
            .order(Order::Descending);
        let (chunks, _) = self.table.page(&query, 1, None).await?;
        Ok(chunks.into_iter().next())
    }

    /// Writes the whole commit, or nothing.
    pub async fn commit(&self, tenant: &Tenant, commit: &RunsCommit) -> Result<Committed> {
        let newest = commit.runs.iter().map(|run| run.place.started_at).max();
        let shards = &self
            .shards
            .for_record(tenant, newest.unwrap_or(UtcTime::EPOCH))
            .await?;
        // Most commits change one run: a single conditional write, which costs half of a transaction.
        if let ([run], None, None, [], None, None, None, None) = (
            commit.runs.as_slice(),
            &commit.current,
            &commit.ended,
            commit.events.as_slice(),
            &commit.updates,
            &commit.parent,
            &commit.delivery,
            &commit.guard,
        ) && run.chunks.is_empty()
        {
            let written = self
                .table
                .put(&run.place.key(tenant, shards), &run.record, condition(run))
                .await?;
            return Ok(match written {
                Written::Done => Committed::Done,
                Written::Refused { .. } | Written::Contended => Committed::Stale,
            });
        }
        if let Some(event) = commit.events.first() {
            self.events.prepare(tenant, event.received_at).await?;
        }
        if let Some(CurrentWrite {
            workflow_id,
            expected: None,
            ..
        }) = &commit.current
            && self.adopt_current(tenant, workflow_id).await?.is_some()
        {
            return Ok(Committed::Taken);
        }
        let mut transaction = self.table.transaction();
        if let Some(guard) = &commit.guard {
            transaction = transaction.guarded_by(guard)?.labelled(GUARD);
        }
        for run in &commit.runs {
            transaction = transaction.put(&run.place.key(tenant, shards), &run.record, condition(run))?;
        }
        if let Some(current) = &commit.current {
            transaction =
                with_current(transaction, tenant, current, commit.current_expires_at)?.labelled(CURRENT);
        }
        if let Some(parent) = &commit.parent {
            let under_way = Condition::TextIs("status", RUNNING.to_owned());
            transaction = transaction
                .check(&keys::run(tenant, parent), under_way)?
                .labelled(PARENT);
        }
        if let Some(ended) = &commit.ended {
            let changes = Changes::default().set(EXPIRES_AT, &ended.expires_at)?;
            let is_ours = Condition::TextIs("run_id", ended.run_id.clone());
            let key = keys::workflow(tenant, &ended.workflow_id);
            transaction = transaction
                .update(&key, &changes, Some(&is_ours))?
                .labelled(ENDED);
        }
        for run in &commit.runs {
            for chunk in &run.chunks {
                let key = keys::run_history(tenant, &run.place.run_id, chunk.first_event);
                transaction = transaction.put(&key, chunk, Condition::Absent)?;
            }
        }
        if let Some(updates) = &commit.updates {
            transaction = with_updates(transaction, tenant, updates)?;
        }
        for event in &commit.events {
            transaction = self.events.insert_with(transaction, tenant, event).await?;
        }
        if let Some(delivery) = &commit.delivery {
            transaction = self.deliveries.write_with(transaction, tenant, delivery).await?;
        }
        let outcome = transaction.commit_labelled().await?;
        if let Some(current) = commit
            .current
            .as_ref()
            .filter(|current| current.expected.is_some())
            && outcome == Outcome::Refused(Some(CURRENT))
        {
            // If only the former key names the expected run, the next attempt succeeds.
            let adopted = self.adopt_current(tenant, &current.workflow_id).await?;
            return Ok(if adopted.is_some() && adopted == current.expected {
                Committed::Stale
            } else {
                Committed::Taken
            });
        }
        Ok(match outcome {
            Outcome::Done => Committed::Done,
            Outcome::Refused(Some(GUARD)) => Committed::GuardFailed,
            // The workflow id belongs to another run, or to none, so there is nothing to end.
            Outcome::Refused(Some(ENDED)) => {
                let commit = RunsCommit {
                    ended: None,
                    ..commit.clone()
                };
                return Box::pin(self.commit(tenant, &commit)).await;
            }
            Outcome::Refused(Some(CURRENT | PARENT)) => Committed::Taken,
            Outcome::Refused(_) | Outcome::Contended => Committed::Stale,
        })
    }
}

fn condition(run: &RunWrite) -> Condition {
    match run.expected {
        Some(version) => Condition::NumberIs("version", version),
        None => Condition::Absent,
    }
}
