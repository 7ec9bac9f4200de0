//! Listings of runs, and the index of those with work that is due.

use serde::Deserialize;

use crate::clock::UtcTime;
use crate::error::Result;
use crate::records::listing_shards::newest_first;
use crate::records::run_removal::REMOVED;
use crate::records::runs::Runs;
use crate::records::schema::LISTING_INDEXES;
use crate::records::{Query, keys};
use crate::tenant::Tenant;

#[cfg(doc)]
use crate::records::runs::COMPLETED;

/// Most runs whose standing is read at a time.
const STANDINGS_AT_ONCE: usize = 100;

/// What a listing shows of a run beside its summary.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunStanding {
    /// In capitals, such as [`COMPLETED`].
    pub status: String,
    /// None while it is under way.
    pub closed_at: Option<UtcTime>,
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
    const fn time(&self) -> UtcTime {
        match self {
            Self::Until(time) | Self::At(time, _) => *time,
        }
    }

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

/// A run with work that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    /// Account and project of the run.
    pub tenant: Tenant,
    /// UUIDv7.
    pub run_id: String,
    /// Earlier than the time that was asked for.
    pub due_at: UtcTime,
}

impl Runs {
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

    /// The summaries, as JSON, of the runs that began from `from` on and no later than `until`, newest first:
    /// at most `most`, and whether there are more.
    pub async fn list(
        &self,
        tenant: &Tenant,
        index: &RunIndex,
        from: UtcTime,
        until: &RunPosition,
        most: usize,
    ) -> Result<(Vec<String>, bool)> {
        let [by_time, by_status, by_type, by_document] = LISTING_INDEXES;
        let (name, what) = match index {
            RunIndex::All => (by_time, None),
            RunIndex::Status(status) => (by_status, Some(("status", status))),
            RunIndex::Type(workflow_type) => (by_type, Some(("type", workflow_type))),
            RunIndex::Document(document) => (by_document, Some(("document", document))),
        };
        let pk = |shard| match what {
            None => keys::runs(tenant, shard),
            Some((what, value)) => keys::runs_by(tenant, shard, what, value),
        };
        let (low, high) = (from.to_string(), until.sort_key());
        if low > high {
            return Ok((Vec::new(), false));
        }
        let shards = self.shards.current(tenant).await?;
        let queries = newest_first(shards.shards_between(from, until.time()), pk, name, (&low, &high));
        let (page, more): (Vec<SummaryRecord>, _) = self.table.merged_page(&queries, most).await?;
        Ok((page.into_iter().map(|record| record.summary).collect(), more))
    }

    /// The runs of every project with work due by a time, the longest waiting first; at most `most` of each
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
