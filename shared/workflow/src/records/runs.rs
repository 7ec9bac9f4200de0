//! Stores workflow runs: their states, and the events that a state no longer contains, both as JSON texts.
//! Every write of a run requires the `version` that was read.

use events::records::deliveries::{Deliveries, DeliveryRecord};
use events::records::events::Events;
use events::records::listing_shards::ListingShards;
use events::retention::Retention;
use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::{Order, Query, Table, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::status::RunStatus;

/// Status of most runs. The index by status omits it: a listing of completed runs reads another index.
pub const COMPLETED: &str = RunStatus::Completed.as_str();
/// Status of the mark that replaces a run during its removal.
pub const REMOVED: &str = "REMOVED";

/// State of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub status: String,
    /// Increases by one with every write; each write requires the version that was read.
    pub version: u64,
    /// State, as compressed JSON.
    pub state: String,
    /// Immutable attributes that a listing shows, as compressed JSON. A separate attribute, because the
    /// indexes carry it; changing attributes are left out, or each change would write to each index.
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

#[derive(Clone)]
pub struct Runs {
    pub(super) table: Table,
    pub(super) shards: ListingShards,
    pub(super) retention: Retention,
    pub(super) events: Events,
    pub(super) deliveries: Deliveries,
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

    /// Returns the delivery that a run carries out.
    pub async fn find_delivery(&self, tenant: &Tenant, id: &str) -> Result<Option<DeliveryRecord>> {
        self.deliveries.find(tenant, id).await
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
}
