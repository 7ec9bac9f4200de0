//! Builds transactions: several conditional writes that are committed together or not at all.

use serde::Serialize;

use super::{Action, Changes, Condition, Item, Key, Step, Table, Written};
use crate::error::Result;

/// Condition of a transaction on a record in any table.
#[derive(Clone)]
pub struct Guard {
    pub table: Table,
    pub key: Key,
    pub condition: Condition,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:?}", self.condition, self.key)
    }
}

/// Conditional writes that are committed together or not at all. All their tables must be in one store.
pub struct Transaction<'a> {
    pub(super) table: &'a Table,
    pub(super) steps: Vec<Step>,
    /// Labels of steps, by index.
    pub(super) labels: Vec<(usize, &'static str)>,
}

/// Result of a transaction whose caller distinguishes refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    Done,
    /// Nothing was written. Label of the first step whose condition did not hold, if it has one.
    Refused(Option<&'static str>),
    /// As [`Written::Contended`].
    Contended,
}

impl Transaction<'_> {
    pub fn put<T: Serialize>(self, key: &Key, record: &T, condition: Condition) -> Result<Self> {
        let table = self.table;
        self.put_into(table, key, record, condition)
    }

    pub fn put_into<T: Serialize>(
        self,
        table: &Table,
        key: &Key,
        record: &T,
        condition: Condition,
    ) -> Result<Self> {
        let item = Item::from_record(key, record)?;
        Ok(self.step(table, key, Action::Put(item), Some(condition)))
    }

    /// Writes a record unconditionally.
    pub fn replace<T: Serialize>(self, key: &Key, record: &T) -> Result<Self> {
        let (table, item) = (self.table, Item::from_record(key, record)?);
        Ok(self.step(table, key, Action::Put(item), None))
    }

    pub fn delete(self, key: &Key, condition: Condition) -> Result<Self> {
        let table = self.table;
        Ok(self.step(table, key, Action::Delete, Some(condition)))
    }

    /// Changes single attributes of a record, optionally under a condition. A missing record is created.
    pub fn update(self, key: &Key, changes: &Changes, condition: Option<&Condition>) -> Result<Self> {
        let table = self.table;
        Ok(self.step(table, key, Action::Update(changes.clone()), condition.cloned()))
    }

    pub fn update_in(
        self,
        table: &Table,
        key: &Key,
        changes: &Changes,
        condition: Condition,
    ) -> Result<Self> {
        Ok(self.step(table, key, Action::Update(changes.clone()), Some(condition)))
    }

    /// Writes nothing, but refuses the transaction unless the condition holds.
    pub fn check(self, key: &Key, condition: Condition) -> Result<Self> {
        let table = self.table;
        Ok(self.step(table, key, Action::Check, Some(condition)))
    }

    /// Refuses the transaction unless the guard holds.
    pub fn guarded_by(self, guard: &Guard) -> Result<Self> {
        Ok(self.step(
            &guard.table,
            &guard.key,
            Action::Check,
            Some(guard.condition.clone()),
        ))
    }

    fn step(mut self, table: &Table, key: &Key, action: Action, condition: Option<Condition>) -> Self {
        self.steps.push(Step {
            table: table.name.clone(),
            key: key.clone(),
            action,
            condition,
        });
        self
    }

    /// Labels the last step, so that [`Outcome::Refused`] names it.
    pub fn labelled(mut self, label: &'static str) -> Self {
        if let Some(last) = self.steps.len().checked_sub(1) {
            self.labels.push((last, label));
        }
        self
    }

    /// Commits the transaction, and names the step that refused it.
    pub async fn commit_labelled(self) -> Result<Outcome> {
        let written = self.table.store.transact(self.steps).await?;
        Ok(outcome(written, &self.labels))
    }

    /// As [`Self::commit_labelled`], but one step alone is a plain conditional write, which costs half of a
    /// transaction. Its retry after a lost response may be refused because of the first attempt, so the
    /// caller must recognize its own write.
    pub async fn commit_recognizable(mut self) -> Result<Outcome> {
        if self.steps.len() > 1 {
            return self.commit_labelled().await;
        }
        match self.steps.pop() {
            Some(step) => Ok(outcome(self.table.store.write(step).await?, &self.labels)),
            None => Ok(Outcome::Done),
        }
    }

    /// Commits the transaction. [`Written::Contended`] is a conflict with another write that outlasts the
    /// store's retries.
    pub async fn commit(self) -> Result<Written> {
        self.table.store.transact(self.steps).await
    }
}

fn outcome(written: Written, labels: &[(usize, &'static str)]) -> Outcome {
    match written {
        Written::Done => Outcome::Done,
        Written::Contended => Outcome::Contended,
        Written::Refused { step } => {
            let label = labels.iter().find(|(index, _)| *index == step);
            Outcome::Refused(label.map(|(_, label)| *label))
        }
    }
}
