//! Runs DuckDB in child processes, never in the process of the service. See [`crate::run_if_child`].

mod copy;
mod folder;
mod import_session;
mod leased;
mod pool;
mod process;
mod rewriting;
mod scope;
mod session;

pub use folder::{FolderSession, sql_path, sql_paths, sql_text};
pub use import_session::{ImportSession, Stage, Staged};
pub use scope::Scope;
pub use session::{QueryPlan, Session};

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use platform::{Error, Result};
use serde_json::{Map, Value};

use crate::child::limits::EngineLimits;
use crate::engine::pool::Pool;
use crate::engine::process::Start;
use crate::jobs::export::{self, ExportedTable, Form, Storage};
use crate::jobs::protocol::Job;
use crate::query::answer::Format;

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The program whose `main` begins with [`crate::run_if_child`]; usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// Library search path for the child, if the DuckDB library is not found without it. No other environment
    /// variable reaches the child.
    pub library_path: Option<OsString>,
    /// Folder in which each child gets its own temporary directory.
    pub temp_directory: PathBuf,
    /// Most children that work at normal priority at a time, and most idle children kept bound to a version.
    pub max_children: usize,
    pub limits: EngineLimits,
}

impl EngineConfig {
    /// Uses this program for the children, with temporary files in `temp_directory`.
    pub fn new(temp_directory: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self {
            program: std::env::current_exe().map_err(Error::internal)?,
            library_path: None,
            temp_directory: temp_directory.into(),
            max_children: 2,
            limits: EngineLimits::default(),
        })
    }
}

/// Runs jobs in child processes. Cheap to clone; requires a tokio runtime.
#[derive(Clone)]
pub struct Engine {
    pool: Arc<Pool>,
    limits: Arc<EngineLimits>,
}

impl Engine {
    /// Creates an engine without children; [`warm`](Self::warm) starts the first one.
    pub fn new(config: EngineConfig) -> Self {
        sandbox::fence::report();
        let limits = Arc::new(config.limits.clone());
        let start = Start {
            program: config.program,
            library_path: config.library_path,
            temp_directory: config.temp_directory,
            limits: config.limits,
        };
        Self {
            pool: Arc::new(Pool::new(start, config.max_children)),
            limits,
        }
    }

    /// Starts a child before the first job.
    pub fn warm(&self) -> Result<()> {
        self.pool.warm()
    }

    /// Runs one read-only statement and returns the body of the answer, JSON with `columns`, `column_types`,
    /// `rows`, `row_count`, `truncated` and `execution_time_ms`.
    ///
    /// `limit` is cut to [`crate::child::limits::MAX_ROWS`]. Fails with 400 for a bad statement or parameter,
    /// with 408 after the deadline, with 422 if it needs too much memory or its answer is too large.
    pub async fn query(
        &self,
        scope: Scope<'_>,
        sql: &str,
        params: &Map<String, Value>,
        limit: Option<usize>,
    ) -> Result<Bytes> {
        let mut session = self.open(scope, self.limits.deadline).await?;
        let plan = session.plan(sql, Some(params)).await?;
        let rows = EngineLimits::rows(limit);
        let answer = session
            .query(&plan, rows, Format::Json, self.limits.max_result_bytes)
            .await?;
        Ok(answer.body)
    }

    /// Checks one statement against the tables without running it; parameters need no values. Fails with 400
    /// and the statement's error.
    pub async fn validate(&self, scope: Scope<'_>, sql: &str) -> Result<()> {
        let mut session = self.open(scope, self.limits.deadline).await?;
        let plan = session.plan(sql, None).await?;
        session.validate(&plan).await
    }

    /// Returns up to `limit` rows of a table, as a JSON array of objects.
    pub async fn sample(&self, scope: Scope<'_>, table: &str, limit: usize) -> Result<Bytes> {
        let mut session = self.open(scope, self.limits.deadline).await?;
        session.sample(table, limit, self.limits.max_result_bytes).await
    }

    /// Leases a child for statements over one version, for at most `allowed`; a step that exceeds it fails
    /// with 408.
    pub async fn open<'a>(&'a self, scope: Scope<'a>, allowed: Duration) -> Result<Session<'a>> {
        Session::open(&self.pool, scope, allowed).await
    }

    /// Leases a child for the platform's own statements over one folder, for at most `allowed`. Afterwards
    /// the child is kept for the next statements there. The folder must exist and belong to one account.
    pub async fn open_folder<'a>(
        &'a self,
        account: &'a str,
        folder: &Path,
        allowed: Duration,
    ) -> Result<FolderSession<'a>> {
        FolderSession::open(&self.pool, account, folder, allowed).await
    }

    pub fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// Writes tables to a new DuckDB database file in an existing folder that holds nothing else.
    pub async fn export_database(&self, scope: Scope<'_>, output: &Path) -> Result<()> {
        self.export(scope, Form::Database(Storage::Oldest), output).await
    }

    /// Writes each table to a file `<table>.parquet` in an existing, empty folder.
    pub async fn export_parquet(&self, scope: Scope<'_>, folder: &Path) -> Result<()> {
        self.export(scope, Form::Parquet, folder).await
    }

    async fn export(&self, scope: Scope<'_>, form: Form, output: &Path) -> Result<()> {
        let tables = scope.tables.iter().map(|table| ExportedTable {
            table: scope.bound(table),
            description: table.description.clone(),
        });
        let job = Job::Export(export::ExportInput {
            tables: tables.collect(),
            form,
            output: output.to_owned(),
        });
        self.run_alone(scope.account, job).await.map(drop)
    }

    /// Starts an import: a child for its steps; all files of the import must be in one folder.
    pub fn begin_import<'a>(&'a self, account: &'a str) -> ImportSession<'a> {
        ImportSession::new(&self.pool, account, self.limits.import_deadline)
    }

    /// Returns the process ids of the idle children: for tests and for the log.
    pub fn idle_children(&self) -> Vec<u32> {
        self.pool.idle_ids()
    }

    /// Runs a job in its own child, which never ran a caller's statement and is not used again.
    pub(crate) async fn run_alone(&self, account: &str, job: Job) -> Result<Value> {
        let deadline: Duration = self.limits.import_deadline;
        let mut lease = self.pool.take(None, account, deadline).await?;
        let output = lease.run(job, deadline).await;
        drop(lease);
        // Starts the next child only now: an earlier start would take as much processor time as a small job.
        self.pool.warm_for_next();
        output?.map(|output| output.value)
    }
}
