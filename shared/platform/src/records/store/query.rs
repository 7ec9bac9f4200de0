//! A range of one partition.

use crate::clock::UtcTime;
use crate::records::schema::{DUE, GSI1};

/// In which direction of the sort key a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest sort key first.
    Ascending,
    /// Largest sort key first.
    Descending,
}

/// A range of one partition.
#[derive(Clone, Debug)]
pub struct Query {
    /// Partition key, that of the index where one is read.
    pub pk: String,
    /// Which part of the partition.
    pub sort: Sort,
    /// The index that is read; None for the table itself.
    pub index: Option<&'static str>,
    /// Ascending where nothing else is said.
    pub order: Order,
}

/// The sort keys of a range.
#[derive(Clone, Debug)]
pub enum Sort {
    /// The whole partition.
    All,
    /// Those that begin with this text.
    Prefix(String),
    /// Those from the first to the second, both included.
    Between(String, String),
}

impl Query {
    /// A whole partition.
    pub fn partition(pk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sort: Sort::All,
            index: None,
            order: Order::Ascending,
        }
    }

    /// Only sort keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.sort = Sort::Prefix(prefix.into());
        self
    }

    /// Only sort keys from `low` to `high`, both included.
    #[must_use]
    pub fn between(mut self, low: impl Into<String>, high: impl Into<String>) -> Self {
        self.sort = Sort::Between(low.into(), high.into());
        self
    }

    /// Asks `gsi1`, which follows the table with a short delay.
    #[must_use]
    pub fn gsi1(self) -> Self {
        self.index(GSI1)
    }

    /// Asks the index of this name, which follows the table with a short delay.
    #[must_use]
    pub fn index(mut self, index: &'static str) -> Self {
        self.index = Some(index);
        self
    }

    /// The unfinished work of a kind that is due by `by`; asks the index `due`, which follows the table with a short delay.
    pub fn due(shard: &str, by: UtcTime) -> Self {
        Self {
            pk: shard.to_owned(),
            sort: Sort::Between("0".to_owned(), by.to_string()),
            index: Some(DUE),
            order: Order::Ascending,
        }
    }

    /// The direction.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
}
