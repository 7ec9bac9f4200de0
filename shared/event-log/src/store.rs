//! The log as a process sees it: its records and objects, local copies of its files, and DuckDB over them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use lake::{CachedObject, Engine, EngineConfig, EngineLimits, FileCache, FolderSession, Pin};
use platform::config::{AwsEnvironment, ConfigError, Environment};
use platform::objects::Objects;
use platform::records::logs::{LogFile, LogId, Logs};
use platform::tenant::check_id;
use platform::{Error, Result};
use tempfile::TempDir;

use crate::budget::fits;
use crate::tail::MAX_TAIL_BYTES;

const MIB: u64 = 1_024 * 1_024;
/// Files that are fetched at a time: object stores answer slowly, and many at once.
const MAX_FETCHES: usize = 16;

/// Where local copies of files are kept, and how much of the machine DuckDB may use.
#[derive(Clone, Debug)]
pub struct LogStoreConfig {
    /// Program whose `main` begins with [`lake::run_if_child`]: this one, unless another one is named, as
    /// by tests.
    pub program: Option<PathBuf>,
    /// Folder that this process has for itself.
    pub directory: PathBuf,
    /// Most bytes of local copies.
    pub cache_bytes: u64,
    /// Most memory that DuckDB uses for one statement, in bytes.
    pub query_memory_bytes: u64,
    /// Most statements at a time.
    pub max_children: usize,
}

impl LogStoreConfig {
    /// From `MILLRACE_CACHE_DIR`, `MILLRACE_CACHE_MB` and `MILLRACE_QUERY_MEMORY_MB`, for a function that
    /// does one thing at a time.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            program: None,
            directory: environment.cache_folder().join("millrace-log"),
            cache_bytes: environment.number("MILLRACE_CACHE_MB", 1_024)? * MIB,
            query_memory_bytes: environment.number("MILLRACE_QUERY_MEMORY_MB", 512)? * MIB,
            max_children: 1,
        })
    }

    /// Refuses a Lambda function without the memory and the temporary disk for it.
    pub fn fitting(self, environment: &Environment, machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        let limits = EngineLimits::for_queries(self.query_memory_bytes);
        fits(environment, machine, &limits, self.cache_bytes + MAX_TAIL_BYTES)?;
        Ok(self)
    }
}

/// The log of every account. Cheap to clone.
#[derive(Clone)]
pub struct LogStore {
    inner: Arc<Inner>,
}

struct Inner {
    logs: Logs,
    objects: Objects,
    engine: Engine,
    cache: FileCache,
}

impl LogStore {
    /// Over records and objects. Makes the folders that it needs, and removes what an earlier process left
    /// half done.
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
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Heads, files and tails.
    pub fn logs(&self) -> &Logs {
        &self.inner.logs
    }

    /// The bucket of the files.
    pub fn objects(&self) -> &Objects {
        &self.inner.objects
    }

    /// Runs the child processes.
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Most bytes of local copies.
    pub fn cache_bytes(&self) -> u64 {
        self.inner.cache.max_bytes()
    }

    /// A new folder for files in the making, which a session of the account reaches. It goes when it is
    /// dropped.
    pub fn temporary_folder(&self, account: &str) -> Result<TempDir> {
        tempfile::tempdir_in(self.folder(account)?).map_err(Error::internal)
    }

    /// A child that reaches the account's local files, for at most `allowed`.
    pub async fn session<'a>(&'a self, account: &'a str, allowed: Duration) -> Result<FolderSession<'a>> {
        let folder = self.folder(account)?;
        self.inner.engine.open_folder(account, &folder, allowed).await
    }

    /// Local copies of files of a log, in their order, fetched where they are missing. They stay as long as
    /// their pins live.
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

    /// The folder of an account's local files.
    fn folder(&self, account: &str) -> Result<PathBuf> {
        // It becomes part of a path.
        check_id("account", account)?;
        let folder = self.inner.cache.directory().join(account);
        std::fs::create_dir_all(&folder).map_err(Error::internal)?;
        Ok(folder)
    }
}

/// A cache of files `<account>/<file id>.parquet`. Folders below those of the accounts are what a killed
/// process left.
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
