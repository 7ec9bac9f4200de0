//! Removes runs that have more than one record, or that other runs refer to: the sweeper finds them in the
//! index `due` and removes them in idempotent steps.
//!
//! First the run is hidden: a mark replaces its state and its places in listings, so that no reader finds a
//! run without its history. The mark is removed last.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::keys::DueKind;
use platform::records::{Changes, Condition, Query, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use super::run_listing::DueRun;
use super::runs::{REMOVED, RunRecord, Runs};

/// Number of history records read at a time; each has up to 250 KB.
const RECORDS_AT_ONCE: usize = 4;

/// A run or its mark, with its expiry.
#[derive(Clone, Debug, Deserialize)]
pub struct KeptRun {
    #[serde(flatten)]
    pub record: RunRecord,
    due_shard: Option<String>,
    due_at: Option<UtcTime>,
}

impl KeptRun {
    /// Whether this is only a mark, because the run is being removed.
    pub fn is_mark(&self) -> bool {
        self.record.status == REMOVED
    }

    /// Returns when the run must be removed in steps; None if it expires by itself.
    pub fn removed_at(&self) -> Option<UtcTime> {
        let shard = self.due_shard.as_deref()?;
        self.due_at.filter(|_| DueKind::RunRemovals.has(shard))
    }

    /// Returns when the run is removed, by itself or in steps; None for one that has not ended, or was stored
    /// before runs expired.
    pub fn goes_at(&self) -> Option<UtcTime> {
        let expires_at = self.record.expires_at;
        let expires_at = expires_at.and_then(|at| UtcTime::from_millis(at.saturating_mul(1_000)));
        self.removed_at().or(expires_at)
    }
}

#[derive(Deserialize)]
struct ChunkKey {
    first_event: u64,
}

#[derive(Serialize)]
struct Mark {
    status: &'static str,
    version: u64,
    /// Not empty if the run may have objects in addition to records.
    state: String,
    summary: &'static str,
}

impl Runs {
    /// Lists the runs of all projects that must be removed by a time; at most `most` of each partition of the
    /// index.
    pub async fn removals(&self, by: UtcTime, most: usize) -> Result<Vec<DueRun>> {
        self.due_in(DueKind::RunRemovals, by, Some(most)).await
    }

    /// Returns a run or its mark, with its expiry.
    pub async fn find_kept(&self, tenant: &Tenant, run: &str) -> Result<Option<KeptRun>> {
        self.table.find(&keys::run(tenant, run)).await
    }

    /// Postpones the removal of a run, unless the run was written since it was read.
    pub async fn postpone_removal(
        &self,
        tenant: &Tenant,
        run: &str,
        read: &KeptRun,
        until: UtcTime,
    ) -> Result<()> {
        let changes = Changes::default().set("due_at", &until)?;
        let unchanged = Condition::NumberIs("version", read.record.version);
        self.table
            .update(&keys::run(tenant, run), &changes, unchanged)
            .await?
            .took_effect("a run")
            .map(drop)
    }

    /// Replaces a run with a mark, which hides it from readers. False if the run was written since it was
    /// read. Also ends the assignment of its workflow id.
    pub async fn hide(
        &self,
        tenant: &Tenant,
        run: &str,
        workflow_id: &str,
        (read, objects): (&KeptRun, bool),
    ) -> Result<bool> {
        let is_ours = Condition::TextIs("run_id", run.to_owned());
        // Refused: the workflow id belongs to another run now.
        self.table
            .delete(&keys::workflow(tenant, workflow_id), is_ours)
            .await?
            .took_effect("a run")?;
        let mark = Mark {
            status: REMOVED,
            version: read.record.version + 1,
            state: if objects {
                "objects".to_owned()
            } else {
                String::new()
            },
            summary: "",
        };
        let at = read.removed_at().unwrap_or(UtcTime::EPOCH);
        let key = keys::run(tenant, run).with_due(DueKind::RunRemovals.shard_of(run), at);
        let unchanged = Condition::NumberIs("version", read.record.version);
        self.table.put(&key, &mark, unchanged).await?.took_effect("a run")
    }

    /// Removes the history of a hidden run.
    pub async fn remove_history(&self, tenant: &Tenant, run: &str) -> Result<()> {
        let query = Query::partition(keys::run_parts(tenant, run)).prefix(keys::RUN_HISTORY);
        loop {
            let (chunks, _): (Vec<ChunkKey>, _) = self.table.page(&query, RECORDS_AT_ONCE, None).await?;
            if chunks.is_empty() {
                return Ok(());
            }
            for chunk in chunks {
                let key = keys::run_history(tenant, run, chunk.first_event);
                // Refused: another worker removes the same run.
                self.table
                    .delete(&key, Condition::Present)
                    .await?
                    .took_effect("a run")?;
            }
        }
    }

    /// Removes the mark of a run, after everything else.
    pub async fn remove_mark(&self, tenant: &Tenant, run: &str) -> Result<()> {
        let is_mark = Condition::TextIs("status", REMOVED.to_owned());
        self.table
            .delete(&keys::run(tenant, run), is_mark)
            .await?
            .took_effect("a run")
            .map(drop)
    }
}
