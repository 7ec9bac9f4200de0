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

pub use changes::Changes;
pub use condition::Condition;
pub use item::Item;
pub use key::{Key, Position, key_names};
pub use query::{Order, Query, Sort};

use crate::error::Result;
use crate::queue::BoxFuture;

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
pub trait RecordStore: Send + Sync {
    /// Returns the item at `key`. Strongly consistent.
    fn find<'a>(&'a self, table: &'a str, key: &'a Key) -> BoxFuture<'a, Result<Option<Item>>>;

    /// Returns the items at up to 100 distinct `keys`, in their order. Strongly consistent.
    fn find_many<'a>(&'a self, table: &'a str, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Item>>>>;

    /// Executes one step. A retry after a lost response may be refused because of the first attempt.
    fn write(&self, step: Step) -> BoxFuture<'_, Result<Written>>;

    /// Executes all steps or none. Each step must be on another item. A retry after a lost response does not
    /// execute the steps twice.
    fn transact(&self, steps: Vec<Step>) -> BoxFuture<'_, Result<Written>>;

    /// Adds to a number of an item, sets [`EXPIRES_AT`](crate::records::schema::EXPIRES_AT), and returns the
    /// new number. A missing item is created. A retry after a lost response may add twice.
    fn add<'a>(
        &'a self,
        table: &'a str,
        key: &'a Key,
        number: &'a str,
        amount: u64,
        expires_at: i64,
    ) -> BoxFuture<'a, Result<u64>>;

    /// Returns at most `most` items of a range, from `start` on.
    fn page<'a>(
        &'a self,
        table: &'a str,
        query: &'a Query,
        most: usize,
        start: Option<Position>,
    ) -> BoxFuture<'a, Result<Page>>;

    fn count<'a>(&'a self, table: &'a str, query: &'a Query) -> BoxFuture<'a, Result<u64>>;

    /// Returns a part of a whole table, in any order. Strongly consistent.
    fn scan<'a>(&'a self, table: &'a str, start: Option<Position>) -> BoxFuture<'a, Result<Page>>;
}
