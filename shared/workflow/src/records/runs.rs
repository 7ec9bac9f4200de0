//! Stores workflow runs: their states, the events that a state no longer contains, and their update messages.
//!
//! States and events are JSON texts here; the engine (`shared/workflow`) defines them. Every write of a run
//! requires the `version` that was read.

use events::records::deliveries::Deliveries;
use events::records::events::Events;
use events::records::listing_shards::ListingShards;
use events::retention::Retention;
use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Condition, Order, Outcome, Query, Table, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::records::current_runs::{with_current, with_ended};
use crate::records::run_removal::REMOVED;
use crate::records::run_updates::with_updates;
use crate::removal;
use crate::store::Commit;

/// Labels of the steps of a commit.
const GUARD: &str = "guard";
const CURRENT: &str = "current";
const PARENT: &str = "parent";
const ENDED: &str = "ended";

pub use crate::records::current_runs::{CurrentWrite, EndedCurrent};
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

    /// Writes a commit, whose runs have these records, or nothing.
    pub async fn commit(&self, tenant: &Tenant, commit: &Commit, runs: &[RunWrite]) -> Result<Committed> {
        if let Some(event) = commit.events.first() {
            self.events.prepare(tenant, event.received_at).await?;
        }
        let ended = removal::ended(commit, runs, &self.retention);
        let mut outcome = self.transact(tenant, commit, runs, ended.as_ref()).await?;
        if outcome == Outcome::Refused(Some(ENDED)) {
            // The workflow id belongs to another run, or to none, so there is nothing to end.
            outcome = self.transact(tenant, commit, runs, None).await?;
        }
        Ok(match outcome {
            Outcome::Done => Committed::Done,
            Outcome::Refused(Some(GUARD)) => Committed::GuardFailed,
            Outcome::Refused(Some(CURRENT | PARENT)) => Committed::Taken,
            Outcome::Refused(_) | Outcome::Contended => Committed::Stale,
        })
    }

    async fn transact(
        &self,
        tenant: &Tenant,
        commit: &Commit,
        runs: &[RunWrite],
        ended: Option<&EndedCurrent>,
    ) -> Result<Outcome> {
        let newest = runs.iter().map(|run| run.place.started_at).max();
        let shards = &self
            .shards
            .for_record(tenant, newest.unwrap_or(UtcTime::EPOCH))
            .await?;
        let mut transaction = self.table.transaction();
        if let Some(guard) = &commit.guard {
            transaction = transaction.guarded_by(guard)?.labelled(GUARD);
        }
        for run in runs {
            transaction = transaction.put(&run.place.key(tenant, shards), &run.record, condition(run))?;
        }
        if let Some(current) = &commit.current {
            let expires_at = removal::current_expires_at(commit, current, &self.retention);
            transaction = with_current(transaction, tenant, current, expires_at)?.labelled(CURRENT);
        }
        if let Some(parent) = &commit.parent {
            let under_way = Condition::TextIs("status", RUNNING.to_owned());
            transaction = transaction
                .check(&keys::run(tenant, parent), under_way)?
                .labelled(PARENT);
        }
        if let Some(ended) = ended {
            transaction = with_ended(transaction, tenant, ended)?.labelled(ENDED);
        }
        for run in runs {
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
        // Most commits change one run. The engine recognizes its own write by the id of the commit.
        transaction.commit_recognizable().await
    }
}

fn condition(run: &RunWrite) -> Condition {
    match run.expected {
        Some(version) => Condition::NumberIs("version", version),
        None => Condition::Absent,
    }
}
