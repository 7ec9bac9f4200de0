//! Runs DuckDB in child processes, never in the process of the service. See [`crate::run_if_child`].

mod folder;
mod import_session;
mod leased;
mod pool;
mod process;
mod rewriting;
mod session;

pub use folder::{FolderSession, sql_path, sql_paths, sql_text};
pub use import_session::{ImportSession, Stage, Staged};
pub use session::{Plan, Session};

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
use crate::jobs::export::{self, ExportedTable, Form};
use crate::jobs::protocol::Job;
use crate::query::answer::Format;
use crate::schema::manifest::{Segment, TableVersion};
use crate::tables::bound::{BoundTable, Tier};
use crate::tables::native;

/// How long the writing of a copy may take.
const COPY_DEADLINE: Duration = Duration::from_secs(300);

/// How an engine starts its children.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The program whose `main` begins with [`crate::run_if_child`]; usually `std::env::current_exe()`.
    pub program: PathBuf,
    /// The loader's path for the child, where the DuckDB library is not found without one. Nothing else of
    /// the environment reaches the child.
    pub library_path: Option<OsString>,
    /// Where children get their own temporary directories.
    pub temp_directory: PathBuf,
    /// The most children at work at a time, and the most kept waiting for their version.
    pub max_children: usize,
    /// How much each child may use.
    pub limits: EngineLimits,
}

impl EngineConfig {
    /// Children of this program itself, with temporary files in `temp_directory`.
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

/// One version's tables and where its files are, or will be.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Whose version it is: accounts share the children.
    pub account: &'a str,
    /// Names the version among all tenants, such as `<store>/<version>`: a child that was bound to a key is
    /// reused for it, with the tables that it was bound to.
    pub key: &'a str,
    /// The tables.
    pub tables: &'a [TableVersion],
    /// The folder of the segments' files, each `<segment id>.parquet`. Only those of the tables that a statement needs must
    /// be there, as long as it runs.
    pub directory: &'a Path,
}

/// Runs jobs in child processes. Cheap to clone. To be used within a tokio runtime.
#[derive(Clone)]
pub struct Engine {
    pool: Arc<Pool>,
    limits: Arc<EngineLimits>,
}

