//! Stores records in one SQLite file.
//!
//! One thread writes: it commits all waiting requests together, with one sync of the disk. Reads have their
//! own connections and see the last commit. The file is in WAL mode, and another process may use it at the
//! same time, so no content is cached beyond a statement.

mod busy;
mod expire;
mod failure;
mod integrity;
mod layout;
mod open;
mod places;
mod plan;
mod queue;
mod range;
mod read;
mod readers;
mod snapshot;
mod statements;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use layout::Tables;
use platform::config::ConfigError;
use platform::queue::BoxFuture;
use platform::records::schema::{EXPIRES_AT, TableKind};
use platform::records::store::checks::{check_key, check_keys};
use platform::records::store::{
    Action, Changes, Item, Key, Page, Position, Query, RecordStore, Step, Written,
};
use platform::{Error, Result};
use queue::{Queue, Request};
use readers::Readers;
pub use snapshot::Snapshot;

/// Maximum number of keys that are read on the calling thread.
const MAX_KEYS_ON_CALLER: usize = 4;

pub struct SqliteRecords {
    path: PathBuf,
    tables: Arc<Tables>,
    readers: Arc<Readers>,
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteRecords {
    /// Opens or creates the file, and adds missing tables. Refuses a file without records or without write
    /// access, with a sentence for the operator.
    pub fn open(path: &Path, tables: &[(&str, TableKind)]) -> Result<Self, ConfigError> {
        Self::open_with(path, tables, None)
    }

    /// As [`open`](Self::open), with a limit on the size of the file, for tests of a full disk.
    fn open_with(
        path: &Path,
        tables: &[(&str, TableKind)],
        max_pages: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let (connection, tables) = open::open(path, tables, max_pages)?;
        let (tables, queue) = (Arc::new(tables), Arc::new(Queue::default()));
        let writer = writer::start(connection, Arc::clone(&tables), Arc::clone(&queue));
        let writer = writer.map_err(|error| {
            ConfigError::new(format!("The thread that writes records cannot start: {error}."))
        })?;
        Ok(Self {
            path: path.to_owned(),
            tables,
            readers: Arc::new(Readers::new(path)),
            queue,
            writer: Some(writer),
        })
    }

    async fn commit(&self, steps: Vec<Step>) -> Result<Written> {
        let (request, answer) = Request::new(steps, None)?;
        self.queue.push(request)?;
        Ok(answered(answer.await)?.written)
    }

    /// Reads on a blocking thread; as many concurrent reads as there are processors.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&rusqlite::Connection, &Tables) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = self.readers.turn().await?;
        let (readers, tables) = (Arc::clone(&self.readers), Arc::clone(&self.tables));
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.with(|connection| read(connection, &tables))
        });
        reading.await.map_err(Error::internal)?
    }
}

impl RecordStore for SqliteRecords {
    /// On the calling thread: a search in two B-trees takes less time than switching to another thread and
    /// back. The largest item takes about a millisecond.
    fn find<'a>(&'a self, table: &'a str, key: &'a Key) -> BoxFuture<'a, Result<Option<Item>>> {
        Box::pin(async move {
            check_key(key)?;
            let table = self.tables.get(table)?;
            self.readers.with(|connection| read::find(connection, table, key))
        })
    }

    fn find_many<'a>(&'a self, table: &'a str, keys: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Item>>>> {
        Box::pin(async move {
            check_keys(keys)?;
            if keys.len() <= MAX_KEYS_ON_CALLER {
                let table = self.tables.get(table)?;
                return self
                    .readers
                    .with(|connection| read::find_many(connection, table, keys));
            }
            let (table, keys) = (table.to_owned(), keys.to_vec());
            self.read(move |connection, tables| read::find_many(connection, tables.get(&table)?, &keys))
                .await
        })
    }

    fn write(&self, step: Step) -> BoxFuture<'_, Result<Written>> {
        Box::pin(self.commit(vec![step]))
    }

    fn transact(&self, steps: Vec<Step>) -> BoxFuture<'_, Result<Written>> {
        Box::pin(self.commit(steps))
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
            let amount = i64::try_from(amount).map_err(Error::internal)?;
            let changes = Changes::default()
                .add(number, amount)
                .set(EXPIRES_AT, &expires_at)?;
            let step = Step {
                table: table.into(),
                key: key.clone(),
                action: Action::Update(changes),
                condition: None,
            };
            let (request, answer) = Request::new(vec![step], Some(number.to_owned()))?;
            self.queue.push(request)?;
            let number = answered(answer.await)?.number;
            number.ok_or_else(|| Error::internal("a number that was added to is negative"))
        })
    }

    fn page<'a>(
        &'a self,
        table: &'a str,
        query: &'a Query,
        most: usize,
        start: Option<Position>,
    ) -> BoxFuture<'a, Result<Page>> {
        let (table, query) = (table.to_owned(), query.clone());
        Box::pin(self.read(move |connection, tables| {
            read::page(connection, tables.get(&table)?, &query, most, start.as_ref())
        }))
    }

    fn count<'a>(&'a self, table: &'a str, query: &'a Query) -> BoxFuture<'a, Result<u64>> {
        let (table, query) = (table.to_owned(), query.clone());
        Box::pin(self.read(move |connection, tables| read::count(connection, tables.get(&table)?, &query)))
    }

    fn scan<'a>(&'a self, table: &'a str, start: Option<Position>) -> BoxFuture<'a, Result<Page>> {
        let table = table.to_owned();
        Box::pin(
            self.read(move |connection, tables| read::scan(connection, tables.get(&table)?, start.as_ref())),
        )
    }
}

impl Drop for SqliteRecords {
    /// Waits until accepted requests are written. The writer's connection closes last, because only a writing
    /// connection can move the WAL's content into the file.
    fn drop(&mut self) {
        self.readers.close();
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn answered<T, E>(answer: Result<Result<T>, E>) -> Result<T> {
    answer.map_err(|_| Error::unavailable("the thread that writes records has ended"))?
}
