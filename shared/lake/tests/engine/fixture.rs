//! Builds a store on disk through the engine itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use lake::manifest::{ManifestColumn, TableVersion};
use lake::schema::Column;
use lake::{Engine, EngineConfig, EngineLimits, FileFormat, Format, Rounding, Scope, Stage, Staged};
use platform::Result;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) struct Store {
    pub(crate) engine: Engine,
    pub(crate) directory: TempDir,
    pub(crate) tables: Vec<TableVersion>,
    pub(crate) files: HashMap<String, PathBuf>,
    /// Rounding of imports.
    pub(crate) rounding: Option<Rounding>,
    /// Whether queries read native copies, for tables that have one.
    pub(crate) reads_copies: bool,
}

pub(crate) fn limits() -> EngineLimits {
    EngineLimits {
        deadline: Duration::from_secs(20),
        ..EngineLimits::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
pub(crate) fn engine(directory: &TempDir, limits: EngineLimits) -> Engine {
    let mut config = EngineConfig::new(directory.path()).unwrap();
    config.program = env!("CARGO_BIN_EXE_lake-child").into();
    config.library_path = std::env::var_os("LD_LIBRARY_PATH");
    config.limits = limits;
    Engine::new(config)
}

/// Makes a table from column definitions; the field ids are 1, 2 and so on.
pub(crate) fn table(name: &str, columns: Value) -> TableVersion {
    let columns: Vec<Column> = serde_json::from_value(columns).unwrap();
    let columns: Vec<_> = (1..)
        .zip(columns)
        .map(|(id, column)| ManifestColumn::new(id, column, None))
        .collect();
    let next_field_id = u32::try_from(columns.len()).unwrap() + 1;
    TableVersion {
        table_id: 1,
        name: name.into(),
        description: None,
        next_field_id,
        columns,
        segments: Vec::new(),
    }
}

impl Store {
    pub(crate) fn new(limits: EngineLimits, tables: Vec<TableVersion>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            engine: engine(&directory, limits),
            directory,
            tables,
            files: HashMap::new(),
            rounding: None,
            reads_copies: false,
        }
    }

    /// Makes a store with one table of three orders.
    pub(crate) async fn with_orders(limits: EngineLimits) -> Self {
        let orders = table(
            "orders",
            json!([
                { "name": "id", "type": "BIGINT", "primary_key": true },
                { "name": "customer", "type": "STRING" },
                { "name": "qty", "type": "INTEGER" }
            ]),
        );
        let mut store = Self::new(limits, vec![orders]);
        store
            .import(0, "id,customer,qty\n1,ada,3\n2,bob,\n3,,5\n")
            .await
            .unwrap();
        store
    }

    pub(crate) fn stage(&self, at: usize) -> (Stage<'_>, String) {
        let segment_id = format!("segment-{}", self.files.len());
        (
            Stage {
                table: &self.tables[at],
                segment_id: "",
                directory: self.directory.path(),
                now: "2026-01-02T03:04:05Z".parse().unwrap(),
                rounding: self.rounding,
            },
            segment_id,
        )
    }

    pub(crate) async fn stage_csv(&self, at: usize, csv: impl AsRef<[u8]>) -> Result<Staged> {
        self.stage_bytes(at, FileFormat::Csv, csv).await
    }

    pub(crate) async fn stage_rows(&self, at: usize, rows: &str) -> Result<Staged> {
        self.stage_bytes(at, FileFormat::Json, rows).await
    }

    pub(crate) async fn stage_bytes(
        &self,
        at: usize,
        format: FileFormat,
        bytes: impl AsRef<[u8]>,
    ) -> Result<Staged> {
        let input = self.directory.path().join("input");
        std::fs::write(&input, bytes).unwrap();
        self.stage_file(at, format, &input).await
    }

    pub(crate) async fn stage_file(&self, at: usize, format: FileFormat, input: &Path) -> Result<Staged> {
        let (stage, segment_id) = self.stage(at);
        let stage = Stage {
            segment_id: &segment_id,
            ..stage
        };
        // All files of an import must be in its folder.
        let own = self.directory.path().join("own-input");
        std::fs::copy(input, &own).unwrap();
        let mut import = self.engine.begin_import("acme");
        import.stage(stage, format, &own).await?.accepted()
    }

    pub(crate) fn keep(&mut self, at: usize, staged: Staged) {
        if let Some((segment, path)) = staged.segment {
            self.files.insert(segment.segment_id.clone(), path);
            self.tables[at].segments.push(segment);
        }
    }

    pub(crate) async fn import(&mut self, at: usize, csv: impl AsRef<[u8]>) -> Result<u64> {
        let staged = self.stage_csv(at, csv).await?;
        let rows = staged.rows;
        self.keep(at, staged);
        Ok(rows)
    }

    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope {
            account: "acme",
            key: "store/version",
            tables: &self.tables,
            directory: self.directory.path(),
        }
    }

    pub(crate) async fn query(&self, sql: &str) -> Result<Value> {
        self.query_with(sql, json!({}), None).await
    }

    pub(crate) async fn query_with(&self, sql: &str, params: Value, limit: Option<usize>) -> Result<Value> {
        let params: Map<String, Value> = serde_json::from_value(params).unwrap();
        let body = match self.reads_copies {
            true => self.query_copies(sql, &params, limit).await?,
            false => self.engine.query(self.scope(), sql, &params, limit).await?,
        };
        Ok(serde_json::from_slice(&body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&body))))
    }

    async fn query_copies(
        &self,
        sql: &str,
        params: &Map<String, Value>,
        limit: Option<usize>,
    ) -> Result<Bytes> {
        let limits = self.engine.limits();
        let mut session = self.engine.open(self.scope(), limits.deadline).await?;
        let mut plan = session.plan(sql, Some(params)).await?;
        for table in &plan.tables {
            if self.scope().copy(table).exists() {
                plan.tiers.use_copy(table);
            }
        }
        let answer = session
            .query(
                &plan,
                EngineLimits::rows(limit),
                Format::Json,
                limits.max_result_bytes,
            )
            .await?;
        Ok(answer.body)
    }

    /// Makes native copies of the tables, and reads the copies from now on.
    pub(crate) async fn copy(&mut self) {
        for table in &self.tables {
            let file = self.scope().copy(table);
            if !table.segments.is_empty() && !file.exists() {
                self.engine.write_copy(self.scope(), table, &file).await.unwrap();
            }
        }
        self.reads_copies = true;
    }

    /// Returns the rows of an answer; panics on an error.
    pub(crate) async fn rows(&self, sql: &str) -> Value {
        self.query(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))["rows"]
            .take()
    }

    /// Checks that the engine still works.
    pub(crate) async fn probe(&self) {
        assert_eq!(
            self.rows("select count(*), sum(qty) from orders").await,
            json!([[3, 8]])
        );
    }
}
