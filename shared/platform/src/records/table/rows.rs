//! Reads the records of a range one by one, lazily.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::{Position, Query, Table};
use crate::error::Result;

/// Records of a range of a table, ordered by sort key. DynamoDB returns at most 1 MB at a time, so at most
/// that much is in memory.
pub struct Rows<T> {
    table: Table,
    query: Query,
    read_at_once: usize,
    start: Option<Position>,
    is_last_page: bool,
    read: VecDeque<T>,
}

impl Table {
    /// Returns the records of a range after the sort key `after`; a record with that key need not exist.
    pub fn rows<T>(&self, query: Query, after: Option<&str>, read_at_once: usize) -> Rows<T> {
        let start = after.map(|sk| Position {
            pk: query.pk.clone(),
            sk: sk.to_owned(),
            in_index: None,
        });
        Rows {
            table: self.clone(),
            query,
            read_at_once,
            start,
            is_last_page: false,
            read: VecDeque::new(),
        }
    }
}

impl<T: DeserializeOwned> Rows<T> {
    /// Returns the next record; None at the end.
    pub async fn next(&mut self) -> Result<Option<T>> {
        while self.read.is_empty() && !self.is_last_page {
            let start = self.start.take();
            let (page, next) = self.table.page(&self.query, self.read_at_once, start).await?;
            self.read.extend(page);
            self.is_last_page = next.is_none();
            self.start = next;
        }
        Ok(self.read.pop_front())
    }
}
