//! Counts a project's entries of a kind, and gives each change of them a random id.
//!
//! Both are in one item, which the transaction of each creation and deletion changes. So the count is exact,
//! and concurrent creations cannot exceed the limit.

use platform::error::{Error, Result};
use platform::races::{RacePolicy, Races};
use platform::records::{Changes, Condition, Key, Outcome, Table, Transaction};
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
    /// None before the first entry.
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
        let mut races = Races::new(&RacePolicy::COUNT, self.plural);
        let has_room = || Condition::NumberBelow(COUNT, MAX_ENTRIES);
        let mut condition = has_room();
        loop {
            let changes = Changes::default().add(COUNT, 1);
            let transaction = steps(self.begin(tenant, changes, Some(&condition))?)?;
            match transaction.commit_labelled().await? {
                Outcome::Contended => {}
                Outcome::Refused(Some(COUNTED)) => {
                    condition = match self.find(tenant).await?.map(|found| found.entries) {
                        None => Condition::Absent,
                        Some(None) => Condition::Lacks(COUNT),
                        Some(Some(count)) if count.unsigned_abs() >= MAX_ENTRIES => return Err(self.full()),
                        // Below the limit again, or begun, since the transaction.
                        Some(Some(_)) => has_room(),
                    };
                }
                outcome => return Ok(outcome),
            }
            races.lost().await?;
        }
    }

    /// Commits a transaction that removes an entry: the change of the count, then `steps`, which refuse a
    /// missing entry.
    pub async fn remove<'a>(
        &'a self,
        tenant: &Tenant,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        let mut races = Races::new(&RacePolicy::COUNT, self.plural);
        loop {
            let changes = Changes::default().add(COUNT, -1);
            match steps(self.begin(tenant, changes, None)?)?
                .commit_labelled()
                .await?
            {
                Outcome::Contended => races.lost().await?,
                outcome => return Ok(outcome),
            }
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
