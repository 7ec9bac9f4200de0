//! Stores deliveries: the match of an event with a subscription, and its outcome.
//!
//! A delivery is written with the start of its run, and changed with that run's own writes, so that the two
//! always agree. A change does not read the record first, so it updates single attributes.

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::schema::{EXPIRES_AT, LISTING_INDEXES};
use platform::records::{Changes, Condition, Key, Order, Table, Transaction, Written, keys};
use platform::stored_json;
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::records::delivery_status::DeliveryStatus;
use crate::records::events::EventInsertion;
use crate::records::listing_shards::{ListingShards, ShardSchedule, in_order};
use crate::retention::Retention;
use crate::target::WEBHOOK;

/// Shard of the deliveries of one event, of which there is one for each subscription at most.
const OF_ONE_EVENT: u16 = 0;
/// Number of deliveries that one read asks for.
const READ_AT_ONCE: usize = 100;

/// An attempt of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryAttempt {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Start of the attempt.
    pub started_at: UtcTime,
    /// Time until the answer or the failure, in milliseconds.
    pub duration_ms: u64,
    /// HTTP status of the receiver's answer; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 999))]
    pub response_status: Option<u16>,
    /// First 4 KiB of the answer's body; bytes that are not UTF-8 are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// Why the attempt failed; absent where it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Outcome of a semantic condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SemanticEvaluation {
    /// Outcome: `matched`, `not_matched` or `error`.
    pub status: String,
    /// Mode of the condition: `enforce` or `shadow`.
    pub mode: String,
    /// Kind of the evaluator: `interaction` or `agent`.
    pub evaluator_type: String,
    /// Verdict; absent where the evaluation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<bool>,
    /// Explanation of the verdict by the evaluator; at most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Why the evaluation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A delivery of an event to the target of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delivery")]
pub struct DeliveryRecord {
    /// Delivery intent id, the same in every attempt.
    pub id: String,
    /// Id of the delivered event.
    pub event_id: String,
    /// Category of the event, such as `external`.
    pub event_category: String,
    /// Action of the event, such as `create`.
    pub action: String,
    /// Kind of the resource that the event is about.
    pub resource_type: String,
    /// Id of the resource that the event is about.
    pub resource_id: String,
    /// Origin of the event, such as `external:github`.
    pub source: String,
    /// Id of the subscription that matched.
    pub subscription_id: String,
    /// Name of the subscription when it matched.
    pub subscription_name: String,
    /// Kind of the target: `webhook`, `workflow`, `agent` or `process`.
    pub target_type: String,
    /// State of the delivery.
    pub status: DeliveryStatus,
    /// Number of attempts that have ended.
    pub attempt_count: u32,
    /// Attempts that have ended, oldest first.
    pub attempts: Vec<DeliveryAttempt>,
    /// Time of the next attempt; present while one is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<UtcTime>,
    /// Why the last attempt failed, or why none follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Workflow id of the run that carries out the delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Run id of the run that carries out the delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_run_id: Option<String>,
    /// Outcome of the semantic condition; present where the subscription has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_evaluation: Option<SemanticEvaluation>,
    /// Owner of the run that carries out the delivery, where that run is private; left out otherwise. Only
    /// the owner and callers with `workflow_superadmin` see such a delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_to: Option<String>,
    /// Time at which the event matched the subscription.
    pub created_at: UtcTime,
    /// Time of the last change of this record.
    pub updated_at: UtcTime,
}

/// Attributes of a delivery that never change; the indexes carry them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverySummary {
    pub id: String,
    /// Time of the match.
    pub created_at: UtcTime,
    pub event_id: String,
    pub event_category: String,
    pub action: String,
    pub resource_type: String,
    pub resource_id: String,
    pub source: String,
    pub subscription_id: String,
    pub subscription_name: String,
    pub target_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_to: Option<String>,
    /// Workflow id of the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
}

/// A delivery as it is stored: what never changes compressed, and what changes in attributes of their own, so
/// that most deliveries take one kilobyte.
#[derive(Serialize, Deserialize)]
struct StoredDelivery {
    #[serde(with = "stored_json::value")]
    summary: DeliverySummary,
    status: DeliveryStatus,
    attempt_count: u32,
    #[serde(default)]
    attempts: Vec<DeliveryAttempt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<UtcTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    /// Workflow id of the last run, if it is not that of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow_run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    semantic_evaluation: Option<SemanticEvaluation>,
    updated_at: UtcTime,
    /// In Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl DeliveryRecord {
    /// Returns the record as it is after a change.
    #[must_use]
    pub fn after(mut self, change: &DeliveryChange) -> Self {
        self.attempts.extend(change.attempts.iter().cloned());
        if let Some(last) = change.attempts.last() {
            self.attempt_count = last.attempt;
        }
        self.status = change.status;
        self.updated_at = change.at;
        self.next_attempt_at = change.next_attempt_at;
        self.last_error = match change.status {
            DeliveryStatus::Succeeded => change.last_error.clone(),
            _ => change.last_error.clone().or(self.last_error),
        };
        self
    }

