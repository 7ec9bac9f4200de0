//! The engine: what the rest of Millrace asks of DuckDB.
//!
//! Nothing of DuckDB runs in the process that asks. Every job goes to a child process, see
//! [`crate::run_if_child`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use platform::clock::UtcTime;
use platform::{Error, Result};
use serde_json::{Map, Value};

use crate::answer::Format;
use crate::file_format::FileFormat;
use crate::jobs::check_keys;
use crate::jobs::export::{self, ExportedTable, Form};
use crate::limits::EngineLimits;
use crate::manifest::{Segment, TableVersion};
use crate::native;
use crate::pool::Pool;
use crate::process::Start;
use crate::protocol::{BoundTable, Job, Tier};
use crate::session::Session;
use crate::staging::{self, Target, Written};

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
    /// Names the version among all tenants, such as `<store>/<version>`: a child that was bound to a key is
    /// reused for it, with the tables that it was bound to.
    pub key: &'a str,
    /// The tables.
    pub tables: &'a [TableVersion],
    /// The folder of the segments' files, each `<segment id>.parquet`. Only those of the tables that a statement needs must
    /// be there, as long as it runs.
    pub directory: &'a Path,
}

/// Where staged rows go.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The table as it is before the import.
    pub table: &'a TableVersion,
    /// The id of the segment to be.
    pub segment_id: &'a str,
    /// An existing directory; the file in it is `<segment_id>.parquet`.
    pub directory: &'a Path,
    /// The time of the import, for defaults.
    pub now: UtcTime,
}

/// A staged segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The rows that were read.
    pub rows: u64,
    /// The segment and its file; None if there were no rows.
    pub segment: Option<(Segment, PathBuf)>,
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
    /// `limit` is cut to [`crate::limits::MAX_ROWS`]. 400 for a bad statement or parameter, 408 past the
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
        let answer = session
            .query(&plan, limit, Format::Json, self.limits.max_result_bytes)
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
        process.run(job, deadline).await?.map(drop)
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
        self.run_alone(job).await.map(drop)
    }

    /// Turns a file into a segment. 422 for what cannot be read or does not convert, 409 for a missing value.
    pub async fn stage(&self, stage: Stage<'_>, format: FileFormat, input: &Path) -> Result<Staged> {
        let target = stage.target();
        let output = target.output.clone();
        let input = staging::Input {
            input: input.to_owned(),
            target,
        };
        let staged = self.run_alone(Job::Stage { format, input }).await;
        let value = staged.inspect_err(|_| {
            // Half a file, or a whole one that must not be used.
            let _ = std::fs::remove_file(&output);
        })?;
        let written: Written = serde_json::from_value(value).map_err(Error::internal)?;
        Ok(Staged {
            rows: written.rows,
            segment: written.segment.map(|segment| (segment, output)),
        })
    }

    /// Checks the primary key and the unique columns of `table` over new files and the files that it already
    /// has. 409 names the first key that occurs twice. For an import that replaces, pass no existing files.
    pub async fn check_keys(
        &self,
        table: &TableVersion,
        new: &[PathBuf],
        existing: &[PathBuf],
    ) -> Result<()> {
        let primary: Vec<_> = table
            .columns
            .iter()
            .filter(|column| column.primary_key)
            .cloned()
            .collect();
        let unique = table.columns.iter().filter(|column| {
            let is_whole_primary_key = column.primary_key && primary.len() == 1;
            column.unique && !is_whole_primary_key
        });
        let unique = unique.map(|column| check_keys::Key {
            is_primary: false,
            columns: vec![column.clone()],
        });
        let primary_key = (!primary.is_empty()).then(|| check_keys::Key {
            is_primary: true,
            columns: primary.clone(),
        });
        let keys: Vec<_> = primary_key.into_iter().chain(unique).collect();
        if keys.is_empty() || new.is_empty() {
            return Ok(());
        }
        let job = Job::CheckKeys(check_keys::Input {
            table: table.name.clone(),
            keys,
            new_files: new.to_vec(),
            existing_files: existing.to_vec(),
        });
        self.run_alone(job).await.map(drop)
    }

    /// Process ids of the children that wait for work: for tests and for the log.
    pub fn idle_children(&self) -> Vec<u32> {
        self.pool.idle_ids()
    }

    /// Runs a job in a child of its own, which no caller's statement ever ran in, and which is not used
    /// again.
    pub(crate) async fn run_alone(&self, job: Job) -> Result<Value> {
        let deadline: Duration = self.limits.import_deadline;
        let mut lease = self.pool.take(None, deadline).await?;
        lease.process.run(job, deadline).await?.map(|(value, _)| value)
    }
}

impl Stage<'_> {
    fn target(&self) -> Target {
        Target {
            table: self.table.name.clone(),
            columns: self.table.columns.clone(),
            segment_id: self.segment_id.to_owned(),
            output: self.directory.join(format!("{}.parquet", self.segment_id)),
            now: self.now,
        }
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
