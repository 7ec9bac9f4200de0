//! Stores update messages of workflow runs. Their numbers have their own condition, so a new message does not
//! conflict with a write of the run. Messages that are written together share an item.

use platform::error::Result;
use platform::records::{Condition, Order, Query, Transaction, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use super::runs::Runs;

/// How long update messages are kept, in days; fixed by the contract.
pub const UPDATE_RETENTION_DAYS: i64 = 90;

/// Maximum number of an update message: ten digits in its key.
pub const MAX_UPDATE_NUMBER: u64 = 9_999_999_999;

/// Numbering of a run's update messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatesHead {
    /// Number of the last message; 0 before the first.
    pub last: u64,
    /// Timestamp of the last message, in milliseconds since the Unix epoch.
    pub last_timestamp: i64,
    /// Expiry, in seconds since the Unix epoch: that of the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// Update messages that arrived together, as many as fit into one record: a transaction writes at most 100
/// records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdatesRecord {
    /// Number of the first message, counted from 1 in its run.
    pub first: u64,
    /// Number of the last message, which is part of the key: the messages after a number start in the first
    /// record that ends after it.
    pub last: u64,
    /// Messages, as a JSON array.
    pub messages: String,
    /// Expiry, in seconds since the Unix epoch.
    pub expires_at: i64,
}

/// New update messages of a run.
#[derive(Clone, Debug)]
pub struct UpdatesWrite {
    pub run_id: String,
    /// Numbering as it was read.
    pub expected: UpdatesHead,
    /// Messages, numbered from the read numbering on.
    pub records: Vec<UpdatesRecord>,
    /// Numbering after the write.
    pub head: UpdatesHead,
}

impl Runs {
    pub async fn updates_head(&self, tenant: &Tenant, run: &str) -> Result<UpdatesHead> {
        let head = self.table.find(&keys::run_updates(tenant, run)).await?;
        Ok(head.unwrap_or_default())
    }

    /// Returns whether a write of update messages happened.
    pub async fn has_updates(&self, tenant: &Tenant, updates: &UpdatesWrite) -> Result<bool> {
        let before = updates.records.first().map_or(0, |record| record.first - 1);
        let most = updates.records.len();
        Ok(self.next_updates(tenant, &updates.run_id, before, most).await? == updates.records)
    }

    /// Returns the newest update messages, oldest first: at least `most` messages if there are that many.
    pub async fn newest_updates(&self, tenant: &Tenant, run: &str, most: u64) -> Result<Vec<UpdatesRecord>> {
        let query = updates_after(tenant, run, 0).order(Order::Descending);
        let page_size = usize::try_from(most).unwrap_or(usize::MAX);
        // A page of the table ends at 1 MB, with however few records.
        let (mut records, mut start) = (Vec::<UpdatesRecord>::new(), None);
        loop {
            let (page, next) = self.table.page(&query, page_size, start).await?;
            records.extend(page);
            let found: u64 = records.iter().map(|record| record.last + 1 - record.first).sum();
            if next.is_none() || found >= most {
                records.reverse();
                return Ok(records);
            }
            start = next;
        }
    }

    /// Returns the next records with update messages after this number, oldest first; empty only if there are
    /// none.
    pub async fn next_updates(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<UpdatesRecord>> {
        let (page, _) = self
            .table
            .page(&updates_after(tenant, run, after), most, None)
            .await?;
        Ok(page)
    }
}

fn updates_after(tenant: &Tenant, run: &str, number: u64) -> Query {
    Query::partition(keys::run_parts(tenant, run)).between(
        keys::run_update(tenant, run, number + 1).sk,
        keys::run_update(tenant, run, MAX_UPDATE_NUMBER).sk,
    )
}

/// Adds update messages to a transaction.
pub(super) fn with_updates<'a>(
    mut transaction: Transaction<'a>,
    tenant: &Tenant,
    updates: &UpdatesWrite,
) -> Result<Transaction<'a>> {
    let key = keys::run_updates(tenant, &updates.run_id);
    let condition = match updates.expected.last {
        0 => Condition::Absent,
        last => Condition::NumberIs("last", last),
    };
    transaction = transaction.put(&key, &updates.head, condition)?;
    for record in &updates.records {
        let key = keys::run_update(tenant, &updates.run_id, record.last);
        transaction = transaction.put(&key, record, Condition::Absent)?;
    }
    Ok(transaction)
}
