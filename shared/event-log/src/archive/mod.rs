//! Archives a log: moves the tail into files, and only then lets its records expire.
//!
//! One pass over one log settles what an earlier pass left unsettled, writes the tail into a file for each
//! day on which records came, merges small files, signs a digest once an hour is over, collects objects that
//! no file item names, and sets the time of the next pass. Files are committed together with the head of the
//! log, under its revision: of two archivers one commits, and the other removes its files. After a crash, the
//! next pass finishes the work.

mod collection;
mod config;
mod digests;
mod merging;
mod records;
mod repeats;
mod rounds;
mod schedule;
mod settling;
mod steps;
mod turns;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use events::records::events::Events;
use events::retention::Retention;
use lake::{Engine, FolderSession};
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::records::logs::{LogHead, LogId, LogKind};
use platform::signing::SigningKey;
use platform::{Clock, Error, Result, UtcTime, metrics};
use tempfile::TempDir;
use tracing::info;
use turns::{Permit, Turns};

pub use config::ArchiverConfig;
pub use steps::{Crash, Step};

use crate::logs::{LogFile, Logs};

/// Time limit of a DuckDB job in a pass.
const JOB_DEADLINE: Duration = Duration::from_secs(120);
/// Time after which a pass starts no further round, in milliseconds: the queue gives a function several logs.
pub const PASS_BUDGET_MS: u64 = 100_000;
/// Maximum number of concurrent passes of one process: each holds a batch of records in memory.
const PASSES_AT_ONCE: usize = 2;

#[derive(Clone)]
pub struct Archiver {
    inner: Arc<Inner>,
}

struct Inner {
    logs: Logs,
    objects: Objects,
    engine: Engine,
    key: Arc<dyn SigningKey>,
    clock: Clock,
    /// Folder for unfinished files, by account.
    folder: PathBuf,
    retention: Retention,
    crash: Crash,
    turns: Turns,
}

/// Results of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Number of newly archived records.
    pub records: u64,
    /// Number of written files, including merged ones.
    pub files: u64,
    /// Number of files merged into others.
    pub merged: u64,
    /// Number of records whose event id is already in the log.
    pub repeats: u64,
    /// Number of records that cannot be parsed and stay in the tail.
    pub unreadable: u64,
    /// Number of archived events whose expiry was extended, because an open delivery names them.
    pub kept: u64,
    pub digests: u64,
    pub removed: u64,
    /// Age of the oldest record of the tail at the start of the pass, in seconds.
    pub lag_s: u64,
    /// Whether the tail holds more than the pass had time for: the next pass is then due at once.
    pub more: bool,
    /// Whether another archiver changed the log meanwhile; it does the remaining work.
    pub lost: bool,
    /// Duration of the pass.
    pub took_ms: u64,
}

/// The right of an account to make passes, one at a time, until it is dropped.
pub struct Turn<'a> {
    archiver: &'a Inner,
    _permit: Permit<'a>,
}

impl Archiver {
    /// Signs digests with the key `MILLRACE_DIGEST_KEY`.
    pub fn from_deployment(deployment: &Deployment, config: &ArchiverConfig) -> Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let logs = Logs::new(events, deployment.table(variables::AUDIT_TABLE)?);
        let objects = deployment.bucket(variables::DATA_BUCKET)?;
        let key = deployment.signing_key(variables::DIGEST_KEY)?;
        Self::new(logs, objects, key, deployment.clock(), config)
    }

    /// `key` signs the digests. Empties the folder, which must belong to this archiver alone.
    pub fn new(
        logs: Logs,
        objects: Objects,
        key: Arc<dyn SigningKey>,
        clock: Clock,
        config: &ArchiverConfig,
    ) -> Result<Self, ConfigError> {
        let (engine, folder) = config.open()?;
        Ok(Self {
            inner: Arc::new(Inner {
                logs,
                objects,
                engine,
                key,
                clock,
                folder,
                retention: config.retention,
                crash: config.crash,
                turns: Turns::new(PASSES_AT_ONCE),
            }),
        })
    }

    /// Waits for a turn of an account: the accounts take turns, however many logs one has.
    pub async fn turn(&self, account: &str) -> Result<Turn<'_>> {
        Ok(Turn {
            archiver: &self.inner,
            _permit: self.inner.turns.take(account).await?,
        })
    }

    /// Makes one pass over a log, in a turn of its account.
    pub async fn pass(&self, log: &LogId) -> Result<Passed> {
        self.turn(&log.account).await?.pass(log, Signing::Hourly).await
    }
}

/// When a pass signs a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// Once an hour with new files is over.
    Hourly,
    /// Also for new files of the current hour.
    Now,
}

impl Turn<'_> {
    /// Makes one pass over a log of the account. Does nothing where the log does not exist.
    pub async fn pass(&self, log: &LogId, signing: Signing) -> Result<Passed> {
        let inner = self.archiver;
        let Some(head) = inner.logs.head(log).await? else {
            return Ok(Passed::default());
        };
        let folder = inner.folder.join(&log.account);
        std::fs::create_dir_all(&folder).map_err(Error::internal)?;
        let mut pass = Pass {
            archiver: inner,
            log,
            head,
            signing,
            began: inner.clock.now(),
            work: TempDir::new_in(&folder).map_err(Error::internal)?,
            folder,
            passed: Passed::default(),
            touched: BTreeSet::new(),
        };
        let finished = pass.run().await?;
        pass.passed.lost = !finished;
        pass.passed.took_ms = pass.now().millis_since(pass.began);
        pass.report();
        Ok(pass.passed)
    }
}

