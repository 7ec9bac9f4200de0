//! Stores events of the platform in the envelope that subscriptions match and audits count.
//!
//! An event is written before its message is sent, and is due until it is matched, because the message may be
//! lost.

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::keys::DueKind;
use platform::records::logs::{KnownLogs, LogId, LogKind};
use platform::records::{Changes, Condition, Key, Query, Table, Transaction, Written, keys};
use platform::stored_json;
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::records::event_batches::EventBatches;
use crate::records::listing_shards::{ListingShards, ShardSchedule};
use crate::retention::{MIN_EVENT_DAYS, Retention};

/// Time after which the sweeper looks at an unmatched event, in milliseconds.
pub const MATCH_GRACE_MS: u64 = 30_000;
/// How long an idempotency key is remembered, in seconds.
const KEY_LIFE_SECONDS: i64 = MIN_EVENT_DAYS.cast_signed() * 24 * 3_600;

/// Stored form of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    pub id: String,
    /// Envelope, as the JSON text of the message on the bus; stored compressed.
    #[serde(with = "stored_json::text")]
    pub envelope: String,
    /// Object key of the details. Large details are in the bucket and missing from the envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details_key: Option<String>,
    /// Time of the first write.
    pub received_at: UtcTime,
    /// Owner of the private run that published the event. Only readers who may see that run see the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_to: Option<String>,
    /// Subscriptions that led to the event through the runs that they started, in order; empty for an event
    /// from elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<String>,
    /// Subscription that a test event is delivered to, whatever its filter says, and no other; None where
    /// the event is matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addressee: Option<String>,
    /// None until the event is matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched_at: Option<UtcTime>,
}

impl EventRecord {
    /// Whether this is the rest of an event that is being removed.
    pub(super) const fn is_hidden(&self) -> bool {
        self.envelope.is_empty()
    }
}

/// Idempotency key of an event that a channel received.
#[derive(Clone, Copy, Debug)]
pub struct IngestKey<'a> {
    pub channel_id: &'a str,
    /// Key from the sender, or from the channel's transform.
    pub key: &'a str,
}

/// Outcome of the write of an event with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// The event was written.
    New,
    /// The key belongs to another event, with this id.
    Before(String),
}

#[derive(Serialize, Deserialize)]
struct KeyRecord {
    event_id: String,
    expires_at: i64,
}

/// An unmatched event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueEvent {
    pub tenant: Tenant,
    pub event_id: String,
    pub due_at: UtcTime,
}

#[derive(Deserialize)]
struct DueRecord {
    pk: String,
    due_at: UtcTime,
}

/// Insertion of an event in the transaction of other records.
pub struct EventInsertion {
    table: Table,
    key: Key,
    pub event: EventRecord,
}

impl EventInsertion {
    /// Adds the insertion, which is refused if the event's id exists.
    pub fn add_to<'a>(&self, transaction: Transaction<'a>) -> Result<Transaction<'a>> {
        transaction.put_into(&self.table, &self.key, &self.event, Condition::Absent)
    }
}

#[derive(Clone)]
pub struct Events {
    pub(super) table: Table,
    shards: ListingShards,
    logs: KnownLogs,
    pub(super) retention: Retention,
}

impl Events {
    /// Stores events in the table of events.
    pub fn new(table: Table) -> Self {
        Self {
            shards: ListingShards::new(table.clone()),
            table,
            logs: KnownLogs::default(),
            retention: Retention::default(),
        }
    }

