//! Wraps a record store with faults.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use platform::Result;
use platform::records::schema::TableKind;
use platform::records::store::{Action, Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Key, Written};
use rand::RngExt as _;
use tokio::sync::Mutex;

use super::lag::Place;
use super::{Faults, State, TIMEOUT, chance, lose, slowness, unavailable};
use crate::Tables;
use crate::ranges::{cut, entry, sort};

/// Number of items read at a time from a lagging index.
const READ_AT_ONCE: usize = 1_000;

/// A store with faults around one without. It executes writes one at a time while indexes lag.
pub struct Faulty {
    store: Arc<dyn RecordStore>,
    kinds: Vec<(Arc<str>, TableKind)>,
    faults: Faults,
    writing: Mutex<()>,
}

impl Faulty {
    /// Starts with all faults off; the handle switches them on.
    pub fn new(store: impl RecordStore + 'static, tables: &Tables, seed: u64) -> (Self, Faults) {
        let faults = Faults::seeded(seed);
        (Self::with(Arc::new(store), &tables.kinds(), &faults), faults)
    }

    /// Wraps a store with these tables; the handle switches faults on.
    pub fn with(store: Arc<dyn RecordStore>, tables: &[(&str, TableKind)], faults: &Faults) -> Self {
        let kinds = tables.iter().map(|(name, kind)| ((*name).into(), *kind));
        Self {
            store,
            kinds: kinds.collect(),
            faults: faults.clone(),
            writing: Mutex::new(()),
        }
    }

    /// Yields to other tasks, as a network does; may delay the call, and may fail. Returns whether the call
    /// must time out after it has happened.
    async fn arrive(&self, is_write: bool) -> Result<bool> {
        tokio::task::yield_now().await;
        let arrival = self.faults.lock().arrival(is_write);
        if let Some(slow) = arrival.slow {
            tokio::time::sleep(slow).await;
        }
        match arrival.fate {
            Fate::Done => Ok(false),
            Fate::Throttled => Err(unavailable("a throttled call, by a test")),
            Fate::TimesOut { after: true } => Ok(true),
            Fate::TimesOut { after: false } => Err(timed_out().await),
        }
    }

    async fn read(&self) -> Result<()> {
        self.arrive(false).await.map(drop)
    }

    /// Writes these items, and decides what the caller learns.
    async fn written<T>(
        &self,
        times_out: bool,
        items: Vec<(Arc<str>, Key)>,
        write: impl Future<Output = Result<T>>,
        is_done: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let is_late = self.faults.lock().rates.late > 0;
        let answer = match is_late {
            true => self.written_late(items, write, is_done).await,
            false => write.await,
        };
        if answer.is_ok() && times_out {
            return Err(timed_out().await);
        }
        lose(answer, || self.faults.lock().loses())
    }

    /// Writes one at a time, and decides which items indexes show in their old state.
    async fn written_late<T>(
        &self,
        items: Vec<(Arc<str>, Key)>,
        write: impl Future<Output = Result<T>>,
        is_done: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let _one_at_a_time = self.writing.lock().await;
        let mut before: Vec<(Place, Option<Item>)> = Vec::new();
        for (table, key) in items {
            // The write reports a fault in the key or the table.
            if let Ok(item) = self.store.find(&table, &key).await {
                before.push(((table, key.pk, key.sk), item));
            }
        }
        let answer = write.await;
        if answer.as_ref().map_or(true, is_done) {
            let mut state = self.faults.lock();
            for (place, item) in before {
                state.may_hide(place, item);
            }
        }
        answer
    }

    /// Executes one step once, or twice.
    async fn once_or_twice(&self, step: Step) -> Result<Written> {
        // The DynamoDB adapter sends the other actions as transactions, which are never executed twice.
        let is_single = matches!(step.action, Action::Put(_) | Action::Update(_));
        let again = is_single.then(|| step.clone());
        let first = self.store.write(step).await?;
        let again = again.filter(|_| first == Written::Done && self.faults.lock().repeats());
        match again {
            Some(again) => self.store.write(again).await,
            None => Ok(first),
        }
    }

    /// Returns a range of an index: the entries of the table, with the old entries of lagging items. None if
    /// no item lags.
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

enum Fate {
    Done,
    Throttled,
    /// Before or after the call has happened.
    TimesOut {
        after: bool,
    },
}

struct Arrival {
    slow: Option<Duration>,
    fate: Fate,
}

async fn timed_out() -> platform::Error {
    tokio::time::sleep(TIMEOUT).await;
    unavailable("a call that timed out, by a test")
}

impl State {
    fn arrival(&mut self, is_write: bool) -> Arrival {
        let random = &mut self.records;
        let slow = chance(random, self.rates.slow).then(|| slowness(random));
        self.counts.slow += u64::from(slow.is_some());
        let fate = if chance(random, self.rates.throttled) {
            self.counts.throttled += 1;
            Fate::Throttled
        } else if chance(random, self.rates.timed_out) {
            let after = is_write && random.random_bool(0.5);
            match after {
                true => self.counts.timed_out_written += 1,
                false => self.counts.timed_out += 1,
            }
            Fate::TimesOut { after }
        } else {
            Fate::Done
        };
        Arrival { slow, fate }
    }

    fn contends(&mut self) -> bool {
        let contends = chance(&mut self.records, self.rates.contended);
        self.counts.contended += u64::from(contends);
        contends
    }

    fn loses(&mut self) -> bool {
        let loses = chance(&mut self.records, self.rates.lost);
        self.counts.lost += u64::from(loses);
        loses
    }

    fn repeats(&mut self) -> bool {
        let repeats = chance(&mut self.records, self.rates.repeated);
        self.counts.repeated += u64::from(repeats);
        repeats
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

#[async_trait]
impl RecordStore for Faulty {
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        self.read().await?;
        self.store.find(table, key).await
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
        self.read().await?;
        self.store.find_many(table, keys).await
    }

    async fn write(&self, step: Step) -> Result<Written> {
        let times_out = self.arrive(true).await?;
        if self.faults.lock().contends() {
            return Ok(Written::Contended);
        }
        let items = changed_by(std::slice::from_ref(&step));
        self.written(times_out, items, self.once_or_twice(step), is_done)
            .await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        let times_out = self.arrive(true).await?;
        if self.faults.lock().contends() {
            return Ok(Written::Contended);
        }
        let items = changed_by(&steps);
        self.written(times_out, items, self.store.transact(steps), is_done)
            .await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
        let times_out = self.arrive(true).await?;
        let add = async {
            let sum = self.store.add(table, key, number, amount, expires_at).await?;
            let is_repeated = self.faults.lock().repeats();
            match is_repeated {
                true => self.store.add(table, key, number, amount, expires_at).await,
                false => Ok(sum),
            }
        };
        self.written(times_out, vec![(table.into(), key.clone())], add, |_| true)
            .await
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        self.read().await?;
        match self.behind(table, query).await? {
            Some(shown) => Ok(cut(shown, query, most, start.as_ref())),
            None => self.store.page(table, query, most, start).await,
        }
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        self.read().await?;
        match self.behind(table, query).await? {
            Some(shown) => Ok(shown.len() as u64),
            None => self.store.count(table, query).await,
        }
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        self.read().await?;
        self.store.scan(table, start).await
    }
}
