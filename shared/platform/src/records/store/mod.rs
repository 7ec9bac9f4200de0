//! The seam between records and the service that holds them.
//!
//! It has what DynamoDB gives and no more: single items and ranges of one partition are read, and conditions
//! decide about writes. Every adapter passes the same conformance suite. A read by key or of a partition is
//! strongly consistent; an index may lag behind.

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

/// Whether a conditional write happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is durable.
    Done,
    /// Nothing was written: the condition of the step with this index (0 for a single write) did not hold.
    Refused {
        /// The first such step of the transaction.
        step: usize,
    },
    /// Nothing was written: another write was under way on one of the items. Repeat.
    Contended,
}

/// One write of an item, or a condition on one.
#[derive(Clone, Debug)]
pub struct Step {
    /// In the same store as the tables of the other steps.
    pub table: Arc<str>,
    /// The item's key. Its places in indexes are part of the action.
    pub key: Key,
    /// What is done where the condition holds.
    pub action: Action,
    /// None where the step is done in any case.
    pub condition: Option<Condition>,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replaces the whole item.
    Put(Item),
    /// Changes single attributes; makes the item where it is missing.
    Update(Changes),
    /// Removes the item.
    Delete,
    /// Only checks the condition.
    Check,
}

/// A part of a range.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// In the order of the range.
    pub items: Vec<Item>,
    /// Where the next page begins; None at the end. There may be a next page without items.
    pub next: Option<Position>,
}

/// Holds items: DynamoDB, or an embedded store.
///
/// An error is [`Unavailable`](crate::ErrorKind::Unavailable) where a repeat may succeed; the write may then
/// have happened. It is [`Internal`](crate::ErrorKind::Internal) where none will: a request beyond
/// [`limits`], or a table that does not exist.
pub trait RecordStore: Send + Sync {
    /// The item at `key`, None where there is none. Strongly consistent.
    fn find<'a>(&'a self, table: &'a str, key: &'a Key) -> BoxFuture<'a, Result<Option<Item>>>;

    /// The items at up to 100 distinct `keys`, in their order. Strongly consistent.
    fn find_many<'a>(&'a self, table: &'a str, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Item>>>>;

    /// Does one step. A repeat after a lost response may be refused by the first attempt.
    fn write(&self, step: Step) -> BoxFuture<'_, Result<Written>>;

    /// Does all steps together or none. Each is about another item. A lost response is never done twice.
    fn transact(&self, steps: Vec<Step>) -> BoxFuture<'_, Result<Written>>;

    /// Adds to a number of an item, which is made where it is missing, and sets
    /// [`EXPIRES_AT`](crate::records::schema::EXPIRES_AT); the new number. A repeat after a lost response may
    /// add twice.
    fn add<'a>(
        &'a self,
        table: &'a str,
        key: &'a Key,
        number: &'a str,
        amount: u64,
        expires_at: i64,
    ) -> BoxFuture<'a, Result<u64>>;

    /// At most `most` items of a range, from `start` on.
    fn page<'a>(
        &'a self,
        table: &'a str,
        query: &'a Query,
        most: usize,
        start: Option<Position>,
    ) -> BoxFuture<'a, Result<Page>>;

    /// Counts the items of a range.
    fn count<'a>(&'a self, table: &'a str, query: &'a Query) -> BoxFuture<'a, Result<u64>>;

    /// A part of a whole table, in any order. Strongly consistent.
    fn scan<'a>(&'a self, table: &'a str, start: Option<Position>) -> BoxFuture<'a, Result<Page>>;
}
