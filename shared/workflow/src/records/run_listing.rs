//! Lists runs, and those with due work.

use events::records::listing_shards::in_order;
use platform::clock::UtcTime;
use platform::error::Result;
use platform::queue::Priority;
use platform::records::keys::DueKind;
use platform::records::schema::{BY_RULE, LISTING_INDEXES};
use platform::records::{Order, keys};
use platform::tenant::Tenant;
use serde::Deserialize;
use tracing::warn;

use super::run_place::FREQUENT_TYPE;
#[cfg(doc)]
use super::runs::COMPLETED;
use super::runs::{REMOVED, Runs};

/// Number of runs whose standing is read at a time.
const STANDINGS_AT_ONCE: usize = 100;

/// Attributes of a run that a listing shows besides its summary.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RunStanding {
    /// Upper case, such as [`COMPLETED`].
    pub status: String,
    /// None while the run is under way.
    pub closed_at: Option<UtcTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunIndex {
    /// All runs of the project.
    All,
    /// Runs with this status, which must not be [`COMPLETED`].
    Status(String),
    Type(String),
    Document(String),
    /// Runs that this subscription started.
    Rule(String),
}

impl RunIndex {
    /// Returns the value that the runs share.
    pub fn value(&self) -> &str {
        match self {
            Self::All => "",
            Self::Status(value) | Self::Type(value) | Self::Document(value) | Self::Rule(value) => value,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPosition {
    /// Runs that started at this time or before.
    Until(UtcTime),
    /// This run, which started at this time, and the runs before it.
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
            // `~` sorts after every id.
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

/// A run with due work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    pub tenant: Tenant,
    /// UUIDv7.
    pub run_id: String,
    /// Earlier than the requested time.
    pub due_at: UtcTime,
    pub priority: Priority,
}

impl Runs {
    /// Returns the standings of runs in their order; None for runs that no longer exist.
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

    /// Lists the stored summaries of up to `most` runs that started between `from` and `until`, newest first.
    /// Also returns whether there are more.
    pub async fn list(
        &self,
        tenant: &Tenant,
        index: &RunIndex,
        from: UtcTime,
        until: &RunPosition,
        most: usize,
    ) -> Result<(Vec<String>, bool)> {
        let [by_time, by_status, by_type, by_document] = LISTING_INDEXES;
        let frequent = FREQUENT_TYPE.to_owned();
        let parts = match index {
            RunIndex::All => vec![(by_time, None), (by_type, Some(("type", &frequent)))],
            RunIndex::Status(status) => vec![(by_status, Some(("status", status)))],
            RunIndex::Type(workflow_type) => vec![(by_type, Some(("type", workflow_type)))],
            RunIndex::Document(document) => vec![(by_document, Some(("document", document)))],
            RunIndex::Rule(rule) => vec![(BY_RULE, Some(("rule", rule)))],
        };
        let (low, high) = (from.to_string(), until.sort_key());
        if low > high {
            return Ok((Vec::new(), false));
        }
        let shards = self.shards.current(tenant).await?;
        let queries = parts.into_iter().flat_map(|(name, what)| {
            let pk = |shard| match what {
                None => keys::runs(tenant, shard),
                Some((what, value)) => keys::runs_by(&keys::runs(tenant, shard), what, value),
            };
            in_order(
                shards.shards_between(from, until.time()),
                pk,
                name,
                (&low, &high),
                Order::Descending,
            )
        });
        let queries: Vec<_> = queries.collect();
        let (page, more): (Vec<SummaryRecord>, _) = self.table.merged_page(&queries, most).await?;
        Ok((page.into_iter().map(|record| record.summary).collect(), more))
    }

    /// Lists the runs of all projects with work due by a time, by priority, longest waiting first. Returns at
    /// most `most` of each partition of the index; None returns all. With a maximum, a priority that cannot
    /// be read is left out unless none can: the next look may find it.
    pub async fn due(&self, by: UtcTime, most: Option<usize>) -> Result<Vec<DueRun>> {
        let [high, normal, low] =
            Priority::ALL.map(|priority| self.due_in(DueKind::Runs(priority), by, most));
        let (high, normal, low) = futures::future::join3(high, normal, low).await;
        let parts = [high, normal, low];
        if most.is_none() || parts.iter().all(Result::is_err) {
            return Ok(parts.into_iter().collect::<Result<Vec<_>>>()?.concat());
        }
        let mut runs = Vec::new();
        for part in parts {
            match part {
                Ok(part) => runs.extend(part),
                Err(cause) => warn!(%cause, "the due runs of a priority were not looked for"),
            }
        }
        Ok(runs)
    }

    /// Lists the runs with this kind of work.
    pub(super) async fn due_in(
        &self,
        kind: DueKind,
        by: UtcTime,
        most: Option<usize>,
    ) -> Result<Vec<DueRun>> {
        let priority = match kind {
            DueKind::Runs(priority) => priority,
            _ => Priority::Normal,
        };
        let records: Vec<DueRecord> = self.table.due(kind.shards(), by, most).await?;
        let runs = records.into_iter().filter_map(|due| {
            let (tenant, run) = keys::run_of(&due.pk)?;
            Some(DueRun {
                tenant,
                run_id: run.to_owned(),
                due_at: due.due_at,
                priority,
            })
        });
        Ok(runs.collect())
    }
}
