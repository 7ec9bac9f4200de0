//! Counts a project's entries of a kind, and numbers the changes of them.
//!
//! Both are in one item, which the transaction of each change rewrites as it was read. So the count is exact,
//! concurrent creations cannot exceed the limit, and the numbers of changes have no gaps.

use platform::error::{Error, Result};
use platform::races::{RacePolicy, Races};
use platform::records::{Changes, Condition, Key, Outcome, Table, Transaction};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

/// Maximum number of entries of a kind in a project, unless a setting says otherwise.
pub const MAX_ENTRIES: u64 = 10_000;
const CHANGE: &str = "change";
/// Label of the step that counts.
const COUNTED: &str = "counted";

const LISTENERS: &str = "listeners";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetState {
    /// Number of the last change; None before the first. The first is a random number, so that a set that
    /// begins again, as after an erasure, is never taken for the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<u64>,
    pub entries: u64,
    /// Size of the documents of all entries, where they are counted, in bytes.
    pub bytes: u64,
    /// Number of runs that listen for events.
    pub listeners: u64,
}

/// Returns the number of listeners of a project.
pub(super) async fn listeners(table: &Table, counter: &Key) -> Result<u64> {
    let state: Option<SetState> = table.find(counter).await?;
    Ok(state.unwrap_or_default().listeners)
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

/// What one change does to the set.
#[derive(Clone, Copy, Default)]
pub(super) struct Growth {
    pub entries: i64,
    pub bytes: i64,
}

/// Limits of a set, of which a change that grows it must keep within.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub entries: u64,
    /// In bytes.
    pub bytes: u64,
}

#[derive(Clone)]
pub(super) struct Entries {
    pub table: Table,
    /// Word for the entries, such as 'subscriptions'.
    pub plural: &'static str,
    pub counter: fn(&Tenant) -> Key,
    pub limits: Limits,
}

impl Entries {
    /// Returns the state of the set, with one read.
    pub async fn state(&self, tenant: &Tenant) -> Result<SetState> {
        let state = self.table.find(&(self.counter)(tenant)).await?;
        Ok(state.unwrap_or_default())
    }

    /// Commits a change of one entry: the new state of the set, then `steps`, which get the number of the
    /// change. 409 if the set would exceed a limit; the result is never the refusal of the state.
    pub async fn change<'a>(
        &'a self,
        tenant: &Tenant,
        growth: Growth,
        steps: impl Fn(Transaction<'a>, u64) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        let counter = (self.counter)(tenant);
        let mut races = Races::new(&RacePolicy::RECORD, self.plural);
        loop {
            let before: Option<SetState> = self.table.find(&counter).await?;
            let expected = match &before {
                None => Condition::Absent,
                Some(SetState { change: None, .. }) => Condition::Lacks(CHANGE),
                Some(SetState {
                    change: Some(last), ..
                }) => Condition::NumberIs(CHANGE, *last),
            };
            let before = before.unwrap_or_default();
            let number = before
                .change
                .map_or_else(|| rand::random::<u32>().into(), |last| last + 1);
            let entries = before.entries.saturating_add_signed(growth.entries);
            let bytes = before.bytes.saturating_add_signed(growth.bytes);
            self.check(growth, entries, bytes)?;
            let changes = Changes::default()
                .set(CHANGE, &number)?
                .set("entries", &entries)?
                .set("bytes", &bytes)?;
            let transaction = self.table.transaction();
            let counted = transaction
                .update(&counter, &changes, Some(&expected))?
                .labelled(COUNTED);
            match steps(counted, number)?.commit_labelled().await? {
                Outcome::Contended | Outcome::Refused(Some(COUNTED)) => races.lost().await?,
                outcome => return Ok(outcome),
            }
        }
    }

    fn check(&self, growth: Growth, entries: u64, bytes: u64) -> Result<()> {
        let (plural, limits) = (self.plural, self.limits);
        if growth.entries > 0 && entries > limits.entries {
            return Err(Error::conflict(format!(
                "The project has {} {plural}, which is the most; delete one before you create another.",
                limits.entries
            )));
        }
        if growth.bytes > 0 && bytes > limits.bytes {
            return Err(Error::conflict(format!(
                "The {plural} of the project would have {bytes} bytes of JSON together, and {} is the most; delete or shorten one first.",
                limits.bytes
            )));
        }
        Ok(())
    }
}
