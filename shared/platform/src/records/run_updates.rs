//! The update messages of workflow runs: numbered under a condition of their own, so that posting one does not disturb the run.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::records::runs::Runs;
use crate::records::{Condition, Order, Query, Transaction, keys};
use crate::tenant::Tenant;

/// How long update messages are kept, in days: the contract's number.
pub const UPDATE_RETENTION_DAYS: i64 = 90;

/// The greatest number that an update message can have: ten digits of its key.
pub const MAX_UPDATE_NUMBER: u64 = 9_999_999_999;

/// The numbers of a run's update messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatesHead {
    /// The number of the last one; 0 before the first.
    pub last: u64,
    /// Its timestamp, in milliseconds since the Unix epoch.
    pub last_timestamp: i64,
    /// When it goes, in seconds since the Unix epoch: with the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

/// Update messages that came together, as many as go into one record: a transaction takes 100 records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdatesRecord {
    /// The number of the first among those of its run, from 1.
    pub first: u64,
    /// The number of the last, which the record is found by: what comes after a number begins in the first record that ends after it.
    pub last: u64,
    /// The messages, as a JSON array.
    pub messages: String,
    /// When they go, in seconds since the Unix epoch.
    pub expires_at: i64,
}

/// The update messages that a run gets.
#[derive(Clone, Debug)]
pub struct UpdatesWrite {
    /// The run.
    pub run_id: String,
    /// The numbers as they were read.
    pub expected: UpdatesHead,
    /// The messages, numbered on.
    pub records: Vec<UpdatesRecord>,
    /// The numbers afterwards.
    pub head: UpdatesHead,
}

impl Runs {
    /// The numbers of a run's update messages.
    pub async fn updates_head(&self, tenant: &Tenant, run: &str) -> Result<UpdatesHead> {
        let head = self.table.find(&keys::run_updates(tenant, run)).await?;
        Ok(head.unwrap_or_default())
    }

    /// The newest update messages, oldest first: at least `most` of them if there are so many.
    pub async fn newest_updates(&self, tenant: &Tenant, run: &str, most: u64) -> Result<Vec<UpdatesRecord>> {
        let query = updates_after(tenant, run, 0).order(Order::Descending);
        let page_size = usize::try_from(most).unwrap_or(usize::MAX);
        // A page of the table ends at 1 MB, however few records it has then.
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

    /// The next records with update messages after the one of this number, oldest first; none only where there are none.
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