    pub fn from_stored(item: Value) -> Result<Self> {
        let stored: StoredDelivery = serde_json::from_value(item).map_err(Error::internal)?;
        Ok(stored.record())
    }
}

impl StoredDelivery {
    fn new(record: &DeliveryRecord, expires_at: Option<i64>) -> Self {
        let record = record.clone();
        Self {
            summary: DeliverySummary {
                id: record.id,
                created_at: record.created_at,
                event_id: record.event_id,
                event_category: record.event_category,
                action: record.action,
                resource_type: record.resource_type,
                resource_id: record.resource_id,
                source: record.source,
                subscription_id: record.subscription_id,
                subscription_name: record.subscription_name,
                target_type: record.target_type,
                private_to: record.private_to,
                workflow_id: record.workflow_id,
            },
            status: record.status,
            attempt_count: record.attempt_count,
            attempts: record.attempts,
            next_attempt_at: record.next_attempt_at,
            last_error: record.last_error,
            workflow_id: None,
            workflow_run_id: record.workflow_run_id,
            semantic_evaluation: record.semantic_evaluation,
            updated_at: record.updated_at,
            expires_at,
        }
    }

    fn record(self) -> DeliveryRecord {
        let summary = self.summary;
        DeliveryRecord {
            id: summary.id,
            event_id: summary.event_id,
            event_category: summary.event_category,
            action: summary.action,
            resource_type: summary.resource_type,
            resource_id: summary.resource_id,
            source: summary.source,
            subscription_id: summary.subscription_id,
            subscription_name: summary.subscription_name,
            target_type: summary.target_type,
            status: self.status,
            attempt_count: self.attempt_count,
            attempts: self.attempts,
            next_attempt_at: self.next_attempt_at,
            last_error: self.last_error,
            workflow_id: self.workflow_id.or(summary.workflow_id),
            workflow_run_id: self.workflow_run_id,
            semantic_evaluation: self.semantic_evaluation,
            private_to: summary.private_to,
            created_at: summary.created_at,
            updated_at: self.updated_at,
        }
    }
}

#[derive(Deserialize)]
struct StoredSummary {
    #[serde(with = "stored_json::value")]
    summary: DeliverySummary,
}

/// A change of a delivery, written together with its run.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryChange {
    pub id: String,
    /// Determines its place in the listings.
    pub created_at: UtcTime,
    pub status: DeliveryStatus,
    pub at: UtcTime,
    /// Attempts that have ended since the last change.
    pub attempts: Vec<DeliveryAttempt>,
    pub next_attempt_at: Option<UtcTime>,
    /// Why the last attempt failed, or why no attempt follows. None keeps the stored error, unless the
    /// delivery succeeded.
    pub last_error: Option<String>,
    /// None keeps the stored outcome.
    pub semantic_evaluation: Option<Box<SemanticEvaluation>>,
    /// Workflow id of the run that carries out the delivery, if it changes.
    pub workflow_id: Option<String>,
    /// Run that carries out the delivery now.
    pub workflow_run_id: String,
}

impl DeliveryChange {
    fn changes(&self, tenant: &Tenant, shards: &ShardSchedule, expires_at: Option<i64>) -> Result<Changes> {
        let [_, by_status, ..] = LISTING_INDEXES;
        let mut changes = Changes::default()
            .set("status", &self.status)?
            .set("updated_at", &self.at)?
            .set("workflow_run_id", &self.workflow_run_id)?
            .set_or_remove("next_attempt_at", self.next_attempt_at.as_ref())?
            .set_or_remove(EXPIRES_AT, expires_at.as_ref())?
            .append("attempts", &self.attempts)?;
        // A redelivery may be too old to be found among the newest deliveries, so it returns to the index.
        changes = match self.status {
            DeliveryStatus::Succeeded => changes.leave(by_status),
            status => changes.place(
                by_status,
                keys::deliveries_by(
                    tenant,
                    shards.shard_of(&self.id, self.created_at),
                    "status",
                    status.as_str(),
                ),
                keys::delivery_time(self.created_at, &self.id),
            ),
        };
        if let Some(workflow_id) = &self.workflow_id {
            changes = changes.set("workflow_id", workflow_id)?;
        }
        if let Some(evaluation) = &self.semantic_evaluation {
            changes = changes.set("semantic_evaluation", evaluation.as_ref())?;
        }
        if let Some(last) = self.attempts.last() {
            changes = changes.set("attempt_count", &last.attempt)?;
        }
        match &self.last_error {
            Some(error) => changes.set("last_error", error),
            None if self.status == DeliveryStatus::Succeeded => Ok(changes.remove("last_error")),
            None => Ok(changes),
        }
    }
}

