//! Manages data stores of the measured service.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::plain::PlainDuckDb;
use crate::runner::{Runner, answer, id, json};
use crate::{Result, programs};

/// Pause between two reads of an import's status.
const POLL: Duration = Duration::from_millis(20);

pub struct Store<'a> {
    runner: &'a Runner,
    pub id: String,
}

pub struct Answered {
    /// Milliseconds from the request to the last byte.
    pub ms: f64,
    /// Milliseconds of the database's work, as the answer reports them.
    pub engine_ms: f64,
    pub rows: u64,
}

impl<'a> Store<'a> {
    /// Creates a store, with its tables in the form of `POST …/tables`.
    pub async fn create(runner: &'a Runner, name: &str, tables: &Value) -> Result<Self> {
        let created_store = json(runner.post("/data", &json!({ "name": name }))).await?;
        let store = Self::new(runner, &id(&created_store)?);
        answer(runner.post(&store.path("/tables"), tables)).await?;
        Ok(store)
    }

    /// Refers to an existing store.
    pub fn new(runner: &'a Runner, id: &str) -> Self {
        Self {
            runner,
            id: id.to_owned(),
        }
    }

    /// Returns a path below the store.
    pub fn path(&self, rest: &str) -> String {
        format!("/data/{}{rest}", self.id)
    }

    /// Appends a file to the table `t`. Returns the milliseconds until the answer, without the copying of the
    /// file to the artifacts.
    pub async fn append(&self, file: &Path) -> Result<f64> {
        let tables = self.put(file)?;
        self.import(&tables).await
    }

    /// Appends a file of any size in the background. Returns the milliseconds until the import has ended.
    pub async fn append_in_background(&self, file: &Path) -> Result<f64> {
        let body = json!({ "tables": self.put(file)?, "background": true });
        let started = Instant::now();
        let import = json(self.runner.post(&self.path("/import"), &body)).await?;
        let path = self.path(&format!("/import/{}", id(&import)?));
        loop {
            let record = json(self.runner.get(&path)).await?;
            match record.get("status").and_then(Value::as_str) {
                Some("COMPLETED") => return Ok(started.elapsed().as_secs_f64() * 1e3),
                Some("PENDING" | "RUNNING") => tokio::time::sleep(POLL).await,
                _ => return Err(format!("the import ended as {record}").into()),
            }
        }
    }

    /// Stores a file as an artifact. Returns the `tables` of its import.
    pub fn put(&self, file: &Path) -> Result<Value> {
        let uri = artifact(file);
        put_artifact(self.runner.data_dir(), file, &uri)?;
        Ok(json!({ "t": { "source": "artifact", "uri": uri } }))
    }

    /// Imports tables in the form of `POST …/import`. Returns the milliseconds until the answer.
    pub async fn import(&self, tables: &Value) -> Result<f64> {
        self.timed_post("/import", &json!({ "tables": tables })).await
    }

    /// Sends a `POST` that changes the store. Returns the milliseconds until its answer.
    pub async fn timed_post(&self, rest: &str, body: &Value) -> Result<f64> {
        timed(self.runner.post(&self.path(rest), body)).await
    }

    /// Sends a `PUT` that changes the store. Returns the milliseconds until its answer.
    pub async fn timed_put(&self, rest: &str, body: &Value) -> Result<f64> {
        timed(self.runner.put(&self.path(rest), body)).await
    }

    /// Returns the id of the current version.
    pub async fn version(&self) -> Result<String> {
        let versions = json(self.runner.get(&self.path("/versions?limit=1"))).await?;
        id(versions.get(0).ok_or("a store without versions")?)
    }

    pub async fn query(&self, sql: &str) -> Result<Answered> {
        let request = self.runner.post(&self.path("/query"), &json!({ "sql": sql }));
        let started = Instant::now();
        let bytes = answer(request).await?;
        let ms = started.elapsed().as_secs_f64() * 1e3;
        let answer: Value = serde_json::from_slice(&bytes)?;
        let rows = answer.get("row_count").and_then(Value::as_u64);
        let engine_ms = answer.get("execution_time_ms").and_then(Value::as_f64);
        Ok(Answered {
            ms,
            engine_ms: engine_ms.ok_or("an answer without execution_time_ms")?,
            rows: rows.ok_or("an answer without row_count")?,
        })
    }

    /// Returns the folder of the store's objects.
    pub fn folder(&self) -> PathBuf {
        let stores = self.runner.data_dir().join("objects/millrace-data/stores");
        stores.join(format!("acme/demo/{}", self.id))
    }

    /// Returns the store's Parquet files.
    pub fn segments(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(self.folder().join("segments"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "parquet") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Returns the name of a file's artifact.
fn artifact(file: &Path) -> String {
    let ending = file.extension().and_then(|ending| ending.to_str());
    format!("out/rows.{}", ending.unwrap_or_default())
}

async fn timed(request: reqwest::RequestBuilder) -> Result<f64> {
    let started = Instant::now();
    answer(request).await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

pub fn put_artifact(data_dir: &Path, file: &Path, uri: &str) -> Result<()> {
    programs::run(
        programs::command(&programs::binary("millrace")?)
            .args(["ops", "--data-dir"])
            .arg(data_dir)
            .args(["artifact", "put"])
            .arg(file)
            .arg(uri),
    )
}

/// Defines a table `t` whose columns are each a name, a type and perhaps `primary_key`.
pub fn table(columns: &[(&str, &str, &str)]) -> Value {
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, kind, key)| json!({ "name": name, "type": kind, "primary_key": *key == "primary_key" }))
        .collect();
    json!({ "tables": [{ "name": "t", "columns": columns }] })
}

/// Columns of orders, as [`table`] takes them.
pub const ORDERS: [(&str, &str, &str); 7] = [
    ("id", "BIGINT", ""),
    ("parent", "BIGINT", ""),
    ("customer", "STRING", ""),
    ("region", "STRING", ""),
    ("quantity", "INTEGER", ""),
    ("price", "DECIMAL", ""),
    ("day", "DATE", ""),
];

/// Returns a query of `count` orders, the same each time: the values are hashes of their numbers.
pub fn orders(count: u64) -> String {
    format!(
        "SELECT id, hash % {count} AS parent, 'customer ' || hash // 3 % 10000 AS customer, \
         ['north', 'east', 'south', 'west', 'centre'][1 + (hash // 7 % 5)::INTEGER] AS region, hash // 11 % 97 AS quantity, \
         (hash // 13 % 100000 / 100)::DECIMAL(12,2) AS price, DATE '2024-01-01' + (hash // 19 % 366)::INTEGER AS day \
         FROM (SELECT range AS id, hash(range) AS hash FROM range({count}))"
    )
}

/// Lets plain DuckDB write the rows of a query into a file; the file's extension selects the format.
pub fn write(plain: &mut PlainDuckDb, rows: &str, file: &Path) -> Result<()> {
    plain
        .query(&format!("COPY ({rows}) TO '{}'", file.display()), false)
        .map(drop)
}
