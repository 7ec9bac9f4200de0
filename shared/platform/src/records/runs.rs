//! Workflow runs: where each stands, the events that its state no longer holds, its update messages, and the indexes that list runs.
//!
//! What a state and an event are, the engine knows (`shared/workflow`); here they are JSON texts. Every write of a run is under
//! the condition that its `version` is the one that was read.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::config::Retention;
use crate::error::Result;
use crate::records::current_runs::with_current;
use crate::records::deliveries::{Deliveries, DeliveryWrite};
use crate::records::events::{EventRecord, Events};
use crate::records::run_removal::REMOVED;
use crate::records::run_updates::with_updates;
use crate::records::schema::{EXPIRES_AT, LISTING_INDEXES};
use crate::records::{Changes, Condition, Guard, Order, Query, Table, Written, keys};
use crate::tenant::Tenant;

pub use crate::records::current_runs::CurrentWrite;
pub use crate::records::run_place::RunPlace;
pub use crate::records::run_updates::{
    MAX_UPDATE_NUMBER, UPDATE_RETENTION_DAYS, UpdatesHead, UpdatesRecord, UpdatesWrite,
};

/// The status of a run that is under way.
pub const RUNNING: &str = "RUNNING";
/// The status of most runs. The index by status lacks it: a listing of completed runs reads another index.
pub const COMPLETED: &str = "COMPLETED";
/// Most runs whose standing is read at a time.
const STANDINGS_AT_ONCE: usize = 100;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its status.
    pub status: String,
    /// Rises by one with every write: the condition of the next one.
    pub version: u64,
    /// The state, as JSON.
    pub state: String,
    /// What a listing shows of the run and never changes, as JSON; an attribute of its own because the
    /// indexes carry it. What changes is left out, or each change would be a write to each index.
    pub summary: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// When it goes, in Unix seconds; None for one that has not ended, or is removed in steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// What a listing shows of a run and its summary lacks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunStanding {
    /// Status of the run.
    pub status: String,
    /// When it ended.
    pub closed_at: Option<UtcTime>,
}

/// Events of a run that follow one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryChunk {
    /// The id of the first.
    pub first_event: u64,
    /// The events, as a JSON array.
    pub events: String,
}

/// The write of one run.
#[derive(Clone, Debug)]
pub struct RunWrite {
    /// The version that was read; None for a run that must not exist.
    pub expected: Option<u64>,
    /// Where it stands now.
    pub record: RunRecord,
    /// Where it is found now.
    pub place: RunPlace,
    /// The events that leave its state.
    pub chunks: Vec<HistoryChunk>,
}

/// A workflow id whose run has ended.
#[derive(Clone, Debug)]
pub struct EndedCurrent {
    /// The workflow id.
    pub workflow_id: String,
    /// The run.
    pub run_id: String,
    /// When it stands for the run no longer, in Unix seconds.
    pub expires_at: i64,
}

/// Writes that happen together or not at all.
#[derive(Clone, Debug, Default)]
pub struct RunsCommit {
    /// Runs; the one that the commit is about comes first.
    pub runs: Vec<RunWrite>,
    /// The run that a workflow id is to stand for.
    pub current: Option<CurrentWrite>,
    /// When that ends by itself, in Unix seconds: of a run that is known to end before.
    pub current_expires_at: Option<i64>,
    /// A workflow id whose run ends with this commit.
    pub ended: Option<EndedCurrent>,
    /// Events of the platform.
    pub events: Vec<EventRecord>,
    /// Update messages.
    pub updates: Option<UpdatesWrite>,
    /// A run that must be under way.
    pub parent: Option<String>,
    /// What becomes of the delivery that the run carries out.
    pub delivery: Option<DeliveryWrite>,
    /// What must hold elsewhere.
    pub guard: Option<Guard>,
}

/// What a commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    /// It is durable.
    Done,
    /// Nothing was written: somebody else has written one of the runs or sent it an update. Read again.
    Stale,
    /// Nothing was written: the workflow id stands for another run, or the run that must be under way has ended.
    Taken,
    /// Nothing was written: what must hold elsewhere does not.
    Unguarded,
}

/// Which runs to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunIndex {
    /// All of the project.
    All,
    /// Those of a status other than [`COMPLETED`].
    Status(String),
    /// Those of a type.
    Type(String),
    /// Those about a document.
    Document(String),
}

