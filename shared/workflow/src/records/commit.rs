//! Writes the runs of a commit, with everything that belongs to it, in one transaction.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Condition, Outcome, keys};
use platform::tenant::Tenant;

use super::current_runs::{EndedCurrent, with_current, with_ended};
use super::run_place::RunPlace;
use super::run_updates::with_updates;
use super::runs::{HistoryChunk, RunRecord, Runs};
use crate::removal_plan;
use crate::status::RunStatus;
use crate::store::{Commit, Committed};

const GUARD: &str = "guard";
const CURRENT: &str = "current";
const PARENT: &str = "parent";
const ENDED: &str = "ended";

#[derive(Clone, Debug)]
pub struct RunWrite {
    /// Version that was read; None for a run that must not exist.
    pub expected: Option<u64>,
    pub record: RunRecord,
    pub place: RunPlace,
    /// Events that leave the state.
    pub chunks: Vec<HistoryChunk>,
}

impl Runs {
    /// Writes a commit, whose runs have these records, or nothing.
    pub async fn commit(&self, tenant: &Tenant, commit: &Commit, runs: &[RunWrite]) -> Result<Committed> {
        if let Some(event) = commit.events.first() {
            self.events.prepare(tenant, event.received_at).await?;
        }
        let first = runs.first().map(|run| run.record.state.as_str());
        let ended = first.and_then(|state| removal_plan::ended(commit, state, &self.retention));
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
            let expires_at = removal_plan::current_expires_at(commit, current, &self.retention);
            transaction = with_current(transaction, tenant, current, expires_at)?.labelled(CURRENT);
        }
        if let Some(parent) = &commit.parent {
            let under_way = Condition::TextIs("status", RunStatus::Running.as_str().to_owned());
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
