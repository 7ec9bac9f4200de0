//! Runs the event log on the local runner: its readers, the archiver behind its queue, and the sweeper of due
//! logs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use event_log::archive::{Archiver, ArchiverConfig, Crash};
use event_log::{LogStore, LogStoreConfig};
use platform::Clock;
use platform::archive_hints::ArchiveHints;
use platform::config::{ConfigError, Environment};
use platform::records::logs::Logs;
use sweeper_function::LogSweeper;
use tracing::warn;

use crate::data_dir::DataDir;
use crate::queue::{LocalQueue, Settings};
use crate::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, Services};
use crate::signing_key::LocalSigningKey;

/// Settings of the archive queue of `template.yaml`.
const ARCHIVE: Settings = Settings {
    batch_size: 10,
    max_receives: 10,
    concurrency: 2,
    group_share: usize::MAX,
};
/// Pause between two sweeps for due logs.
const SWEEP: Duration = Duration::from_secs(60);
/// DuckDB's memory limit for writing one file.
const MEMORY_BYTES: u64 = 512 * 1_024 * 1_024;
/// Cache of files for readers, in bytes; it is on the same disk as the object store.
const CACHE_BYTES: u64 = 2 * 1_024 * 1_024 * 1_024;
/// DuckDB's memory limit for one request.
const QUERY_MEMORY_BYTES: u64 = 512 * 1_024 * 1_024;
/// Maximum number of concurrent requests that read the log.
const MAX_QUERIES: usize = 4;

#[derive(Clone)]
pub struct LocalEventLog {
    pub store: LogStore,
    pub archiver: Archiver,
    /// Sends hints at logs with new records.
    pub hints: ArchiveHints,
    /// Queue of these hints.
    pub queue: Arc<LocalQueue>,
    sweeper: Arc<LogSweeper>,
}

impl LocalEventLog {
    pub fn new(
        data: &DataDir,
        services: &Services,
        environment: &Environment,
        clock: &Clock,
    ) -> Result<Self, ConfigError> {
        let table = |name| services.table(name);
        let logs = Logs::new(table(EVENTS_TABLE), table(AUDIT_TABLE));
        let config = ArchiverConfig {
            folder: data.path("cache/archiver"),
            memory_bytes: MEMORY_BYTES,
            crash: Crash::from_environment(environment)?,
            ..ArchiverConfig::from_environment(environment)?
        };
        let objects = services.bucket(DATA_BUCKET);
        let of_readers = LogStoreConfig {
            program: None,
            directory: data.path("cache/log"),
            cache_bytes: CACHE_BYTES,
            query_memory_bytes: QUERY_MEMORY_BYTES,
            max_children: MAX_QUERIES,
        };
        let store = LogStore::new(logs.clone(), objects.clone(), &of_readers)?;
        let archiver = Archiver::new(
            logs.clone(),
            objects,
            Arc::new(LocalSigningKey::of_digests(data)?),
            clock.clone(),
            &config,
        )?;
        let (queue, hints) = start(archiver.clone(), clock, services);
        Ok(Self {
            store,
            archiver,
            sweeper: Arc::new(LogSweeper::new(logs, hints.clone(), clock.clone())),
            hints,
            queue,
        })
    }

    /// Starts the sweeps for due logs.
    pub fn resume(&self) {
        let sweeper = Arc::clone(&self.sweeper);
        tokio::spawn(async move {
            loop {
                if let Err(cause) = sweeper.sweep().await {
                    warn!(%cause, "due logs were not looked for");
                }
                tokio::time::sleep(SWEEP).await;
            }
        });
    }
}

/// Starts the queue of an archiver, which also sends to it.
fn start(archiver: Archiver, clock: &Clock, services: &Services) -> (Arc<LocalQueue>, ArchiveHints) {
    let own = Arc::new(OnceLock::<ArchiveHints>::new());
    let behind = Arc::clone(&own);
    let queue = LocalQueue::start(
        "archive",
        ARCHIVE,
        clock.clone(),
        Arc::new(move |batch| {
            let (archiver, hints) = (archiver.clone(), behind.get().cloned());
            Box::pin(async move {
                match hints {
                    Some(hints) => archiver_function::handle(&archiver, &hints, batch).await,
                    None => Default::default(),
                }
            })
        }),
    );
    let sent = services.layers().queue(queue.clone());
    let hints = own.get_or_init(|| ArchiveHints::new(sent)).clone();
    (queue, hints)
}