/// Write of a delivery in the commit of its run.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryWrite {
    Insert(Box<DeliveryRecord>),
    Change(DeliveryChange),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryIndex {
    /// All deliveries of the project.
    All,
    /// Deliveries with this status. Contains no succeeded ones, and no webhook deliveries that wait for their
    /// first attempt.
    Status(DeliveryStatus),
    Subscription(String),
    Event(String),
}

#[derive(Clone)]
pub struct Deliveries {
    table: Table,
    shards: ListingShards,
    retention: Retention,
}

impl Deliveries {
    pub fn new(table: Table) -> Self {
        Self {
            shards: ListingShards::new(table.clone()),
            table,
            retention: Retention::default(),
        }
    }

    /// Sets how long ended deliveries are kept.
    #[must_use]
    pub fn retaining(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    pub const fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Returns when a delivery expires, in Unix seconds; None until it has ended.
    fn expiry(&self, status: DeliveryStatus, at: UtcTime) -> Option<i64> {
        let until = self.retention.delivery_until(at);
        status.is_final().then(|| until.as_seconds())
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<DeliveryRecord>> {
        let stored: Option<StoredDelivery> = self.table.find(&keys::delivery(tenant, id)).await?;
        Ok(stored.map(StoredDelivery::record))
    }

    /// Returns a delivery that has not expired; DynamoDB may keep one for days longer.
    pub async fn find_unexpired(
        &self,
        tenant: &Tenant,
        id: &str,
        now: UtcTime,
    ) -> Result<Option<DeliveryRecord>> {
        let stored: Option<StoredDelivery> = self.table.find(&keys::delivery(tenant, id)).await?;
        let is_unexpired = |stored: &StoredDelivery| stored.expires_at.is_none_or(|at| at > now.as_seconds());
        Ok(stored.filter(is_unexpired).map(StoredDelivery::record))
    }

    /// Returns the deliveries with these ids that have not expired, in the same order.
    pub async fn find_all_unexpired<'a>(
        &self,
        tenant: &Tenant,
        ids: impl Iterator<Item = &'a str>,
        now: UtcTime,
    ) -> Result<Vec<DeliveryRecord>> {
        let keys: Vec<Key> = ids.map(|id| keys::delivery(tenant, id)).collect();
        let mut all = Vec::with_capacity(keys.len());
        for part in keys.chunks(READ_AT_ONCE) {
            let records: Vec<Option<StoredDelivery>> = self.table.find_many(part).await?;
            let is_unexpired =
                |stored: &StoredDelivery| stored.expires_at.is_none_or(|at| at > now.as_seconds());
            let unexpired = records.into_iter().flatten().filter(is_unexpired);
            all.extend(unexpired.map(StoredDelivery::record));
        }
        Ok(all)
    }

    /// 404 for a missing delivery.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<DeliveryRecord> {
        let found = self.find(tenant, id).await?;
        found.ok_or_else(|| Error::not_found("delivery", id))
    }

    /// Adds a delivery, unless its id exists; returns whether it was added.
    pub async fn insert(&self, tenant: &Tenant, record: &DeliveryRecord) -> Result<bool> {
        let shards = self.shards.for_record(tenant, record.created_at).await?;
        let key = place(tenant, &shards, record);
        let written = self
            .table
            .put(&key, &self.stored(record), Condition::Absent)
            .await?;
        written.took_effect("a delivery")
    }

    /// Adds a delivery with an event about it, unless the delivery's id exists; returns whether it was added.
    pub async fn insert_with(
        &self,
        tenant: &Tenant,
        record: &DeliveryRecord,
        event: &EventInsertion,
    ) -> Result<bool> {
        let write = DeliveryWrite::Insert(Box::new(record.clone()));
        let transaction = event.add_to(self.table.transaction())?;
        match self
            .write_with(transaction, tenant, &write)
            .await?
            .commit()
            .await?
        {
            Written::Done => Ok(true),
            Written::Refused { .. } => Ok(false),
            Written::Contended => Err(Error::unavailable("a delivery is written at the same time")),
        }
    }

