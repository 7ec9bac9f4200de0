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
}

/// An update message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateRecord {
    /// Its number among those of its run, from 1.
    pub number: u64,
    /// The message, as JSON.
    pub message: String,
    /// When it goes, in seconds since the Unix epoch.
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
    pub messages: Vec<UpdateRecord>,
    /// The numbers afterwards.
    pub head: UpdatesHead,
}

impl Runs {
    /// The numbers of a run's update messages.
    pub async fn updates_head(&self, tenant: &Tenant, run: &str) -> Result<UpdatesHead> {
        let head = self.table.find(&keys::run_updates(tenant, run)).await?;
        Ok(head.unwrap_or_default())
    }

    /// The update messages after the one of this number, oldest first; at most `most` of them, the newest.
    pub async fn updates(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        most: i32,
    ) -> Result<Vec<UpdateRecord>> {
        let query = Query::partition(keys::run_parts(tenant, run))
            .between(
                keys::run_update(tenant, run, after + 1).sk,
                keys::run_update(tenant, run, MAX_UPDATE_NUMBER).sk,
            )
            .order(Order::Descending);
        // A page of the table ends at 1 MB, however few records it has then.
        let (mut records, mut start) = (Vec::<UpdateRecord>::new(), None);
        loop {
            let left = most - i32::try_from(records.len()).unwrap_or(most);
            let (page, next) = self.table.page(&query, left, start).await?;
            records.extend(page);
            if next.is_none() || records.len() >= usize::try_from(most).unwrap_or(0) {
                records.reverse();
                return Ok(records);
            }
            start = next;
        }
    }

    /// The next update messages after the one of this number, oldest first; none only where there are none.
    pub async fn next_updates(
        &self,
        tenant: &Tenant,
        run: &str,
        after: u64,
        most: i32,
    ) -> Result<Vec<UpdateRecord>> {
        let query = Query::partition(keys::run_parts(tenant, run)).between(
            keys::run_update(tenant, run, after + 1).sk,
            keys::run_update(tenant, run, MAX_UPDATE_NUMBER).sk,
        );
        let (page, _) = self.table.page(&query, most, None).await?;
        Ok(page)
    }
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
    for message in &updates.messages {
        let key = keys::run_update(tenant, &updates.run_id, message.number);
        transaction = transaction.put(&key, message, Condition::Absent)?;
    }
    Ok(transaction)
}
