//! The records of a range, one after the other, read as they are asked for.

use std::collections::{HashMap, VecDeque};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::de::DeserializeOwned;

use super::{Key, Query, Table};
use crate::error::{Error, Result};

/// The records of a range of a table, in the order of their sort keys. DynamoDB gives at most 1 MB at once, so no more than
/// that is held.
pub struct Rows<T> {
    table: Table,
    query: Query,
    read_at_once: i32,
    start: Option<HashMap<String, AttributeValue>>,
    is_last_page: bool,
    read: VecDeque<T>,
}

impl Table {
    /// The records of a range that come behind the sort key `after`, whether there is a record of it or not.
    pub fn rows<T>(&self, query: Query, after: Option<&str>, read_at_once: usize) -> Result<Rows<T>> {
        let start = after.map(|sk| Key::new(query.pk.clone(), sk).attributes());
        Ok(Rows {
            table: self.clone(),
            query,
            read_at_once: i32::try_from(read_at_once).map_err(Error::internal)?,
            start,
            is_last_page: false,
            read: VecDeque::new(),
        })
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
