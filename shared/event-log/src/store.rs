//! Gives a process access to the log: its records and objects, local copies of its files, and DuckDB over
//! them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use lake::{CachedObject, Engine, EngineConfig, EngineLimits, FileCache, FolderSession, Pin};
use platform::config::{AwsEnvironment, ConfigError, Environment, variables};
use platform::deployment::Deployment;
use platform::fair::{FairPermits, MAX_WAITING_REQUESTS, Permit};
use platform::objects::Objects;
use platform::records::logs::LogId;
use platform::tenant::check_id;
use platform::{Error, Result};
use tempfile::TempDir;

use crate::logs::{LogFile, Logs};
use crate::tail::MAX_TAIL_BYTES;

const MIB: u64 = 1_024 * 1_024;
/// Number of concurrent downloads: object stores have a high latency, but serve many requests at a time.
const MAX_FETCHES: usize = 16;
/// Number of tails that are in memory at a time: one of each account.
const MAX_TAILS: usize = 2;

/// Location of the local copies, and limits of DuckDB.
#[derive(Clone, Debug)]
pub struct LogStoreConfig {
    /// Program whose `main` begins with [`lake::run_if_child`]. Default: this program; tests name another
    /// one.
    pub program: Option<PathBuf>,
    /// Folder that belongs to this process alone.
    pub directory: PathBuf,
    /// Maximum total size of local copies.
    pub cache_bytes: u64,
    /// Maximum memory of DuckDB for one statement, in bytes.
    pub query_memory_bytes: u64,
    /// Maximum number of concurrent statements.
    pub max_children: usize,
}

impl LogStoreConfig {
    /// Reads `MILLRACE_CACHE_DIR`, `MILLRACE_CACHE_MB` and `MILLRACE_QUERY_MEMORY_MB`, for a function that
    /// handles one request at a time.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            program: None,
            directory: environment.cache_folder().join("millrace-log"),
            cache_bytes: environment.number(variables::CACHE_MB)? * MIB,
            query_memory_bytes: environment.number(variables::QUERY_MEMORY_MB)? * MIB,
            max_children: 1,
        })
    }

    /// Refuses to start in a Lambda function with too little memory or temporary disk.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.query_memory_bytes);
        limits.free_disk(self.cache_bytes + MAX_TAIL_BYTES, environment, machine)?;
        Ok(self)
    }
}

/// The logs of all accounts. Cheap to clone.
#[derive(Clone)]
pub struct LogStore {
    inner: Arc<Inner>,
}

struct Inner {
    logs: Logs,
    objects: Objects,
    engine: Engine,
    cache: FileCache,
    tails: FairPermits,
}

impl LogStore {
    pub fn from_deployment(deployment: &Deployment, config: &LogStoreConfig) -> Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let logs = Logs::new(events, deployment.table(variables::AUDIT_TABLE)?);
        Self::new(logs, deployment.bucket(variables::DATA_BUCKET)?, config)
    }

    /// Creates the folders that it needs, and removes unfinished files of an earlier process.
    pub fn new(logs: Logs, objects: Objects, config: &LogStoreConfig) -> Result<Self, ConfigError> {
        let unusable = |error: &dyn std::fmt::Display| {
            ConfigError::new(format!(
                "The cache folder {} cannot be used: {error}. Set MILLRACE_CACHE_DIR to one that can be written.",
                config.directory.display()
            ))
        };
        let directory = std::path::absolute(&config.directory).map_err(|error| unusable(&error))?;
        let (children, files) = (directory.join("children"), directory.join("files"));
        let _ = std::fs::remove_dir_all(&children);
        for folder in [&children, &files] {
            std::fs::create_dir_all(folder).map_err(|error| unusable(&error))?;
        }
        let cache = open_cache(&files, config.cache_bytes).map_err(|error| unusable(&error))?;
        let mut engine = EngineConfig::new(children).map_err(|error| ConfigError::new(error.to_string()))?;
        if let Some(program) = &config.program {
            engine.program.clone_from(program);
        }
        engine.library_path = platform::config::library_path();
        engine.max_children = config.max_children;
        engine.limits = EngineLimits::for_queries(config.query_memory_bytes);
        let inner = Inner {
            logs,
            objects,
            engine: Engine::new(engine),
            cache,
            tails: FairPermits::new(MAX_TAILS, MAX_WAITING_REQUESTS),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Returns the records: heads, files and tails.
    pub fn logs(&self) -> &Logs {
        &self.inner.logs
    }

    /// Returns the objects of the files.
    pub fn objects(&self) -> &Objects {
        &self.inner.objects
    }

    /// Returns the engine that runs the child processes.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Returns the maximum total size of local copies.
    pub fn cache_bytes(&self) -> u64 {
        self.inner.cache.max_bytes()
    }

    /// Waits until the account may hold the tails of its logs in memory: those of one request at a time.
    pub(crate) async fn tail_permit(&self, account: &str) -> Result<Permit> {
        let patience = self.engine().limits().deadline;
        self.inner.tails.acquire(account, patience).await
    }

    /// Creates a folder for unfinished files, which a session of the account can access. Dropping it deletes
    /// the folder.
    pub fn temporary_folder(&self, account: &str) -> Result<TempDir> {
        tempfile::tempdir_in(self.folder(account)?).map_err(Error::internal)
    }

    /// Opens a child process with access to the account's local files, for at most `allowed`.
    pub async fn session<'a>(&'a self, account: &'a str, allowed: Duration) -> Result<FolderSession<'a>> {
        let folder = self.folder(account)?;
        self.inner.engine.open_folder(account, &folder, allowed).await
    }

    /// Returns local copies of files of a log, in the same order, and downloads missing ones. They stay while
    /// their pins exist.
    pub async fn local_files(&self, log: &LogId, files: &[LogFile]) -> Result<Vec<Pin>> {
        self.folder(&log.account)?;
        let pins = files.iter().map(|file| self.local_file(log, file).boxed());
        let pins: Vec<BoxFuture<'_, Result<Pin>>> = pins.collect();
        stream::iter(pins).buffered(MAX_FETCHES).try_collect().await
    }

    async fn local_file(&self, log: &LogId, file: &LogFile) -> Result<Pin> {
        let name = format!("{}/{}.parquet", log.account, file.id);
        if let Some(pin) = self.inner.cache.find(&name, Some(file.bytes)) {
            return Ok(pin);
        }
        let folder = self.temporary_folder(&log.account)?;
        let object = CachedObject {
            name: &name,
            key: &log.file_key(&file.day, &file.id),
            bytes: file.bytes,
            sha256: &file.sha256,
        };
        let part = folder.path().join("part");
        self.inner.cache.fetch(&self.inner.objects, object, &part).await
    }

    /// Returns the folder of an account's local files.
    fn folder(&self, account: &str) -> Result<PathBuf> {
        // The account becomes part of a path.
        check_id("account", account)?;
        let folder = self.inner.cache.directory().join(account);
        std::fs::create_dir_all(&folder).map_err(Error::internal)?;
        Ok(folder)
    }
}

/// Opens a cache of files `<account>/<file id>.parquet`. Subfolders of an account's folder are left over from
/// a killed process.
fn open_cache(directory: &Path, max_bytes: u64) -> std::io::Result<FileCache> {
    for account in std::fs::read_dir(directory)? {
        for entry in std::fs::read_dir(account?.path())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
    }
    FileCache::open(directory, max_bytes, |path| {
        path.extension().is_some_and(|ending| ending == "parquet")
    })
}