impl RunIndex {
    /// What the runs have in common.
    pub fn value(&self) -> &str {
        match self {
            Self::All => "",
            Self::Status(value) | Self::Type(value) | Self::Document(value) => value,
        }
    }
}

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPosition {
    /// All runs that began at this time, or before.
    Until(UtcTime),
    /// This run, which began then, and those before it.
    At(UtcTime, String),
}

impl RunPosition {
    fn sort_key(&self) -> String {
        match self {
            // `~` sorts after whatever an id begins with.
            Self::Until(time) => keys::run_time(*time, "~"),
            Self::At(time, run) => keys::run_time(*time, run),
        }
    }
}

#[derive(Deserialize)]
struct SummaryRecord {
    summary: String,
}

#[derive(Deserialize)]
struct DueRecord {
    pk: String,
    due_at: UtcTime,
}

/// A run that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    /// Whose it is.
    pub tenant: Tenant,
    /// The run.
    pub run_id: String,
    /// Since when.
    pub due_at: UtcTime,
}

/// The runs of every project.
#[derive(Clone)]
pub struct Runs {
    pub(super) table: Table,
    retention: Retention,
    events: Events,
    deliveries: Deliveries,
}

impl Runs {
    /// Over the table of runs, and the one of events and deliveries.
    pub fn new(table: Table, events: Table) -> Self {
        Self {
            table,
            retention: Retention::default(),
            events: Events::new(events.clone()),
            deliveries: Deliveries::new(events),
        }
    }

    /// Ended ones, and their deliveries, are kept for so long.
    #[must_use]
    pub fn retaining(self, retention: Retention) -> Self {
        Self {
            deliveries: self.deliveries.retaining(retention),
            retention,
            ..self
        }
    }

    /// How long ended ones are kept.
    pub const fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Where a run stands; None where there is no such run.
    pub async fn find(&self, tenant: &Tenant, run: &str) -> Result<Option<RunRecord>> {
        let found: Option<RunRecord> = self.table.find(&keys::run(tenant, run)).await?;
        Ok(found.filter(|record| record.status != REMOVED))
    }

    /// The events that a run's state no longer holds, in order.
    pub async fn history(&self, tenant: &Tenant, run: &str) -> Result<Vec<HistoryChunk>> {
        let query = Query::partition(keys::run_parts(tenant, run)).prefix(keys::RUN_HISTORY);
        self.table.all(&query).await
    }

    /// The events among which this one is, of those that the state no longer holds.
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

    /// Writes everything of a commit, or nothing.
    pub async fn commit(&self, tenant: &Tenant, commit: &RunsCommit) -> Result<Committed> {
        // Most commits move one run on: a single conditional write, which costs half of a transaction.
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
                .put(&run.place.key(tenant), &run.record, condition(run))
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
        let mut steps = 0;
        let guard_step = commit.guard.is_some().then_some(0);
        if let Some(guard) = &commit.guard {
            transaction = transaction.guarded_by(guard)?;
            steps += 1;
        }
        let mut parent_step = None;
        let mut current_step = None;
        for run in &commit.runs {
            transaction = transaction.put(&run.place.key(tenant), &run.record, condition(run))?;
            steps += 1;
        }
        if let Some(current) = &commit.current {
            transaction = with_current(transaction, tenant, current, commit.current_expires_at)?;
            current_step = Some(steps);
        }
        if let Some(parent) = &commit.parent {
            let under_way = Condition::TextIs("status", RUNNING.to_owned());
            transaction = transaction.check(&keys::run(tenant, parent), under_way)?;
            parent_step = Some(steps + usize::from(commit.current.is_some()));
        }
        let ended_step = commit
            .ended
            .as_ref()
            .map(|_| steps + usize::from(commit.current.is_some()) + usize::from(commit.parent.is_some()));
        if let Some(ended) = &commit.ended {
            let changes = Changes::default().set(EXPIRES_AT, &ended.expires_at)?;
            let is_ours = Condition::TextIs("run_id", ended.run_id.clone());
            let key = keys::workflow(tenant, &ended.workflow_id);
            transaction = transaction.update(&key, &changes, Some(&is_ours))?;
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
            transaction = self.events.insert_with(transaction, tenant, event)?;
        }
        if let Some(delivery) = &commit.delivery {
            transaction = self.deliveries.write_with(transaction, tenant, delivery)?;
        }
        let written = transaction.commit().await?;
        if let Some(current) = commit
            .current
            .as_ref()
            .filter(|current| current.expected.is_some())
            && matches!(written, Written::Refused { step } if current_step == Some(step))
        {
            // Where it stands for the expected run under its former key alone, the next try succeeds.
            let adopted = self.adopt_current(tenant, &current.workflow_id).await?;
            return Ok(if adopted.is_some() && adopted == current.expected {
                Committed::Stale
            } else {
                Committed::Taken
            });
        }
        Ok(match written {
            Written::Done => Committed::Done,
            Written::Refused { step } if guard_step == Some(step) => Committed::Unguarded,
            // The workflow id stands for another run, or for none: there is nothing to end.
            Written::Refused { step } if ended_step == Some(step) => {
                let commit = RunsCommit {
                    ended: None,
                    ..commit.clone()
                };
                return Box::pin(self.commit(tenant, &commit)).await;
            }
            Written::Refused { step } if [current_step, parent_step].contains(&Some(step)) => {
                Committed::Taken
            }
            Written::Refused { .. } | Written::Contended => Committed::Stale,
        })
    }

