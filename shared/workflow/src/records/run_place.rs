//! Places a run in the listings, and in the index of due work.
//!
//! The listing by status lacks completed runs, because most runs complete: a write of the index is saved, and
//! a search for completed runs reads another listing. The listing by time lacks those of the most frequent
//! type, which it reads from the listing by type.

use events::records::listing_shards::ShardSchedule;
use platform::clock::UtcTime;
use platform::queue::Priority;
use platform::records::keys::DueKind;
use platform::records::schema::{BY_RULE, LISTING_INDEXES};
use platform::records::{Key, keys};
use platform::tenant::Tenant;

use super::runs::COMPLETED;

/// Type of the runs of webhooks, which outnumber all others.
pub const FREQUENT_TYPE: &str = "WebhookDelivery";

/// Type of the runs that wait for their turn to start another.
pub const QUEUED_TYPE: &str = "QueuedStart";

/// A run's places in the listings, and its due time for the sweeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlace {
    pub run_id: String,
    pub started_at: UtcTime,
    pub status: String,
    pub workflow_type: String,
    /// Document that the run is about.
    pub document_id: Option<String>,
    /// Subscription that started the run.
    pub rule_id: Option<String>,
    pub priority: Priority,
    /// Time from which on the sweeper finds the run; None if no work is unfinished.
    pub due_at: Option<UtcTime>,
    /// Time at which the run must be removed in steps.
    pub removed_at: Option<UtcTime>,
}

impl RunPlace {
    /// Returns the key of the run's record, with its places.
    pub fn key(&self, tenant: &Tenant, shards: &ShardSchedule) -> Key {
        let shard = shards.shard_of(&self.run_id, self.started_at);
        let runs = keys::runs(tenant, shard);
        let by = |what, value: &str| keys::runs_by(&runs, what, value);
        let [by_time, by_status, by_type, by_document] = LISTING_INDEXES;
        let mut key = keys::run(tenant, &self.run_id)
            .listed_at(keys::run_time(self.started_at, &self.run_id))
            .with_index(by_type, by("type", &self.workflow_type));
        if self.workflow_type != FREQUENT_TYPE {
            key = key.with_index(by_time, &runs);
        }
        if self.status != COMPLETED {
            key = key.with_index(by_status, by("status", &self.status));
        }
        if let Some(document) = &self.document_id {
            key = key.with_index(by_document, by("document", document));
        }
        if let Some(rule) = &self.rule_id {
            key = key.with_index(BY_RULE, by("rule", rule));
        }
        match (self.due_at, self.removed_at) {
            (Some(at), _) => key.with_due(DueKind::Runs(self.priority).shard_of(&self.run_id), at),
            (None, Some(at)) => key.with_due(DueKind::RunRemovals.shard_of(&self.run_id), at),
            (None, None) => key,
        }
    }
}
