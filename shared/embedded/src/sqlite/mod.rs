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
mod scrub;
mod snapshot;
mod statements;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use layout::Tables;
use platform::config::ConfigError;
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

#[async_trait]
impl RecordStore for SqliteRecords {
    /// On the calling thread: a search in two B-trees takes less time than switching to another thread and
    /// back. The largest item takes about a millisecond.
    async fn find(&self, table: &str, key: &Key) -> Result<Option<Item>> {
        check_key(key)?;
        let table = self.tables.get(table)?;
        self.readers.with(|connection| read::find(connection, table, key))
    }

    async fn find_many(&self, table: &str, keys: &[Key]) -> Result<Vec<Option<Item>>> {
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
    }

    async fn write(&self, step: Step) -> Result<Written> {
        self.commit(vec![step]).await
    }

    async fn transact(&self, steps: Vec<Step>) -> Result<Written> {
        self.commit(steps).await
    }

    async fn add(&self, table: &str, key: &Key, number: &str, amount: u64, expires_at: i64) -> Result<u64> {
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
    }

    async fn page(&self, table: &str, query: &Query, most: usize, start: Option<Position>) -> Result<Page> {
        let (table, query) = (table.to_owned(), query.clone());
        self.read(move |connection, tables| {
            read::page(connection, tables.get(&table)?, &query, most, start.as_ref())
        })
        .await
    }

    async fn count(&self, table: &str, query: &Query) -> Result<u64> {
        let (table, query) = (table.to_owned(), query.clone());
        self.read(move |connection, tables| read::count(connection, tables.get(&table)?, &query))
            .await
    }

    async fn scan(&self, table: &str, start: Option<Position>) -> Result<Page> {
        let table = table.to_owned();
        self.read(move |connection, tables| read::scan(connection, tables.get(&table)?, start.as_ref()))
            .await
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
