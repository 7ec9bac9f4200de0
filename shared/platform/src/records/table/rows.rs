//! The records of a range, one after the other, read as they are asked for.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;

use super::{Position, Query, Table};
use crate::error::Result;

/// The records of a range of a table, in the order of their sort keys. DynamoDB gives at most 1 MB at once, so no more than
/// that is held.
pub struct Rows<T> {
    table: Table,
    query: Query,
    read_at_once: usize,
    start: Option<Position>,
    is_last_page: bool,
    read: VecDeque<T>,
}

impl Table {
    /// The records of a range that come behind the sort key `after`, whether there is a record of it or not.
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
    /// The next record; None at the end.
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