    /// Sets how long events are kept after they are matched and archived.
    #[must_use]
    pub fn retaining(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// Returns the batches that are stored beside the events.
    pub fn batches(&self) -> EventBatches {
        EventBatches::new(self.table.clone())
    }

    /// Ensures that the project's log has a head; must precede [`insert_with`](Self::insert_with).
    pub async fn prepare(&self, tenant: &Tenant, now: UtcTime) -> Result<()> {
        self.logs.ensure(&self.table, &log(tenant), now).await
    }

    /// Adds the insertion of an event to a transaction, which is refused if the event's id exists. The log
    /// must be [prepared](Self::prepare).
    pub async fn insert_with<'a>(
        &self,
        transaction: Transaction<'a>,
        tenant: &Tenant,
        event: &EventRecord,
    ) -> Result<Transaction<'a>> {
        self.insertion(tenant, event.clone()).await?.add_to(transaction)
    }

    /// Prepares the insertion of an event with other records. The log must be [prepared](Self::prepare).
    pub async fn insertion(&self, tenant: &Tenant, event: EventRecord) -> Result<EventInsertion> {
        let shards = self.shards.for_record(tenant, event.received_at).await?;
        Ok(EventInsertion {
            table: self.table.clone(),
            key: place(tenant, &shards, &event),
            event,
        })
    }

    /// Adds an event, unless its id exists.
    pub async fn insert(&self, tenant: &Tenant, event: &EventRecord) -> Result<()> {
        self.prepare(tenant, event.received_at).await?;
        let shards = self.shards.for_record(tenant, event.received_at).await?;
        let key = place(tenant, &shards, event);
        self.table
            .put(&key, event, Condition::Absent)
            .await?
            .took_effect("an event")
            .map(drop)
    }

    /// Adds an event with an idempotency key, unless one with the same key was added within the last 30 days.
    pub async fn insert_once(
        &self,
        tenant: &Tenant,
        event: &EventRecord,
        ingest: IngestKey<'_>,
    ) -> Result<Ingested> {
        let key = keys::ingested(
            tenant,
            ingest.channel_id,
            &hex::encode(Sha256::digest(ingest.key.as_bytes())),
        );
        self.prepare(tenant, event.received_at).await?;
        let now = event.received_at.as_seconds();
        let record = KeyRecord {
            event_id: event.id.clone(),
            expires_at: now + KEY_LIFE_SECONDS,
        };
        let transaction = self.table.transaction();
        let transaction = transaction.put(&key, &record, Condition::AbsentOrExpired(now))?;
        let transaction = self.insert_with(transaction, tenant, event).await?;
        match transaction.commit().await? {
            Written::Done => return Ok(Ingested::New),
            Written::Refused { .. } => {}
            Written::Contended => {
                return Err(Error::unavailable(
                    "too many events are sent under one idempotency key",
                ));
            }
        }
        let before: Option<KeyRecord> = self.table.find(&key).await?;
        let before = before.ok_or_else(|| Error::unavailable("an idempotency key has just expired"))?;
        Ok(Ingested::Before(before.event_id))
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<EventRecord>> {
        let found: Option<EventRecord> = self.table.find(&keys::event(tenant, id)).await?;
        Ok(found.filter(|event| !event.is_hidden()))
    }

    /// Moves an unmatched event to another due time.
    pub async fn postpone(&self, tenant: &Tenant, id: &str, until: UtcTime) -> Result<()> {
        let changes = Changes::default().set("due_at", &until)?;
        let key = keys::event(tenant, id);
        // An event matched meanwhile is not in the index, or is there with the time of its removal.
        let waits = Condition::Lacks("matched_at");
        self.table
            .update(&key, &changes, waits)
            .await?
            .took_effect("an event")
            .map(drop)
    }

    /// Lists the events of all projects that are unmatched and due by a time, longest waiting first. Returns
    /// at most `most` of each partition of the index; None returns all.
    pub async fn due(&self, by: UtcTime, most: Option<usize>) -> Result<Vec<DueEvent>> {
        self.due_in(DueKind::Events.shards(), by, most).await
    }

    /// Lists the events of these partitions of the index.
    pub(super) async fn due_in(
        &self,
        shards: impl IntoIterator<Item = String>,
        by: UtcTime,
        most: Option<usize>,
    ) -> Result<Vec<DueEvent>> {
        let records: Vec<DueRecord> = self.table.due(shards, by, most).await?;
        let events = records.into_iter().filter_map(|due| {
            let (tenant, event) = keys::event_of(&due.pk)?;
            Some(DueEvent {
                tenant,
                event_id: event.to_owned(),
                due_at: due.due_at,
            })
        });
        Ok(events.collect())
    }

    /// Counts unmatched events that are due after a time; at most `most` of each partition of the index.
    pub async fn due_after(&self, time: UtcTime, most: usize) -> Result<usize> {
        let queries = DueKind::Events
            .shards()
            .map(|shard| Query::due_after(&shard, time));
        let records: Vec<DueRecord> = self.table.read_all(queries, Some(most)).await?;
        Ok(records.len())
    }
}

fn log(tenant: &Tenant) -> LogId {
    LogId::new(tenant.account(), Some(tenant.project()), LogKind::Events)
}

/// In the index `due` until the event is matched, and in the tail of its log until it is archived.
fn place(tenant: &Tenant, shards: &ShardSchedule, event: &EventRecord) -> Key {
    let shard = shards.shard_of(&event.id, event.received_at);
    let due_at = event.received_at.plus_ms(MATCH_GRACE_MS);
    let (pk, sk) = log(tenant).tail_place(event.received_at, &event.id, shard);
    keys::event(tenant, &event.id)
        .with_due(DueKind::Events.shard_of(&event.id), due_at)
        .with_gsi1(pk, sk)
}
