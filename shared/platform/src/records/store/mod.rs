//! Defines the interface between records and the service that stores them.
//!
//! It offers only what DynamoDB offers: single items and ranges of one partition are read, and writes can be
//! conditional. All adapters pass the same conformance suite. A read by key or of a partition is strongly
//! consistent; an index may lag behind.

mod changes;
pub mod checks;
mod condition;
mod item;
mod key;
pub mod limits;
mod query;

use std::sync::Arc;

use async_trait::async_trait;

pub use changes::Changes;
pub use condition::Condition;
pub use item::Item;
pub use key::{Key, Position, key_names};
pub use query::{Order, Query, Sort};

use crate::error::{Error, Result};

/// Outcome of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// The write is durable.
    Done,
    /// Nothing was written: the condition of the step with this index (0 for a single write) did not hold.
    Refused {
        /// The first such step of the transaction.
        step: usize,
    },
    /// Nothing was written: another write of one of the items was in progress. The caller must retry.
    Contended,
}

impl Written {
    /// Whether the write is durable; false if a condition did not hold. 503 if it was contended: `subject`
    /// names the record, such as `a delivery`.
    pub fn took_effect(self, subject: &str) -> Result<bool> {
        match self {
            Self::Done => Ok(true),
            Self::Refused { .. } => Ok(false),
            Self::Contended => Err(Error::unavailable(format!(
                "{subject} is written by too many at once"
            ))),
        }
    }
}

/// A write of one item, or a condition on one.
#[derive(Clone, Debug)]
pub struct Step {
    /// Must be in the same store as the tables of the other steps.
    pub table: Arc<str>,
    /// Key of the item. Its places in indexes are part of the action.
    pub key: Key,
    /// Executed if the condition holds.
    pub action: Action,
    /// None for an unconditional step.
    pub condition: Option<Condition>,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// Replaces the whole item.
    Put(Item),
    /// Changes single attributes; creates a missing item.
    Update(Changes),
    /// Removes the item.
    Delete,
    /// Only checks the condition.
    Check,
}

/// Part of a range.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Ordered as the range.
    pub items: Vec<Item>,
    /// Start of the next page; None at the end. A page before the end may be empty.
    pub next: Option<Position>,
}

/// Stores items, in DynamoDB or an embedded store.
///
/// An error is [`Unavailable`](crate::ErrorKind::Unavailable) if a retry may succeed; the write may have
/// happened even so. It is [`Internal`](crate::ErrorKind::Internal) if no retry can succeed: a request beyond
/// [`limits`], or a table that does not exist.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// Returns the item at `key`. Strongly consistent.
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>>;

    /// Returns the items at up to 100 distinct `keys`, in their order. Strongly consistent.
    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>>;

    /// Executes one step. A retry after a lost response may be refused because of the first attempt.
    async fn write(&self, step: Step) -> Result<Written>;

    /// Executes all steps or none. Each step must be on another item. A retry after a lost response does not
    /// execute the steps twice.
    async fn transact(&self, steps: Vec<Step>) -> Result<Written>;

    /// Adds to a number of an item, sets [`EXPIRES_AT`](crate::records::schema::EXPIRES_AT), and returns the
    /// new number. A missing item is created. A retry after a lost response may add twice.
    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64>;

    /// Returns at most `most` items of a range, from `start` on.
    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page>;

    async fn count(&self, table: &str, query: &Query) -> Result<u64>;

    /// Returns a part of a whole table, in any order. Strongly consistent.
    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page>;
}
