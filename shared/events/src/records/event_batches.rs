//! Stores the events of one request until each is written: a transaction holds fewer items than a request
//! may have events.
//!
//! The record is the commit: a request is accepted once it is written. Its events are written after it, by
//! the request itself or, if that ends early, by the sweeper. Writing one twice changes nothing.

use platform::clock::UtcTime;
use platform::error::Result;
use platform::records::keys::DueKind;
use platform::records::{Condition, Table, keys};
use platform::stored_json;
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

/// Time after which the sweeper takes over, in milliseconds.
const GRACE_MS: u64 = 30_000;

/// Stored form of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventBatch {
    pub id: String,
    pub channel_id: String,
    pub received_at: UtcTime,
    /// The events as JSON; stored compressed, and empty where they are in the bucket.
    #[serde(with = "stored_json::text")]
    pub events: String,
    /// Object key of the events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_key: Option<String>,
}

/// A batch whose events may not all be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueBatch {
    pub tenant: Tenant,
    pub id: String,
}

#[derive(Deserialize)]
struct DueRecord {
    pk: String,
}

#[derive(Clone)]
pub struct EventBatches {
    table: Table,
}

impl EventBatches {
    /// Stores batches in the table of events.
    pub const fn new(table: Table) -> Self {
        Self { table }
    }

    /// Adds a batch, whose id is new.
    pub async fn insert(&self, tenant: &Tenant, batch: &EventBatch) -> Result<()> {
        let due_at = batch.received_at.plus_ms(GRACE_MS);
        let key =
            keys::event_batch(tenant, &batch.id).with_due(DueKind::EventBatches.shard_of(&batch.id), due_at);
        let written = self.table.put(&key, batch, Condition::Absent).await?;
        written.took_effect("a batch of events").map(drop)
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<EventBatch>> {
        self.table.find(&keys::event_batch(tenant, id)).await
    }

    /// Removes a batch all of whose events are written.
    pub async fn remove(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let key = keys::event_batch(tenant, id);
        let removed = self.table.delete(&key, Condition::Present).await?;
        removed.took_effect("a batch of events").map(drop)
    }

    /// Lists batches that are due by a time, at most `most` of each partition of the index.
    pub async fn due(&self, by: UtcTime, most: usize) -> Result<Vec<DueBatch>> {
        let shards = DueKind::EventBatches.shards();
        let records: Vec<DueRecord> = self.table.due(shards, by, Some(most)).await?;
        let batches = records.into_iter().filter_map(|due| {
            let (tenant, id) = keys::event_batch_of(&due.pk)?;
            Some(DueBatch {
                tenant,
                id: id.to_owned(),
            })
        });
        Ok(batches.collect())
    }
}
