//! Gives typed access to the items of a [`RecordStore`].
//!
//! An item is a record's own fields plus its key. Reads are strongly consistent, except those of an index.
//! A refused condition is a value, [`Written`], not an error, because only the caller knows its meaning.

mod merged;
mod rows;
mod transaction;

use std::sync::Arc;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::records::store::{
    Action, Changes, Condition, Item, Key, Position, Query, RecordStore, Step, Written, key_names,
};

pub use rows::Rows;
pub use transaction::{Guard, Outcome, Transaction};

/// Number of records requested at a time when a whole range is read.
const READ_AT_ONCE: usize = 1_000;
/// Attempts to read one of several ranges.
const RANGE_ATTEMPTS: u32 = 3;
/// Partitions of an index that are read concurrently.
const SHARDS_AT_ONCE: usize = 16;

/// A table; cheap to clone.
#[derive(Clone)]
pub struct Table {
    store: Arc<dyn RecordStore>,
    name: Arc<str>,
}

impl Table {
    /// A missing table is an error at its first use.
    pub fn new(store: Arc<dyn RecordStore>, name: &str) -> Self {
        Self {
            store,
            name: name.into(),
        }
    }

    pub async fn find<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        let item = self.store.find(&self.name, key).await?;
        item.map(Item::read).transpose()
    }

    /// Returns the records at `keys`, in their order; None for missing ones. Up to 100 distinct keys.
    pub async fn find_many<T: DeserializeOwned>(&self, keys: &[Key]) -> Result<Vec<Option<T>>> {
        let items = self.store.find_many(&self.name, keys).await?;
        items
            .into_iter()
            .map(|item| item.map(Item::read).transpose())
            .collect()
    }

    /// Returns the records at `keys` that are currently in this index, in the order of the keys; None for the
    /// others. Reads consistently, up to 100 distinct keys.
    pub async fn find_in_index<T: DeserializeOwned>(
        &self,
        keys: &[Key],
        index: &str,
    ) -> Result<Vec<Option<T>>> {
        let [in_index, _] = key_names(index);
        let items = self.store.find_many(&self.name, keys).await?.into_iter();
        let items = items.map(|item| item.filter(|item| item.get(&in_index).is_some()));
        items.map(|item| item.map(Item::read).transpose()).collect()
    }

    /// Writes a record, under a condition. After a lost response the retry may be refused because of the
    /// first attempt; a transaction avoids this.
    pub async fn put<T: Serialize>(&self, key: &Key, record: &T, condition: Condition) -> Result<Written> {
        let item = Item::from_record(key, record)?;
        self.write(key, Action::Put(item), condition).await
    }

    /// Changes single attributes of a record, under a condition. The changes must be idempotent, so none may
    /// append.
    pub async fn update(&self, key: &Key, changes: &Changes, condition: Condition) -> Result<Written> {
        self.write(key, Action::Update(changes.clone()), condition).await
    }

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

    /// Adds to a number of a record, sets its expiry `expires_at`, in Unix seconds, and returns the new
    /// number. A missing record is created. A retry after a lost response may add twice.
    pub async fn add(&self, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        self.store.add(&self.name, key, number, amount, expires_at).await
    }

    /// Reads one page of at most `most` records. The second part of the result is the start of the next page.
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

    /// Reads the unfinished work of these partitions of the index `due` up to a time, the longest overdue of
    /// each first: at most `most` of each, or all.
    pub async fn due<T: DeserializeOwned>(
        &self,
        shards: impl IntoIterator<Item = String>,
        by: UtcTime,
        most: Option<usize>,
    ) -> Result<Vec<T>> {
        let queries = shards.into_iter().map(|shard| Query::due(&shard, by));
        self.read_all(queries, most).await
    }

    /// Reads these ranges concurrently: at most `most` records of each, or all. A range that cannot be read
    /// for a moment is read again, because one of many would fail all.
    pub async fn read_all<T: DeserializeOwned>(
        &self,
        queries: impl IntoIterator<Item = Query>,
        most: Option<usize>,
    ) -> Result<Vec<T>> {
        let parts = queries.into_iter().map(|query| async move {
            let mut attempt = 1;
            loop {
                let part = match most {
                    Some(most) => self.page(&query, most, None).await.map(|(part, _)| part),
                    None => self.all(&query).await,
                };
                match part {
                    Err(cause) if cause.is_transient() && attempt < RANGE_ATTEMPTS => attempt += 1,
                    part => return part,
                }
            }
        });
        let parts: Vec<Vec<T>> = stream::iter(parts).buffered(SHARDS_AT_ONCE).try_collect().await?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Reads every record of the table as JSON, page by page, with its key. Only for the operator's commands.
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

    pub fn transaction(&self) -> Transaction<'_> {
        Transaction {
            table: self,
            steps: Vec::new(),
            labels: Vec::new(),
        }
    }
}
