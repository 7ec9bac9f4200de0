//! Describes ranges of one partition.

use crate::clock::UtcTime;
use crate::records::schema::{DUE, GSI1};

/// Direction in which a query reads the sort keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

#[derive(Clone, Debug)]
pub struct Query {
    /// Partition key, in the index if one is read.
    pub pk: String,
    pub sort: Sort,
    /// Index to read; None for the table itself.
    pub index: Option<&'static str>,
    /// Ascending by default.
    pub order: Order,
}

#[derive(Clone, Debug)]
pub enum Sort {
    All,
    /// Sort keys that start with this text.
    Prefix(String),
    /// Inclusive.
    Between(String, String),
}

impl Query {
    pub fn partition(pk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            sort: Sort::All,
            index: None,
            order: Order::Ascending,
        }
    }

    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.sort = Sort::Prefix(prefix.into());
        self
    }

    /// Limits the sort keys to `low` through `high`, inclusive.
    #[must_use]
    pub fn between(mut self, low: impl Into<String>, high: impl Into<String>) -> Self {
        self.sort = Sort::Between(low.into(), high.into());
        self
    }

    /// Reads `gsi1`, which lags slightly behind the table.
    #[must_use]
    pub fn gsi1(self) -> Self {
        self.index(GSI1)
    }

    /// Reads the index of this name, which lags slightly behind the table.
    #[must_use]
    pub fn index(mut self, index: &'static str) -> Self {
        self.index = Some(index);
        self
    }

    /// Selects unfinished work of a kind that is due by `by`, in the index `due`, which lags slightly behind
    /// the table.
    pub fn due(shard: &str, by: UtcTime) -> Self {
        Self {
            pk: shard.to_owned(),
            sort: Sort::Between("0".to_owned(), by.to_string()),
            index: Some(DUE),
            order: Order::Ascending,
        }
    }

    /// Selects unfinished work of a kind that is due after `time`.
    pub fn due_after(shard: &str, time: UtcTime) -> Self {
        let last = UtcTime::EPOCH.plus_ms(u64::MAX);
        Self {
            sort: Sort::Between(time.plus_ms(1).to_string(), last.to_string()),
            ..Self::due(shard, last)
        }
    }

    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
}