impl Engine {
    /// An engine without children yet; [`warm`](Self::warm) starts the first.
    pub fn new(config: EngineConfig) -> Self {
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

    /// Starts a child ahead of the first job.
    pub fn warm(&self) -> Result<()> {
        self.pool.warm()
    }

    /// Runs one read-only statement and returns the body of the answer, JSON with `columns`, `column_types`,
    /// `rows`, `row_count`, `truncated` and `execution_time_ms`.
    ///
    /// `limit` is cut to [`crate::child::limits::MAX_ROWS`]. 400 for a bad statement or parameter, 408 past the
    /// deadline, 422 if it needs too much memory or its answer is too large.
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

    /// Checks one statement against the tables without running it; parameters need no values. 400 says what
    /// is wrong.
    pub async fn validate(&self, scope: Scope<'_>, sql: &str) -> Result<()> {
        let mut session = self.open(scope, self.limits.deadline).await?;
        let plan = session.plan(sql, None).await?;
        session.validate(&plan).await
    }

    /// Up to `limit` rows of a table, as a JSON array of objects.
    pub async fn sample(&self, scope: Scope<'_>, table: &str, limit: usize) -> Result<Bytes> {
        let mut session = self.open(scope, self.limits.deadline).await?;
        session.sample(table, limit, self.limits.max_result_bytes).await
    }

    /// A child for statements over one version, for at most `allowed`; a step that takes longer is a 408.
    pub async fn open<'a>(&'a self, scope: Scope<'a>, allowed: Duration) -> Result<Session<'a>> {
        Session::open(&self.pool, scope, allowed).await
    }

    /// A child for the platform's own statements over one folder, for at most `allowed`. It stays at hand
    /// for the next ones there. The folder exists, and belongs to one account.
    pub async fn open_folder<'a>(
        &'a self,
        account: &'a str,
        folder: &Path,
        allowed: Duration,
    ) -> Result<FolderSession<'a>> {
        FolderSession::open(&self.pool, account, folder, allowed).await
    }

    /// How much a child may use.
    pub fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// Writes tables into a new DuckDB database file in an existing folder that holds nothing else.
    pub async fn export_database(&self, scope: Scope<'_>, output: &Path) -> Result<()> {
        self.export(scope, Form::Database, output).await
    }

    /// Writes each table into a file `<table>.parquet` in an existing, empty folder.
    pub async fn export_parquet(&self, scope: Scope<'_>, folder: &Path) -> Result<()> {
        self.export(scope, Form::Parquet, folder).await
    }

    /// Writes the copy of a table that queries read faster than its segments, into a file of an existing folder that holds
    /// nothing else. It runs beside the other children, with half of their memory, and nobody waits for it.
    pub async fn write_copy(&self, scope: Scope<'_>, table: &TableVersion, output: &Path) -> Result<()> {
        let job = Job::Export(export::Input {
            tables: vec![ExportedTable {
                table: native::copied(scope.bound(table)),
                description: None,
            }],
            form: Form::Copy,
            output: output.to_owned(),
        });
        let mut process = self.pool.start_aside()?;
        let deadline = self.limits.import_deadline.max(COPY_DEADLINE);
        process.run(job, deadline, || ()).await?.map(drop)
    }

    async fn export(&self, scope: Scope<'_>, form: Form, output: &Path) -> Result<()> {
        let tables = scope.tables.iter().map(|table| ExportedTable {
            table: scope.bound(table),
            description: table.description.clone(),
        });
        let job = Job::Export(export::Input {
            tables: tables.collect(),
            form,
            output: output.to_owned(),
        });
        self.run_alone(scope.account, job).await.map(drop)
    }

    /// A child for the steps of one import, all of whose files are in one folder.
    pub fn begin_import<'a>(&'a self, account: &'a str) -> ImportSession<'a> {
        ImportSession::new(&self.pool, account, self.limits.import_deadline)
    }

    /// Process ids of the children that wait for work: for tests and for the log.
    pub fn idle_children(&self) -> Vec<u32> {
        self.pool.idle_ids()
    }

    /// Runs a job in a child of its own, which no caller's statement ever ran in, and which is not used
    /// again.
    pub(crate) async fn run_alone(&self, account: &str, job: Job) -> Result<Value> {
        let deadline: Duration = self.limits.import_deadline;
        let mut lease = self.pool.take(None, account, deadline).await?;
        let done = lease.run(job, deadline).await;
        drop(lease);
        // Not before: the start of a child takes as much of the processors as a small job.
        self.pool.warm_for_next();
        done?.map(|(value, _)| value)
    }
}

impl Scope<'_> {
    /// The file of a segment.
    pub(crate) fn file(&self, segment: &Segment) -> PathBuf {
        self.directory.join(format!("{}.parquet", segment.segment_id))
    }

    /// A table over its files.
    pub(crate) fn bound(&self, table: &TableVersion) -> BoundTable {
        BoundTable {
            name: table.name.clone(),
            columns: table.columns.clone(),
            files: table.segments.iter().map(|segment| self.file(segment)).collect(),
            native: None,
        }
    }

    /// A table over its files, or over its copy.
    pub(crate) fn bound_in(&self, table: &TableVersion, tier: Tier) -> BoundTable {
        BoundTable {
            native: (tier == Tier::Native).then(|| self.copy(table)),
            ..self.bound(table)
        }
    }

    /// The file of a table's copy, if there is one; see [`Engine::write_copy`].
    pub fn copy(&self, table: &TableVersion) -> PathBuf {
        self.directory.join(native::file_name(table))
    }
}