    /// Where runs stand, in their order; None for those that are gone.
    pub async fn standings(&self, tenant: &Tenant, runs: &[&str]) -> Result<Vec<Option<RunStanding>>> {
        let mut found = Vec::with_capacity(runs.len());
        for part in runs.chunks(STANDINGS_AT_ONCE) {
            let keys: Vec<_> = part.iter().map(|run| keys::run(tenant, run)).collect();
            let part: Vec<Option<RunStanding>> = self.table.find_many(&keys).await?;
            found.extend(
                part.into_iter()
                    .map(|run| run.filter(|run| run.status != REMOVED)),
            );
        }
        Ok(found)
    }

    /// The summaries, as JSON, of the runs that began from `from` on and no later than `until`, newest first: at most `most`, and
    /// whether there are more.
    pub async fn list(
        &self,
        tenant: &Tenant,
        index: &RunIndex,
        from: UtcTime,
        until: &RunPosition,
        most: usize,
    ) -> Result<(Vec<String>, bool)> {
        let [by_time, by_status, by_type, by_document] = LISTING_INDEXES;
        let (name, pk) = match index {
            RunIndex::All => (by_time, keys::runs(tenant)),
            RunIndex::Status(status) => (by_status, keys::runs_by(tenant, "status", status)),
            RunIndex::Type(workflow_type) => (by_type, keys::runs_by(tenant, "type", workflow_type)),
            RunIndex::Document(document) => (by_document, keys::runs_by(tenant, "document", document)),
        };
        let (low, high) = (from.to_string(), until.sort_key());
        if low > high {
            return Ok((Vec::new(), false));
        }
        let query = Query::partition(pk)
            .index(name)
            .between(low, high)
            .order(Order::Descending);
        let (page, next): (Vec<SummaryRecord>, _) = self.table.page(&query, most, None).await?;
        Ok((
            page.into_iter().map(|record| record.summary).collect(),
            next.is_some(),
        ))
    }

    /// The runs of every project that somebody should look at by a time, those that wait longest first; at most `most` of each
    /// part of the index, all where it is None.
    pub async fn due(&self, by: UtcTime, most: Option<usize>) -> Result<Vec<DueRun>> {
        self.due_in(&keys::DUE_RUNS, by, most).await
    }

    /// The runs of these parts of the index.
    pub(super) async fn due_in(
        &self,
        shards: &[&'static str],
        by: UtcTime,
        most: Option<usize>,
    ) -> Result<Vec<DueRun>> {
        let mut found = Vec::new();
        for shard in shards {
            let query = Query::due(shard, by);
            let part: Vec<DueRecord> = match most {
                Some(most) => self.table.page(&query, most, None).await?.0,
                None => self.table.all(&query).await?,
            };
            found.extend(part.into_iter().filter_map(|due| {
                let (tenant, run) = keys::run_of(&due.pk)?;
                Some(DueRun {
                    tenant,
                    run_id: run.to_owned(),
                    due_at: due.due_at,
                })
            }));
        }
        Ok(found)
    }
}

fn condition(run: &RunWrite) -> Condition {
    match run.expected {
        Some(version) => Condition::NumberIs("version", version),
        None => Condition::Absent,
    }
}
