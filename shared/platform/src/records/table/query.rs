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
    pub(super) pk: String,
    pub(super) sort: Sort,
    pub(super) index: Option<&'static str>,
    pub(super) order: Order,
}

#[derive(Clone, Debug)]
pub(super) enum Sort {
    All,
    Prefix(String),
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
