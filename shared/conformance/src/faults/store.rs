//! The store around another one.

use std::future::Future;
use std::sync::Arc;

use platform::Result;
use platform::queue::BoxFuture;
use platform::records::schema::TableKind;
use platform::records::store::{Action, Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Key, Written};
use tokio::sync::Mutex;

use super::Faults;
use super::lag::Place;
use crate::Tables;
use crate::ranges::{cut, entry, sort};

/// Items that are read at a time, of an index that is behind.
const READ_AT_ONCE: usize = 1_000;

/// A store that makes faults around one that makes none. Its writes happen one at a time while indexes are
/// late.
pub struct Faulty<S> {
    store: S,
    kinds: Vec<(Arc<str>, TableKind)>,
    faults: Faults,
    writing: Mutex<()>,
}

impl<S: RecordStore> Faulty<S> {
    /// Makes no faults yet: the handle switches them on.
    pub fn new(store: S, tables: &Tables, seed: u64) -> (Self, Faults) {
        let kinds = tables.kinds().map(|(name, kind)| (name.into(), kind));
        let faults = Faults::seeded(seed);
        let faulty = Self {
            store,
            kinds: kinds.to_vec(),
            faults: faults.clone(),
            writing: Mutex::new(()),
        };
        (faulty, faults)
    }

    /// Gives others a turn, as a network does, and may be throttled.
    async fn arrive(&self) -> Result<()> {
        tokio::task::yield_now().await;
        self.faults.throttle()
    }

    /// Does a write of these items, and decides what indexes and the caller learn of it.
    async fn written<T>(
        &self,
        items: Vec<(Arc<str>, Key)>,
        write: impl Future<Output = Result<T>>,
        is_done: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let is_late = self.faults.lock().rates.late > 0;
        let _one_at_a_time = match is_late {
            true => Some(self.writing.lock().await),
            false => None,
        };
        let mut before: Vec<(Place, Option<Item>)> = Vec::new();
        if is_late {
            for (table, key) in items {
                // What is wrong with the key or the table is the write's to tell.
                if let Ok(item) = self.store.find(&table, &key).await {
                    before.push(((table, key.pk, key.sk), item));
                }
            }
        }
        let answer = write.await;
        if answer.as_ref().map_or(true, is_done) {
            let mut state = self.faults.lock();
            for (place, item) in before {
                state.may_hide(place, item);
            }
        }
        self.faults.lose(answer)
    }

    /// What an index shows of a range: the entries of the table, but old ones of items that are behind. None
    /// where none is.
    async fn behind(&self, table: &str, query: &Query) -> Result<Option<Vec<Item>>> {
        let kind = self.kinds.iter().find(|(name, _)| &**name == table);
        let (Some((_, kind)), Some(_)) = (kind, query.index) else {
            return Ok(None);
        };
        let hidden = self.faults.lock().lag.read(table);
        if hidden.is_empty() {
            return Ok(None);
        }
        let mut current = Vec::new();
        let mut start = None;
        loop {
            let page = self.store.page(table, query, READ_AT_ONCE, start).await?;
            current.extend(page.items);
            start = page.next;
            if start.is_none() {
                break;
            }
        }
        sort(&mut current, query);
        let is_hidden = |item: &Item| {
            let mut keys = hidden.iter().map(|(key, _)| key);
            keys.any(|key| (item.text("pk"), item.text("sk")) == (Some(&key.pk), Some(&key.sk)))
        };
        let mut shown: Vec<_> = current.iter().filter(|item| !is_hidden(item)).cloned().collect();
        let old = hidden
            .iter()
            .filter_map(|(_, before)| entry(*kind, query, before.as_ref()?));
        shown.extend(old);
        sort(&mut shown, query);
        if shown != current {
            self.faults.lock().counts.stale_reads += 1;
        }
        Ok(Some(shown))
    }
}

fn is_done(written: &Written) -> bool {
    *written == Written::Done
}

fn changed_by(steps: &[Step]) -> Vec<(Arc<str>, Key)> {
    let changing = steps.iter().filter(|step| !matches!(step.action, Action::Check));
    changing
        .map(|step| (Arc::clone(&step.table), step.key.clone()))
        .collect()
}

impl<S: RecordStore> RecordStore for Faulty<S> {
    fn find<'a>(&'a self, table: &'a str, key: &'a Key) -> BoxFuture<'a, Result<Option<Item>>> {
        Box::pin(async move {
            self.arrive().await?;
            self.store.find(table, key).await
        })
    }

    fn find_many<'a>(&'a self, table: &'a str, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Item>>>> {
        Box::pin(async move {
            self.arrive().await?;
            self.store.find_many(table, keys).await
        })
    }

    fn write(&self, step: Step) -> BoxFuture<'_, Result<Written>> {
        Box::pin(async move {
            self.arrive().await?;
            if self.faults.contends() {
                return Ok(Written::Contended);
            }
            let items = changed_by(std::slice::from_ref(&step));
            self.written(items, self.store.write(step), is_done).await
        })
    }

    fn transact(&self, steps: Vec<Step>) -> BoxFuture<'_, Result<Written>> {
        Box::pin(async move {
            self.arrive().await?;
            if self.faults.contends() {
                return Ok(Written::Contended);
            }
            let items = changed_by(&steps);
            self.written(items, self.store.transact(steps), is_done).await
        })
    }

    fn add<'a>(
        &'a self,
        table: &'a str,
        key: &'a Key,
        number: &'a str,
        amount: u64,
        expires_at: i64,
    ) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            self.arrive().await?;
            let add = self.store.add(table, key, number, amount, expires_at);
            self.written(vec![(table.into(), key.clone())], add, |_| true)
                .await
        })
    }

    fn page<'a>(
        &'a self,
        table: &'a str,
        query: &'a Query,
        most: usize,
        start: Option<Position>,
    ) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            self.arrive().await?;
            match self.behind(table, query).await? {
                Some(shown) => Ok(cut(shown, query, most, start.as_ref())),
                None => self.store.page(table, query, most, start).await,
            }
        })
    }

    fn count<'a>(&'a self, table: &'a str, query: &'a Query) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            self.arrive().await?;
            match self.behind(table, query).await? {
                Some(shown) => Ok(shown.len() as u64),
                None => self.store.count(table, query).await,
            }
        })
    }

    fn scan<'a>(&'a self, table: &'a str, start: Option<Position>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            self.arrive().await?;
            self.store.scan(table, start).await
        })
    }
}
