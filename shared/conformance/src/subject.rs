//! Wraps an adapter under test, and provides what the topics of the suite share.

use std::fmt::Debug;
use std::sync::Arc;

use platform::ids::new_id;
use platform::records::schema::TableKind;
use platform::records::store::{Action, Item, Position, Query, RecordStore, Step};
use platform::records::{Condition, Key, Written};
use platform::{ErrorKind, Result};
use serde_json::Value;

/// Number of index reads before the adapter must settle.
const TRIES: usize = 3;
/// Maximum number of pages in a walk through a range, which then counts as endless.
const MAX_PAGES: usize = 1_000;

/// Names of an adapter's tables. The suite does not touch other items in them.
#[derive(Clone, Debug)]
pub struct Tables {
    /// A table of the kind [`TableKind::Records`].
    pub records: Arc<str>,
    /// Another table of this kind, for transactions over two tables.
    pub others: Arc<str>,
    /// A table of the kind [`TableKind::Listed`].
    pub listed: Arc<str>,
}

impl Tables {
    /// Returns the names that tests use.
    pub fn named() -> Self {
        Self {
            records: "records".into(),
            others: "others".into(),
            listed: "listed".into(),
        }
    }

    /// Returns names and kinds, for code that creates tables.
    pub fn kinds(&self) -> [(&str, TableKind); 3] {
        [
            (&self.records, TableKind::Records),
            (&self.others, TableKind::Records),
            (&self.listed, TableKind::Listed),
        ]
    }
}

/// A rule of DynamoDB that an emulator may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// A place in an index has the length limits of a key.
    IndexKeyLength,
    /// An update in a transaction must not change the item's key.
    KeyUpdate,
}

#[derive(Clone)]
pub struct Subject {
    pub store: Arc<dyn RecordStore>,
    /// Tables for the items of the topics.
    pub tables: Tables,
    settle: Arc<dyn Fn() + Send + Sync>,
    gaps: Vec<Gap>,
}

impl Subject {
    /// Wraps an adapter whose indexes catch up by themselves.
    pub fn new(store: Arc<dyn RecordStore>, tables: Tables) -> Self {
        Self {
            store,
            tables,
            settle: Arc::new(|| {}),
            gaps: Vec::new(),
        }
    }

    /// Sets a function that makes indexes catch up.
    #[must_use]
    pub fn settled_by(mut self, settle: impl Fn() + Send + Sync + 'static) -> Self {
        self.settle = Arc::new(settle);
        self
    }

    /// Declares rules that an emulator lacks. The suite fails if the emulator has one of them.
    #[must_use]
    pub fn lacking(mut self, gaps: &[Gap]) -> Self {
        self.gaps = gaps.to_vec();
        self
    }

    /// Checks that a rule refuses a request with a final error, or that an adapter without the rule does not
    /// refuse it.
    #[track_caller]
    pub(crate) fn refused<T: Debug>(
        &self,
        rule: impl Into<Option<Gap>>,
        what: &impl Debug,
        result: Result<T>,
    ) {
        let is_lacking = rule.into().is_some_and(|rule| self.gaps.contains(&rule));
        let kind = result.map_err(|error| error.kind());
        match kind {
            Ok(_) if is_lacking => {}
            Err(kind) if !is_lacking => assert_eq!(kind, ErrorKind::Internal, "{what:?}"),
            answer => wrong(what, &answer, is_lacking),
        }
    }

    pub(crate) async fn write(
        &self,
        key: &Key,
        action: Action,
        condition: impl Into<Option<Condition>>,
    ) -> Result<Written> {
        let step = step(&self.tables.records, key, action, condition);
        self.store.write(step).await
    }

    /// Writes an item of the table of records unconditionally.
    pub(crate) async fn put(&self, key: &Key, record: &Value) -> Item {
        self.put_into(&self.tables.records, key, record).await
    }

    pub(crate) async fn put_into(&self, table: &str, key: &Key, record: &Value) -> Item {
        let item = Item::from_record(key, record).unwrap();
        let written = self
            .store
            .write(step(table, key, Action::Put(item.clone()), None))
            .await;
        assert_eq!(written.unwrap(), Written::Done, "{key:?}");
        item
    }

    pub(crate) async fn find(&self, key: &Key) -> Option<Item> {
        self.store.find(&self.tables.records, key).await.unwrap()
    }

    /// Returns the items of a range, read in pages of `most` items.
    pub(crate) async fn walk(&self, table: &str, query: &Query, most: usize) -> Vec<Item> {
        self.walk_from(table, query, most, None).await
    }

    pub(crate) async fn walk_from(
        &self,
        table: &str,
        query: &Query,
        most: usize,
        mut start: Option<Position>,
    ) -> Vec<Item> {
        let mut items = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.store.page(table, query, most, start).await.unwrap();
            assert!(page.items.len() <= most, "a page of more than {most} items");
            items.extend(page.items);
            start = page.next;
            if start.is_none() {
                return items;
            }
        }
        unreachable_end(query)
    }

    /// Waits until a range of an index has these items in this order, read in pages of each size.
    pub(crate) async fn shows(&self, table: &str, query: &Query, expected: &[Item]) {
        for most in [1, 2, 100] {
            let seen = self.eventually(expected, || self.walk(table, query, most)).await;
            assert_eq!(seen, expected, "{query:?} in pages of {most}");
        }
        let expected = expected.len() as u64;
        let count = || async { self.store.count(table, query).await.unwrap() };
        assert_eq!(
            self.eventually(&expected, count).await,
            expected,
            "count of {query:?}"
        );
    }

    /// Repeats a read of an index until it returns the expected value, and returns the last answer. Makes the
    /// adapter settle before the last attempt.
    pub(crate) async fn eventually<T, E: ?Sized>(&self, expected: &E, read: impl AsyncFn() -> T) -> T
    where
        T: PartialEq<E>,
    {
        for _ in 0..TRIES {
            let seen = read().await;
            if seen == *expected {
                return seen;
            }
            tokio::task::yield_now().await;
        }
        (self.settle)();
        read().await
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "an adapter that fails here fails the test")]
fn wrong(what: &dyn Debug, answer: &dyn Debug, is_lacking: bool) -> ! {
    panic!("{what:?} is answered with {answer:?}; the rule is named as lacking: {is_lacking}")
}

#[expect(clippy::panic, reason = "an adapter that fails here fails the test")]
fn unreachable_end(query: &Query) -> ! {
    panic!("{query:?} has no end")
}

/// Checks that a request fails with a final error.
#[track_caller]
pub(crate) fn refused<T: Debug>(result: Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Internal);
}

pub(crate) fn step(table: &str, key: &Key, action: Action, condition: impl Into<Option<Condition>>) -> Step {
    Step {
        table: table.into(),
        key: key.clone(),
        action,
        condition: condition.into(),
    }
}

/// Returns a partition key that no other test uses.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}#{}", new_id(platform::UtcTime::EPOCH))
}

/// Returns the values of a text attribute, in the order of the items.
pub(crate) fn texts<'a>(items: &'a [Item], name: &str) -> Vec<&'a str> {
    items.iter().map(|item| item.text(name).unwrap()).collect()
}
