//! An adapter under test, and what the topics of the suite have in common.

use std::fmt::Debug;
use std::sync::Arc;

use platform::ids::new_id;
use platform::records::schema::TableKind;
use platform::records::store::{Action, Item, Position, Query, RecordStore, Step};
use platform::records::{Condition, Key, Written};
use platform::{ErrorKind, Result};
use serde_json::Value;

/// Reads of an index before the adapter is told to settle.
const TRIES: usize = 3;
/// Pages of one walk through a range, after which the walk is taken for endless.
const MAX_PAGES: usize = 1_000;

/// Names of the tables of an adapter. The suite leaves other items in them alone.
#[derive(Clone, Debug)]
pub struct Tables {
    /// A table of the kind [`TableKind::Records`].
    pub records: Arc<str>,
    /// Another one of this kind, for transactions over two tables.
    pub others: Arc<str>,
    /// A table of the kind [`TableKind::Listed`].
    pub listed: Arc<str>,
}

impl Tables {
    /// The names that tests give them.
    pub fn named() -> Self {
        Self {
            records: "records".into(),
            others: "others".into(),
            listed: "listed".into(),
        }
    }

    /// Names and kinds, for what makes tables.
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
    /// A place in an index has the limits of a key in bytes.
    IndexKeyLength,
    /// An update in a transaction leaves the item's key alone.
    KeyUpdate,
}

/// An adapter under test.
#[derive(Clone)]
pub struct Subject {
    /// What is checked.
    pub store: Arc<dyn RecordStore>,
    /// Where the topics put their items.
    pub tables: Tables,
    settle: Arc<dyn Fn() + Send + Sync>,
    gaps: Vec<Gap>,
}

impl Subject {
    /// An adapter whose indexes follow by themselves.
    pub fn new(store: Arc<dyn RecordStore>, tables: Tables) -> Self {
        Self {
            store,
            tables,
            settle: Arc::new(|| {}),
            gaps: Vec::new(),
        }
    }

    /// The same with a way to let indexes catch up.
    #[must_use]
    pub fn settled_by(mut self, settle: impl Fn() + Send + Sync + 'static) -> Self {
        self.settle = Arc::new(settle);
        self
    }

    /// The same of an emulator that lacks these rules. The suite fails where it has one after all.
    #[must_use]
    pub fn lacking(mut self, gaps: &[Gap]) -> Self {
        self.gaps = gaps.to_vec();
        self
    }

    /// Checks that a rule refuses a request for good; that an adapter without the rule does not.
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

    /// Writes an item of the table of records, whatever is there.
    pub(crate) async fn put(&self, key: &Key, record: &Value) -> Item {
        self.put_into(&self.tables.records, key, record).await
    }

    pub(crate) async fn put_into(&self, table: &str, key: &Key, record: &Value) -> Item {
        let item = Item::of(key, record).unwrap();
        let written = self
            .store
            .write(step(table, key, Action::Put(item.clone()), None))
            .await;
        assert_eq!(written.unwrap(), Written::Done, "{key:?}");
        item
    }

    /// The item of the table of records.
    pub(crate) async fn find(&self, key: &Key) -> Option<Item> {
        self.store.find(&self.tables.records, key).await.unwrap()
    }

    /// The items of a range, read in pages of `most` items.
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

    /// Repeats a read of an index until it gives what is expected; the last answer. Tells the adapter to
    /// settle before the last try.
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

/// Checks that a request is refused for good.
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

/// A partition key that no other test has.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}#{}", new_id(platform::UtcTime::EPOCH))
}

/// The values of a text attribute, in the order of the items.
pub(crate) fn texts<'a>(items: &'a [Item], name: &str) -> Vec<&'a str> {
    items.iter().map(|item| item.text(name).unwrap()).collect()
}
