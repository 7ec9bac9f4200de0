//! Executes one operation, and returns its outcome.

use platform::records::store::{Action, Item, RecordStore, Step};
use platform::records::{Changes, Key, Order, Query, Written};
use platform::{ErrorKind, Result};

use super::{Act, At, Change, InIndex, Operation, Part, Range, Sort};
use crate::Tables;
use crate::ranges::sort;

#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Found(Vec<Option<Item>>),
    Written(Written),
    Number(u64),
    Failed(ErrorKind),
}

fn table(tables: &Tables, place: usize) -> &str {
    tables.kinds()[place].0
}

pub(super) async fn run(
    store: &dyn RecordStore,
    tables: &Tables,
    prefix: &str,
    operation: &Operation,
) -> Outcome {
    let outcome = match operation {
        Operation::Find(items) => find(store, tables, prefix, items).await.map(Outcome::Found),
        Operation::Write(change) => {
            let step = step(tables, prefix, change);
            store.write(step).await.map(Outcome::Written)
        }
        Operation::Transact(changes) => {
            let steps = changes
                .iter()
                .map(|change| step(tables, prefix, change))
                .collect();
            store.transact(steps).await.map(Outcome::Written)
        }
        Operation::Add(at, amount) => {
            let (table, key) = (table(tables, at.table), key(prefix, *at));
            // Later than any removal of expired items.
            let added = store.add(table, &key, "hits", *amount, 32_503_680_000).await;
            added.map(Outcome::Number)
        }
        Operation::Read(range, most) => read(store, tables, prefix, range, *most)
            .await
            .map(Outcome::Found),
        Operation::Count(range) => {
            let counted = store
                .count(table(tables, range.table), &query(prefix, range))
                .await;
            counted.map(Outcome::Number)
        }
    };
    outcome.unwrap_or_else(|error| Outcome::Failed(error.kind()))
}

async fn find(
    store: &dyn RecordStore,
    tables: &Tables,
    prefix: &str,
    items: &[At],
) -> Result<Vec<Option<Item>>> {
    let keys: Vec<_> = items.iter().map(|at| key(prefix, *at)).collect();
    let table = table(tables, items[0].table);
    if let [key] = &*keys {
        return Ok(vec![store.find(table, key).await?]);
    }
    store.find_many(table, &keys).await
}

/// The adapter chooses the order of items with the same place in an index.
async fn read(
    store: &dyn RecordStore,
    tables: &Tables,
    prefix: &str,
    range: &Range,
    most: usize,
) -> Result<Vec<Option<Item>>> {
    let query = query(prefix, range);
    let mut items = Vec::new();
    let mut start = None;
    loop {
        let page = store
            .page(table(tables, range.table), &query, most, start)
            .await?;
        assert!(page.items.len() <= most, "a page of more than {most} items");
        items.extend(page.items);
        start = page.next;
        if start.is_none() {
            break;
        }
    }
    let [_, sk_name] = crate::ranges::names(&query);
    let sort_keys = |items: &[Item]| -> Vec<_> {
        items
            .iter()
            .map(|item| item.text(&sk_name).map(str::to_owned))
            .collect()
    };
    let order = sort_keys(&items);
    sort(&mut items, &query);
    assert_eq!(sort_keys(&items), order, "{query:?}");
    Ok(items.into_iter().map(Some).collect())
}

fn step(tables: &Tables, prefix: &str, change: &Change) -> Step {
    let mut key = key(prefix, change.at);
    let action = match &change.action {
        Act::Put(attributes, places) => {
            for place in places {
                key = key
                    .listed_at(place.sk)
                    .with_index(place.index, pk(prefix, place.pk));
            }
            let mut item = Item::from_record(&key, &serde_json::json!({})).unwrap();
            for (name, value) in attributes {
                item.set(*name, value.clone());
            }
            Action::Put(item)
        }
        Act::Update(parts) => Action::Update(
            parts
                .iter()
                .fold(Changes::default(), |changes, part| with(changes, prefix, part)),
        ),
        Act::Delete => Action::Delete,
        Act::Check => Action::Check,
    };
    crate::subject::step(
        table(tables, change.at.table),
        &key,
        action,
        change.condition.clone(),
    )
}

fn with(changes: Changes, prefix: &str, part: &Part) -> Changes {
    match part {
        Part::Set(name, value) => changes.set(name, value).unwrap(),
        Part::Append(name, values) => changes.append(name, values).unwrap(),
        Part::Add(name, amount) => changes.add(name, *amount),
        Part::Remove(name) => changes.remove(name),
        Part::Place(InIndex { index, pk, sk }) => {
            changes.place(index, self::pk(prefix, *pk), (*sk).to_owned())
        }
        Part::Leave(index) => changes.leave(index),
    }
}

fn query(prefix: &str, range: &Range) -> Query {
    let mut query = Query::partition(pk(prefix, range.pk));
    query.index = range.index;
    if range.is_descending {
        query = query.order(Order::Descending);
    }
    match range.sort {
        Sort::All => query,
        Sort::Prefix(prefix) => query.prefix(prefix),
        Sort::Between(low, high) => query.between(low, high),
    }
}

fn key(prefix: &str, at: At) -> Key {
    Key::new(pk(prefix, at.pk), at.sk)
}

fn pk(prefix: &str, number: u8) -> String {
    format!("{prefix}{number}")
}
