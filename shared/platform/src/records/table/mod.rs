//! A table of records: typed access to the items of a [`RecordStore`].
//!
//! An item is a record's own fields plus its key. Reads are strongly consistent, but for those of an index.
//! What a condition refuses is a value, [`Written`], not an error: the caller knows what it means.

mod merged;
mod rows;
mod transaction;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::store::{
    Action, Changes, Condition, Item, Key, Position, Query, RecordStore, Step, Written, key_names,
};
use crate::error::{Error, Result};

pub use rows::Rows;
pub use transaction::{Guard, Outcome, Transaction};

/// Records that one read of a whole range asks for at a time.
const READ_AT_ONCE: usize = 1_000;

/// One table. Cheap to clone.
#[derive(Clone)]
pub struct Table {
    store: Arc<dyn RecordStore>,
    name: Arc<str>,
}

impl Table {
    /// A table that does not exist is an error of its first use.
    pub fn new(store: Arc<dyn RecordStore>, name: &str) -> Self {
        Self {
            store,
            name: name.into(),
        }
    }

    /// The record at `key`, None where there is none.
    pub async fn find<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        let item = self.store.find(&self.name, key).await?;
        item.map(Item::read).transpose()
    }

    /// The records at `keys`, in their order; None for those that are missing. Up to 100 keys, none of them
    /// twice.
    pub(crate) async fn find_many<T: DeserializeOwned>(&self, keys: &[Key]) -> Result<Vec<Option<T>>> {
        let items = self.store.find_many(&self.name, keys).await?;
        items
            .into_iter()
            .map(|item| item.map(Item::read).transpose())
            .collect()
    }

    /// The records at `keys` that are in this index now, in the order of the keys; None for the others.
    /// Reads consistently, up to 100 keys, none of them twice.
    pub(crate) async fn find_in_index<T: DeserializeOwned>(
        &self,
        keys: &[Key],
        index: &str,
    ) -> Result<Vec<Option<T>>> {
        let [in_index, _] = key_names(index);
        let items = self.store.find_many(&self.name, keys).await?.into_iter();
        let items = items.map(|item| item.filter(|item| item.get(&in_index).is_some()));
        items.map(|item| item.map(Item::read).transpose()).collect()
    }

    /// Writes a record, under a condition. After a lost answer the repeat may be refused by the write's own first attempt: where
    /// that matters, use a transaction.
    pub async fn put<T: Serialize>(&self, key: &Key, record: &T, condition: Condition) -> Result<Written> {
        let item = Item::of(key, record)?;
        self.write(key, Action::Put(item), condition).await
    }

    /// Changes single attributes of a record, under a condition. Changes that are done twice must come to the same, and so none
    /// of them may append.
    pub async fn update(&self, key: &Key, changes: &Changes, condition: Condition) -> Result<Written> {
        self.write(key, Action::Update(changes.clone()), condition).await
    }

    /// Removes a record, under a condition.
    pub async fn delete(&self, key: &Key, condition: Condition) -> Result<Written> {
        self.write(key, Action::Delete, condition).await
    }

    async fn write(&self, key: &Key, action: Action, condition: Condition) -> Result<Written> {
        let step = Step {
            table: self.name.clone(),
            key: key.clone(),
            action,
            condition: Some(condition),
        };
        self.store.write(step).await
    }

    /// Adds to a number of a record, which is made where it is missing and expires at `expires_at`, in Unix
    /// seconds; the new number. A repeat after a lost answer may add twice.
    pub async fn add(&self, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.store.add(&self.name, key, number, amount, expires_at).await
    }

    /// Reads one page of at most `most` records. The second part is where the next page begins.
    pub async fn page<T: DeserializeOwned>(
        &self,
        query: &Query,
        most: usize,
        start: Option<Position>,
    ) -> Result<(Vec<T>, Option<Position>)> {
        let page = self.store.page(&self.name, query, most, start).await?;
        let records = page.items.into_iter().map(Item::read);
        Ok((records.collect::<Result<_>>()?, page.next))
    }

    /// Counts the records of a range.
    pub async fn count(&self, query: &Query) -> Result<u64> {
        self.store.count(&self.name, query).await
    }

    /// Reads every record of a range, page by page.
    pub async fn all<T: DeserializeOwned>(&self, query: &Query) -> Result<Vec<T>> {
        let mut records = Vec::new();
        let mut start = None;
        loop {
            let (page, next) = self.page(query, READ_AT_ONCE, start).await?;
            records.extend(page);
            match next {
                Some(_) => start = next,
                None => return Ok(records),
            }
        }
    }

    /// Every record of the table as JSON, page by page, with its key. For the operator's commands alone.
    pub async fn scan(
        &self,
        start: Option<Position>,
    ) -> Result<(Vec<(Key, serde_json::Value)>, Option<Position>)> {
        let page = self.store.scan(&self.name, start).await?;
        let records = page.items.into_iter().map(|item| {
            let (Some(pk), Some(sk)) = (item.text("pk"), item.text("sk")) else {
                return Err(Error::internal("an item has no key"));
            };
            Ok((Key::new(pk, sk), item.read()?))
        });
        Ok((records.collect::<Result<_>>()?, page.next))
    }

    /// A transaction on this table.
    pub fn transaction(&self) -> Transaction<'_> {
        Transaction {
            table: self,
            steps: Vec::new(),
            labels: Vec::new(),
        }
    }
}