    /// Adds the write of a delivery to a transaction. The insertion of an existing id is refused.
    pub async fn write_with<'a>(
        &self,
        transaction: Transaction<'a>,
        tenant: &Tenant,
        write: &DeliveryWrite,
    ) -> Result<Transaction<'a>> {
        let created = match write {
            DeliveryWrite::Insert(record) => record.created_at,
            DeliveryWrite::Change(change) => change.created_at,
        };
        let shards = &self.shards.for_record(tenant, created).await?;
        match write {
            DeliveryWrite::Insert(record) => transaction.put_into(
                &self.table,
                &place(tenant, shards, record),
                &self.stored(record),
                Condition::Absent,
            ),
            DeliveryWrite::Change(change) => transaction.update_in(
                &self.table,
                &keys::delivery(tenant, &change.id),
                &change.changes(tenant, shards, self.expiry(change.status, change.at))?,
                Condition::Present,
            ),
        }
    }

    /// Lists up to `most` deliveries, newest first, created from `from` on and up to `until`, a time with the
    /// optional id of a delivery at that time. Also returns whether there are more.
    pub async fn list(
        &self,
        tenant: &Tenant,
        index: &DeliveryIndex,
        from: UtcTime,
        until: (UtcTime, Option<&str>),
        most: usize,
    ) -> Result<(Vec<DeliverySummary>, bool)> {
        // `~` sorts after every id.
        let high = keys::delivery_time(until.0, until.1.unwrap_or("~"));
        let range = (from, until.0);
        self.list_between(
            tenant,
            index,
            range,
            (from.to_string(), high),
            (Order::Descending, most),
        )
        .await
    }

    /// Lists the deliveries of an index from a position to a time, oldest first, like [`list`](Self::list).
    pub async fn list_oldest(
        &self,
        tenant: &Tenant,
        index: &DeliveryIndex,
        from: (UtcTime, Option<&str>),
        until: UtcTime,
        most: usize,
    ) -> Result<(Vec<DeliverySummary>, bool)> {
        let low = match from.1 {
            Some(id) => keys::delivery_time(from.0, id),
            None => from.0.to_string(),
        };
        let high = keys::delivery_time(until, "~");
        self.list_between(
            tenant,
            index,
            (from.0, until),
            (low, high),
            (Order::Ascending, most),
        )
        .await
    }

    async fn list_between(
        &self,
        tenant: &Tenant,
        index: &DeliveryIndex,
        (from, until): (UtcTime, UtcTime),
        (low, high): (String, String),
        (order, most): (Order, usize),
    ) -> Result<(Vec<DeliverySummary>, bool)> {
        let [by_time, by_status, by_subscription, by_event] = LISTING_INDEXES;
        let (name, what) = match index {
            DeliveryIndex::All => (by_time, None),
            DeliveryIndex::Status(status) => (by_status, Some(("status", status.as_str()))),
            DeliveryIndex::Subscription(id) => (by_subscription, Some(("subscription", id.as_str()))),
            DeliveryIndex::Event(id) => (by_event, Some(("event", id.as_str()))),
        };
        let pk = |shard| match what {
            None => keys::deliveries(tenant, shard),
            Some((what, value)) => keys::deliveries_by(tenant, shard, what, value),
        };
        if low > high {
            return Ok((Vec::new(), false));
        }
        let shards = match index {
            DeliveryIndex::Event(_) => OF_ONE_EVENT..OF_ONE_EVENT + 1,
            _ => self.shards.current(tenant).await?.shards_between(from, until),
        };
        let queries = in_order(shards, pk, name, (&low, &high), order);
        let (page, more): (Vec<StoredSummary>, _) = self.table.merged_page(&queries, most).await?;
        Ok((page.into_iter().map(|stored| stored.summary).collect(), more))
    }

    fn stored(&self, record: &DeliveryRecord) -> StoredDelivery {
        StoredDelivery::new(record, self.expiry(record.status, record.updated_at))
    }
}

fn place(tenant: &Tenant, shards: &ShardSchedule, record: &DeliveryRecord) -> Key {
    let shard = shards.shard_of(&record.id, record.created_at);
    let [by_time, by_status, by_subscription, by_event] = LISTING_INDEXES;
    let by = |what, value: &str| keys::deliveries_by(tenant, shard, what, value);
    let mut key = keys::delivery(tenant, &record.id)
        .listed_at(keys::delivery_time(record.created_at, &record.id))
        .with_index(by_time, keys::deliveries(tenant, shard));
    // Most deliveries succeed, and those to webhooks are pending only briefly. Neither is worth an index
    // write.
    let is_indexed = match record.status {
        DeliveryStatus::Succeeded => false,
        DeliveryStatus::Pending => record.target_type != WEBHOOK,
        _ => true,
    };
    if is_indexed {
        key = key.with_index(by_status, by("status", record.status.as_str()));
    }
    key.with_index(by_subscription, by("subscription", &record.subscription_id))
        .with_index(
            by_event,
            keys::deliveries_by(tenant, OF_ONE_EVENT, "event", &record.event_id),
        )
}
