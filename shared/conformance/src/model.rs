//! Stores records in memory: the simplest adapter, to compare others with and to wrap.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use platform::records::schema::{EXPIRES_AT, TableKind, indexes};
use platform::records::store::checks::{check_key, check_keys, check_step, check_values};
use platform::records::store::limits::{MAX_PAGE_BYTES, bytes_of, check_item, check_steps};
use platform::records::store::{Action, Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Changes, Key, Written};
use platform::{Error, Result};

use crate::Tables;
use crate::ranges::{cut, entry, sort};

type Place = (String, String);
type Items = BTreeMap<Place, Item>;

/// Tables in memory; indexes never lag.
#[derive(Clone)]
pub struct Model(Arc<Mutex<BTreeMap<String, Table>>>);

struct Table {
    kind: TableKind,
    items: Items,
}

impl Model {
    pub fn new(tables: &Tables) -> Self {
        let table = |(name, kind): (&str, _)| {
            let items = Items::new();
            (name.to_owned(), Table { kind, items })
        };
        Self(Arc::new(Mutex::new(
            tables.kinds().into_iter().map(table).collect(),
        )))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Table>> {
        self.0.lock()
    }

    fn with<T>(&self, table: &str, read: impl FnOnce(&Table) -> Result<T>) -> Result<T> {
        read(self.lock().get(table).ok_or_else(|| no_table(table))?)
    }

    fn commit(&self, steps: &[Step]) -> Result<Written> {
        let mut tables = self.lock();
        for step in steps {
            check_step(step)?;
            if !tables.contains_key(&*step.table) {
                return Err(no_table(&step.table));
            }
        }
        let refused = steps.iter().position(|step| {
            let item = tables[&*step.table].items.get(&place(&step.key));
            step.condition
                .as_ref()
                .is_some_and(|condition| !condition.holds(item))
        });
        if let Some(step) = refused {
            return Ok(Written::Refused { step });
        }
        let mut after = Vec::new();
        for step in steps {
            let table = &tables[&*step.table];
            let old = table.items.get(&place(&step.key));
            let new = match &step.action {
                Action::Put(item) => Some(item.clone()),
                Action::Update(changes) => Some(updated(&step.key, old, changes)?),
                Action::Delete => None,
                Action::Check => old.cloned(),
            };
            if let Some(item) = &new {
                check_item(item)?;
                check_values(item, indexes(table.kind).iter().copied())?;
            }
            after.push(new);
        }
        for (step, new) in steps.iter().zip(after) {
            let items = tables.get_mut(&*step.table).map(|table| &mut table.items);
            match (items, new) {
                (Some(items), Some(item)) => items.insert(place(&step.key), item),
                (Some(items), None) => items.remove(&place(&step.key)),
                (None, _) => None,
            };
        }
        Ok(Written::Done)
    }

    fn entries(&self, table: &str, query: &Query) -> Result<Vec<Item>> {
        self.with(table, |table| {
            if let Some(index) = query.index
                && !indexes(table.kind).contains(&index)
            {
                return Err(Error::internal(format!("the table has no index {index}")));
            }
            let items = table.items.values();
            let mut entries: Vec<_> = items.filter_map(|item| entry(table.kind, query, item)).collect();
            sort(&mut entries, query);
            Ok(entries)
        })
    }
}

fn updated(key: &Key, old: Option<&Item>, changes: &Changes) -> Result<Item> {
    let mut item = match old {
        Some(item) => item.clone(),
        None => Item::from_record(&Key::new(&key.pk, &key.sk), &serde_json::json!({}))?,
    };
    changes.apply(&mut item)?;
    Ok(item)
}

fn place(key: &Key) -> Place {
    (key.pk.clone(), key.sk.clone())
}

fn no_table(name: &str) -> Error {
    Error::internal(format!("there is no table {name}"))
}

#[async_trait]
impl RecordStore for Model {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        check_key(key)?;
        self.with(table, |table| Ok(table.items.get(&place(key)).cloned()))
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        check_keys(keys)?;
        let found = |key| self.with(table, |table| Ok(table.items.get(&place(key)).cloned()));
        keys.iter().map(found).collect()
    }

    async fn write(&self, step: Step) -> Result<Written> {
        self.commit(&[step])
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        check_steps(&steps)?;
        self.commit(&steps)
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        check_key(key)?;
        if number == EXPIRES_AT {
            return Err(Error::internal(
                "the number to add to is the one that ends the item's life",
            ));
        }
        let mut tables = self.lock();
        let items = &mut tables.get_mut(table).ok_or_else(|| no_table(table))?.items;
        let mut item = updated(key, items.get(&place(key)), &Changes::default())?;
        let before = item.get(number).map_or(Some(0), serde_json::Value::as_u64);
        let after = before.and_then(|before| before.checked_add(amount));
        let after = after.ok_or_else(|| Error::internal(format!("{number} is no such number")))?;
        item.set(number, after);
        item.set(EXPIRES_AT, expires_at);
        check_item(&item)?;
        items.insert(place(key), item);
        Ok(after)
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        Ok(cut(self.entries(table, query)?, query, most, start.as_ref()))
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        Ok(self.entries(table, query)?.len() as u64)
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.with(table, |table| {
            let start = start.map_or(Bound::Unbounded, |start| Bound::Excluded((start.pk, start.sk)));
            let mut page = Page::default();
            let mut bytes = 0;
            for ((pk, sk), item) in table.items.range((start, Bound::Unbounded)) {
                page.items.push(item.clone());
                bytes += bytes_of(item);
                if bytes >= MAX_PAGE_BYTES {
                    page.next = Some(Position {
                        pk: pk.clone(),
                        sk: sk.clone(),
                        in_index: None,
                    });
                    break;
                }
            }
            Ok(page)
        })
    }
}