/// One pass. Its methods return false where another archiver changed the log: the pass then ends.
struct Pass<'a> {
    archiver: &'a Inner,
    log: &'a LogId,
    /// Head as last read or written.
    head: LogHead,
    signing: Signing,
    began: UtcTime,
    /// Folder with all files of the account, which its children can read.
    folder: PathBuf,
    /// Files of this pass, in `folder`.
    work: TempDir,
    passed: Passed,
    /// Days that got new files.
    touched: BTreeSet<String>,
}

impl Pass<'_> {
    async fn run(&mut self) -> Result<bool> {
        if !self.write_signed_digest().await? {
            return Ok(false);
        }
        self.settle_committed().await?;
        let Some(more) = self.archive_tail().await? else {
            return Ok(false);
        };
        // Work that reads all file items is done where there is time for it, and once an hour.
        self.passed.more = more;
        let looks_at_all = !more && (self.passed.records == 0 || self.is_digest_due());
        if looks_at_all {
            let events = Events::new(self.archiver.logs.events().clone());
            self.passed.kept = events
                .retaining(self.archiver.retention)
                .keep_named(self.log, self.now())
                .await?;
        }
        Ok(self.merge_days(looks_at_all).await?
            && (!(self.is_digest_due() || looks_at_all && self.is_key_replaced().await?)
                || self.sign_digest().await?)
            && (!looks_at_all || self.collect().await?)
            && self.end(more).await?)
    }

    async fn end(&mut self, more: bool) -> Result<bool> {
        let idle_passes = match self.passed.records {
            0 => self.head.idle_passes.saturating_add(1),
            _ => 0,
        };
        let mut next = LogHead {
            unsettled: Vec::new(),
            idle_passes,
            ..self.head.clone()
        };
        next.due_at = schedule::due_at(self.log, &next, self.now(), more);
        self.commit(&[], &[], next).await
    }

    fn now(&self) -> UtcTime {
        self.archiver.clock.now()
    }

    /// Returns the expiry time of a record archived at this time.
    fn until(&self, archived: UtcTime) -> UtcTime {
        let retention = &self.archiver.retention;
        match self.log.kind {
            LogKind::Events => retention.event_until(archived),
            LogKind::Audit => retention.audit_until(archived),
        }
    }

    fn has_time(&self) -> bool {
        self.now().millis_since(self.began) < PASS_BUDGET_MS
    }

    async fn session(&self) -> Result<FolderSession<'_>> {
        let engine = &self.archiver.engine;
        engine
            .open_folder(&self.log.account, &self.folder, JOB_DEADLINE)
            .await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Commits files together with the next head, and keeps that as the pass's head.
    async fn commit(&mut self, added: &[LogFile], replaced: &[LogFile], next: LogHead) -> Result<bool> {
        let logs = &self.archiver.logs;
        let next = LogHead {
            revision: self.head.revision + 1,
            ..next
        };
        if !logs
            .commit(self.log, &self.head, added, replaced, next.clone())
            .await?
        {
            return Ok(false);
        }
        self.head = next;
        Ok(true)
    }

    /// Returns the next head for a commit of this many files.
    fn with_waiting(&self, files: usize) -> LogHead {
        LogHead {
            waiting_files: self.head.waiting_files + files as u64,
            waiting_since: self.head.waiting_since.or_else(|| Some(self.now())),
            ..self.head.clone()
        }
    }

    /// Commits files, or removes them where another archiver committed first.
    async fn land(&mut self, added: &[LogFile], replaced: &[LogFile], next: LogHead) -> Result<bool> {
        if self.commit(added, replaced, next).await? {
            return Ok(true);
        }
        for file in added {
            // A repeated commit is refused even if the first one succeeded and only its response was lost.
            let files = self.archiver.logs.files_of_day(self.log, &file.day).await?;
            if files.iter().any(|known| known.id == file.id) {
                return Ok(false);
            }
            let key = self.log.file_key(&file.day, &file.id);
            self.archiver.objects.remove(&key).await?;
        }
        Ok(false)
    }

    /// Downloads a file of the log into the pass's folder.
    async fn fetch(&self, day: &str, id: &str) -> Result<PathBuf> {
        let path = self.path(&format!("{id}.parquet"));
        let key = self.log.file_key(day, id);
        if !self.archiver.objects.find_to_file(&key, &path, u64::MAX).await? {
            return Err(Error::internal(format!("the file {key} of a log is gone")));
        }
        Ok(path)
    }

    fn reached(&self, step: Step) -> Result<()> {
        self.archiver.crash.reached(step)
    }

    fn report(&self) {
        let passed = &self.passed;
        metrics::log_archived(passed.records, passed.files, passed.lag_s);
        info!(
            account = self.log.account,
            project = self.log.project,
            kind = self.log.kind.as_str(),
            records = passed.records,
            files = passed.files,
            merged = passed.merged,
            repeats = passed.repeats,
            unreadable = passed.unreadable,
            kept = passed.kept,
            digests = passed.digests,
            removed = passed.removed,
            lag_s = passed.lag_s,
            lost = passed.lost,
            "log archived"
        );
    }
}

/// Deletes a local file that is no longer needed; if that fails, the removal of the pass's folder deletes it.
fn discard(path: &Path) {
    let _ = std::fs::remove_file(path);
}
