//! Counts a project's entries of a kind, and gives each change of them a random id.
//!
//! Both are in one item, which the transaction of each creation and deletion changes. So the count is exact,
//! and concurrent creations cannot exceed the limit. An older item without a count gets one at the first
//! creation or deletion: the entries are counted, and the count is written if the id of the last change is
//! still the same.

use platform::error::{Error, Result};
use platform::races::{RacePolicy, Races};
use platform::records::{Changes, Condition, Key, Outcome, Query, Table, Transaction};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

/// Maximum number of entries of a kind in a project.
pub const MAX_ENTRIES: u64 = 10_000;
const COUNT: &str = "entries";
/// Label of the step that counts.
const COUNTED: &str = "counted";

const LISTENERS: &str = "listeners";

#[derive(Serialize, Deserialize)]
struct EntriesRecord {
    /// None if the item contains only a count of listeners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change_id: Option<String>,
    /// None until the entries are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listeners: Option<u64>,
}

/// State of a project's set of entries, other than their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetState {
    /// Random id that each change of the entries replaces; None before the first.
    pub change_id: Option<String>,
    /// Number of runs that listen for events.
    pub listeners: u64,
}

/// Returns the number of listeners of a project.
pub(super) async fn listeners(table: &Table, counter: &Key) -> Result<u64> {
    let found: Option<EntriesRecord> = table.find(counter).await?;
    Ok(found.and_then(|found| found.listeners).unwrap_or(0))
}

/// Adds the step that changes the number of listeners, which is stored beside the count of subscriptions.
pub(super) fn count_listener<'a>(
    transaction: Transaction<'a>,
    counter: &Key,
    amount: i64,
) -> Result<Transaction<'a>> {
    let changes = Changes::default().add(LISTENERS, amount);
    transaction.update(counter, &changes, None)
}

#[derive(Clone)]
pub(super) struct Entries {
    pub table: Table,
    /// Word for the entries, such as 'subscriptions'.
    pub plural: &'static str,
    /// Partition that contains only the entries.
    pub partition: fn(&Tenant) -> String,
    pub counter: fn(&Tenant) -> Key,
}

impl Entries {
    /// Returns the id of the last change; None before the first.
    pub async fn last_change(&self, tenant: &Tenant) -> Result<Option<String>> {
        Ok(self.state(tenant).await?.change_id)
    }

    /// Returns the id of the last change and the number of listeners, with one read.
    pub async fn state(&self, tenant: &Tenant) -> Result<SetState> {
        let found = self.find(tenant).await?;
        Ok(found.map_or_else(SetState::default, |found| SetState {
            change_id: found.change_id,
            listeners: found.listeners.unwrap_or(0),
        }))
    }

    /// Starts a transaction that changes an entry. The change of this item is its first step.
    pub fn changed(&self, tenant: &Tenant) -> Result<Transaction<'_>> {
        self.begin(tenant, Changes::default(), None)
    }

    /// Commits a transaction that adds an entry: the change of the count, then `steps`. 409 if the project
    /// has [`MAX_ENTRIES`]; so the result is never the refusal of the count.
    pub async fn add<'a>(
        &'a self,
        tenant: &Tenant,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        self.commit(tenant, 1, &Condition::NumberBelow(COUNT, MAX_ENTRIES), steps)
            .await
    }

    /// Commits a transaction that removes an entry: the change of the count, then `steps`. The result is
    /// never the refusal of the count.
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
        let mut races = Races::new(&RacePolicy::COUNT, self.plural);
        loop {
            let changes = Changes::default().add(COUNT, amount);
            let transaction = steps(self.begin(tenant, changes, Some(condition))?)?;
            match transaction.commit_labelled().await? {
                Outcome::Contended => {}
                Outcome::Refused(Some(COUNTED)) => match self.find(tenant).await? {
                    Some(EntriesRecord {
                        entries: Some(count), ..
                    }) if amount > 0 && count.unsigned_abs() >= MAX_ENTRIES => return Err(self.full()),
                    // Counted, or below the limit again, since the transaction.
                    Some(EntriesRecord { entries: Some(_), .. }) => {}
                    uncounted => self.count(tenant, uncounted).await?,
                },
                outcome => return Ok(outcome),
            }
            races.lost().await?;
        }
    }

    fn begin(
        &self,
        tenant: &Tenant,
        changes: Changes,
        condition: Option<&Condition>,
    ) -> Result<Transaction<'_>> {
        let changes = changes.set("change_id", &new_change())?;
        let transaction = self.table.transaction();
        let counter = transaction.update(&(self.counter)(tenant), &changes, condition)?;
        Ok(counter.labelled(COUNTED))
    }

    async fn find(&self, tenant: &Tenant) -> Result<Option<EntriesRecord>> {
        self.table.find(&(self.counter)(tenant)).await
    }

    /// Writes the count of the item. If a change came between, nothing is written, and the caller tries
    /// again.
    async fn count(&self, tenant: &Tenant, last: Option<EntriesRecord>) -> Result<()> {
        let key = (self.counter)(tenant);
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
