//! How many entries of a kind a project has, and the name of their last change.
//!
//! Both are one item, which the transaction of each creation and deletion changes. So the count is exact, and
//! no number of concurrent creations exceeds its limit. An item without a count, from before there was one,
//! gets it from the first creation or deletion: the entries are counted, and the count is taken if the name
//! of the last change is still the same.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::records::{Changes, Condition, Key, Outcome, Query, Table, Transaction};
use crate::tenant::Tenant;

/// Most entries of a kind in a project.
pub const MAX_ENTRIES: u64 = 10_000;
/// Attempts of a change that conflicts with others, or has to count first.
const MAX_ATTEMPTS: u32 = 6;
const COUNT: &str = "entries";
/// Label of the step that counts.
const COUNTED: &str = "counted";

const LISTENERS: &str = "listeners";

#[derive(Serialize, Deserialize)]
struct EntriesRecord {
    /// None where there is a count of listeners alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change_id: Option<String>,
    /// None where nothing has counted them yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listeners: Option<u64>,
}

/// What a project's count says beside the count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Last {
    /// Name of the last change of the entries; None where there never was one.
    pub change_id: Option<String>,
    /// How many runs listen for events.
    pub listeners: u64,
}

/// How many listeners a project has.
pub(super) async fn listeners(table: &Table, counted: &Key) -> Result<u64> {
    let found: Option<EntriesRecord> = table.find(counted).await?;
    Ok(found.and_then(|found| found.listeners).unwrap_or(0))
}

/// The step of a transaction that counts a listener more or less, beside the count of subscriptions.
pub(super) fn count_listener<'a>(
    transaction: Transaction<'a>,
    counted: &Key,
    amount: i64,
) -> Result<Transaction<'a>> {
    let changes = Changes::default().add(LISTENERS, amount);
    transaction.update(counted, &changes, None)
}

#[derive(Clone)]
pub(super) struct Entries {
    pub table: Table,
    /// What they are, as in 'the subscriptions'.
    pub plural: &'static str,
    /// The partition that holds them and nothing else.
    pub partition: fn(&Tenant) -> String,
    pub counted: fn(&Tenant) -> Key,
}

impl Entries {
    /// The name of the last change; None where there never was one.
    pub async fn last_change(&self, tenant: &Tenant) -> Result<Option<String>> {
        Ok(self.last(tenant).await?.change_id)
    }

    /// The name of the last change, and the count of listeners: one read.
    pub async fn last(&self, tenant: &Tenant) -> Result<Last> {
        let found = self.find(tenant).await?;
        Ok(found.map_or_else(Last::default, |found| Last {
            change_id: found.change_id,
            listeners: found.listeners.unwrap_or(0),
        }))
    }

    /// A transaction that changes an entry. Its own step is the first one.
    pub fn changed(&self, tenant: &Tenant) -> Result<Transaction<'_>> {
        self.begin(tenant, Changes::default(), None)
    }

    /// Commits a transaction that adds an entry. `steps` come after its own step, which is never refused: a project that
    /// has [`MAX_ENTRIES`] is a 409.
    pub async fn add<'a>(
        &'a self,
        tenant: &Tenant,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        self.commit(tenant, 1, &Condition::NumberBelow(COUNT, MAX_ENTRIES), steps)
            .await
    }

    /// Commits a transaction that removes an entry. `steps` come after its own step, which is never refused.
    pub async fn remove<'a>(
        &'a self,
        tenant: &Tenant,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        self.commit(tenant, -1, &Condition::Has(COUNT), steps).await
    }

    async fn commit<'a>(
        &'a self,
        tenant: &Tenant,
        amount: i64,
        condition: &Condition,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        for _ in 0..MAX_ATTEMPTS {
            let changes = Changes::default().add(COUNT, amount);
            let transaction = steps(self.begin(tenant, changes, Some(condition))?)?;
            match transaction.commit_labelled().await? {
                Outcome::Contended => {}
                Outcome::Refused(Some(COUNTED)) => match self.find(tenant).await? {
                    Some(EntriesRecord {
                        entries: Some(count), ..
                    }) if amount > 0 && count.unsigned_abs() >= MAX_ENTRIES => return Err(self.full()),
                    // Counted, or with room, since then.
                    Some(EntriesRecord { entries: Some(_), .. }) => {}
                    uncounted => self.count(tenant, uncounted).await?,
                },
                outcome => return Ok(outcome),
            }
        }
        Ok(Outcome::Contended)
    }

    fn begin(
        &self,
        tenant: &Tenant,
        changes: Changes,
        condition: Option<&Condition>,
    ) -> Result<Transaction<'_>> {
        let changes = changes.set("change_id", &new_change())?;
        let transaction = self.table.transaction();
        let counted = transaction.update(&(self.counted)(tenant), &changes, condition)?;
        Ok(counted.labelled(COUNTED))
    }

    async fn find(&self, tenant: &Tenant) -> Result<Option<EntriesRecord>> {
        self.table.find(&(self.counted)(tenant)).await
    }

    /// Gives the item its count. Where a change came between, nothing is written, and the caller tries again.
    async fn count(&self, tenant: &Tenant, last: Option<EntriesRecord>) -> Result<()> {
        let key = (self.counted)(tenant);
        let entries = self
            .table
            .count(&Query::partition((self.partition)(tenant)))
            .await?;
        match last {
            Some(last) => {
                let changes = Changes::default().set(COUNT, &entries)?;
                let unchanged = match last.change_id {
                    Some(change_id) => Condition::TextIs("change_id", change_id),
                    None => Condition::Lacks(COUNT),
                };
                self.table.update(&key, &changes, unchanged).await.map(drop)
            }
            None => {
                let record = EntriesRecord {
                    change_id: Some(new_change()),
                    listeners: None,
                    entries: Some(i64::try_from(entries).map_err(Error::internal)?),
                };
                self.table.put(&key, &record, Condition::Absent).await.map(drop)
            }
        }
    }

    fn full(&self) -> Error {
        let plural = self.plural;
        Error::conflict(format!(
            "The project has {MAX_ENTRIES} {plural}, which is the most; delete one before you create another."
        ))
    }
}

fn new_change() -> String {
    format!("{:032x}", rand::random::<u128>())
}
