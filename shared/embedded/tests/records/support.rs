//! Provides a store in its own folder, and short functions to build steps.

use std::path::PathBuf;

use embedded::sqlite::SqliteRecords;
use platform::records::schema::TableKind;
use platform::records::store::{
    Action, Changes, Condition, Item, Key, Order, Position, Query, RecordStore as _, Step, Written,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Indexes carry whole items.
pub const RECORDS: &str = "records";
/// Indexes carry summaries.
pub const LISTED: &str = "listed";
pub const TABLES: [(&str, TableKind); 2] = [(RECORDS, TableKind::Records), (LISTED, TableKind::Listed)];

pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn open(&self) -> SqliteRecords {
        SqliteRecords::open(&self.path("records.db"), &TABLES).unwrap()
    }
}

/// Returns the error of opening a file.
pub fn refusal(path: &std::path::Path) -> String {
    SqliteRecords::open(path, &TABLES)
        .err()
        .expect("the file must be refused")
        .to_string()
}

pub fn key(sk: &str) -> Key {
    Key::new("p", sk)
}

pub fn item(key: &Key, record: Value) -> Item {
    Item::from_record(key, &record).unwrap()
}

pub fn step(table: &str, key: Key, action: Action, condition: Option<Condition>) -> Step {
    Step {
        table: table.into(),
        key,
        action,
        condition,
    }
}

pub fn put(table: &str, key: Key, record: Value) -> Step {
    let item = item(&key, record);
    step(table, key, Action::Put(item), None)
}

pub fn update(table: &str, key: Key, changes: Changes) -> Step {
    step(table, key, Action::Update(changes), None)
}

pub fn check(sk: &str, condition: Condition) -> Step {
    step(RECORDS, key(sk), Action::Check, Some(condition))
}

pub async fn done(store: &SqliteRecords, step: Step) {
    assert_eq!(store.write(step).await.unwrap(), Written::Done);
}

pub async fn found(store: &SqliteRecords, sk: &str) -> Option<Value> {
    let item = store.find(RECORDS, &key(sk)).await.unwrap();
    item.map(|item| Value::Object(item.into_attributes()))
}

/// Returns every item of a range, page by page, and the sizes of the pages.
pub async fn all(store: &SqliteRecords, table: &str, query: &Query, most: usize) -> (Vec<Item>, Vec<usize>) {
    let (mut items, mut sizes, mut start) = (Vec::new(), Vec::new(), None::<Position>);
    loop {
        let page = store.page(table, query, most, start).await.unwrap();
        sizes.push(page.items.len());
        items.extend(page.items);
        match page.next {
            Some(next) => start = Some(next),
            None => return (items, sizes),
        }
    }
}

pub fn texts(items: &[Item], name: &str) -> Vec<String> {
    items
        .iter()
        .map(|item| item.text(name).unwrap().to_owned())
        .collect()
}

pub fn both(query: Query) -> [Query; 2] {
    [
        query.clone().order(Order::Ascending),
        query.order(Order::Descending),
    ]
}

pub fn counter(number: u64) -> Value {
    json!({ "number": number })
}
