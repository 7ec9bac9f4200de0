//! Runs a fuzzer's statements as a child process does, and checks after each one that nothing changed.
//!
//! Compiled only for the fuzz targets (`cfg(fuzzing)`). The code runs in the fuzzer's own process, so only
//! the fence and the checker stand between a statement and the files.

mod parquet;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use duckdb::Connection;
use platform::{Error, ErrorKind, Result};
use serde_json::{Map, json};

use crate::child::context::Context;
use crate::child::fence;
use crate::child::limits::EngineLimits;
use crate::jobs::protocol::Job;
use crate::jobs::query::PlanReply;
use crate::jobs::run::run_job;
use crate::query::answer::Format;
use crate::query::preparation;
use crate::schema::manifest::ManifestColumn;
use crate::statement::parameters;
use crate::tables::bound::BoundTable;
use crate::tables::native::TieredTable;
use crate::tables::sql;

pub use parquet::Importer;

/// Time limit of a statement; after it the statement is interrupted.
const DEADLINE: Duration = Duration::from_millis(200);
/// Rows per table.
const ROWS: usize = 50;
/// Content of the file that no statement may read.
const SECRET: &str = "b6f2c0a4-not-for-anybody";
/// The parts of the catalog and the settings that a statement must not change.
const INSIDE: [&str; 8] = [
    "duckdb_settings()",
    "duckdb_databases()",
    "duckdb_schemas()",
    "duckdb_tables()",
    "duckdb_views() WHERE NOT internal",
    "duckdb_variables()",
    "duckdb_prepared_statements()",
    "duckdb_functions() WHERE NOT internal",
];

/// Outcome of a statement that changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The checker refused the statement.
    Refused,
    /// The statement passed the checker and failed at run time.
    Failed,
    /// The statement passed the checker and exceeded its time or memory limit.
    Stopped,
    /// The statement passed the checker and returned an answer.
    Answered,
    /// DuckDB reported an internal error; a service would replace the child.
    Broken,
}

/// A store with an open child connection.
pub struct Target {
    context: Context,
    tables: Vec<BoundTable>,
    folder: PathBuf,
    files: BTreeMap<PathBuf, Vec<u8>>,
    inside: String,
}

impl Target {
    /// Creates a store in the empty folder `folder`: the table `kept`, the table `orders` of the corpus of
    /// hostile statements, and a table for each Parquet file in `samples`.
    pub fn open(folder: &Path, samples: &Path) -> Result<Self> {
        for part in ["outside", "segments", "temp"] {
            fs::create_dir(folder.join(part)).map_err(Error::internal)?;
        }
        let secret = format!("a,b\n{SECRET},1\n");
        fs::write(folder.join("outside/secret.csv"), secret).map_err(Error::internal)?;
        let tables = make_tables(folder, samples)?;
        let (context, inside) = open_child(folder, &tables)?;
        let files = files(folder)?;
        Ok(Self {
            context,
            tables,
            folder: folder.to_owned(),
            files,
            inside,
        })
    }

    /// Checks a statement and runs it if it passes. The error says what the statement changed or revealed.
    /// `{folder}` and `{secret}` in it are replaced by paths that no statement may reach.
    pub fn run(&mut self, sql: &str) -> std::result::Result<Outcome, String> {
        let folder = self.folder.to_string_lossy();
        let secret = self.folder.join("outside/secret.csv");
        let sql = sql.replace("{secret}", &secret.to_string_lossy());
        let sql = sql.replace("{folder}", &folder);
        let outcome = self.outcome(&sql)?;
        if outcome != Outcome::Refused {
            self.look()?;
        }
        Ok(outcome)
    }

    fn outcome(&mut self, sql: &str) -> std::result::Result<Outcome, String> {
        let params = json!({ "a": 1, "b": "x'y", "c": [1, 2.5], "d": [], "e": null });
        let job = Job::Plan {
            sql: sql.to_owned(),
            params: params.as_object().cloned(),
        };
        let reply = match self.context.within(DEADLINE, |context| run_job(context, job)) {
            Ok(output) => output.value,
            Err(error) if error.status() < 500 => return Ok(Outcome::Refused),
            Err(error) => return self.broken(&error),
        };
        let needs: PlanReply = serde_json::from_value(reply).map_err(|error| error.to_string())?;
        let job = Job::Query {
            tables: self.bound(|name| needs.tables.iter().any(|table| table.name == name)),
            rows: 100,
            bytes: 200_000,
            // An arbitrary format, always the same for one statement.
            format: [Format::Json, Format::Csv, Format::Arrow][sql.len() % 3],
        };
        match self.context.within(DEADLINE, |context| run_job(context, job)) {
            Ok(output) => match String::from_utf8_lossy(&output.body).contains(SECRET) {
                true => Err("the answer holds what stands in a file outside of the fence".to_owned()),
                false => Ok(Outcome::Answered),
            },
            Err(error) => match error.kind() {
                ErrorKind::Timeout | ErrorKind::Unprocessable | ErrorKind::PayloadTooLarge => {
                    Ok(Outcome::Stopped)
                }
                _ if error.status() < 500 => Ok(Outcome::Failed),
                _ => self.broken(&error),
            },
        }
    }

    /// Replaces the child.
    fn broken(&mut self, error: &Error) -> std::result::Result<Outcome, String> {
        eprintln!(
            "broken: {error}: {:?}",
            std::error::Error::source(error).map(ToString::to_string)
        );
        let (context, inside) = open_child(&self.folder, &self.tables).map_err(|error| error.to_string())?;
        (self.context, self.inside) = (context, inside);
        Ok(Outcome::Broken)
    }

    fn bound(&self, is_needed: impl Fn(&str) -> bool) -> Vec<TieredTable> {
        let tables = self.tables.iter().filter(|table| is_needed(&table.name));
        tables.map(of_segments).collect()
    }

    /// Fails if a file, the child's catalog or the table `kept` changed.
    fn look(&mut self) -> std::result::Result<(), String> {
        let now = files(&self.folder).map_err(|error| error.to_string())?;
        if now != self.files {
            let names: Vec<_> = now.keys().collect();
            return Err(format!("a file changed, came or went: {names:?}"));
        }
        let inside = inside(&self.context.connection).map_err(|error| error.to_string())?;
        if inside != self.inside {
            return Err(format!("the child changed:\n{}\n{inside}", self.inside));
        }
        match kept(&mut self.context, &self.tables) {
            Ok(body) if body.contains(r#""rows":[[1,"a"],[2,"b"]]"#) => Ok(()),
            Ok(body) => Err(format!("the table 'kept' holds {body}")),
            Err(error) => Err(format!("the next query failed: {error}")),
        }
    }
}

/// A connection that compares names.
pub struct Names {
    connection: Connection,
}

impl Names {
    /// Opens an empty database behind a fence that allows no file.
    pub fn open() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(Error::internal)?;
        fence::close(&connection, [], [], "")?;
        Ok(Self { connection })
    }

    /// Returns whether `used` resolves to the WITH entry `defined`: for the checker, and for DuckDB. None if
    /// the checker refuses the statement for another reason.
    pub fn compare(&self, defined: &str, used: &str) -> Option<(bool, bool)> {
        let (defined, used) = (sql::identifier(defined), sql::identifier(used));
        let sql = format!("WITH {defined} AS (SELECT 1 AS only_here) SELECT only_here FROM {used}");
        let rewritten = parameters::rewrite(&sql, &Map::new()).ok()?;
        let to_checker = match preparation::check(&self.connection, &[], &sql, &rewritten) {
            Ok(_) => true,
            Err(error) if error.message().contains("does not exist in this store") => false,
            Err(_) => return None,
        };
        let to_duckdb = self.connection.prepare(&rewritten.sql).is_ok();
        Some((to_checker, to_duckdb))
    }
}

/// Opens a fenced connection and binds it to the tables, as in a child process.
fn open_child(folder: &Path, tables: &[BoundTable]) -> Result<(Context, String)> {
    let limits = EngineLimits {
        memory_limit_bytes: 256 * 1_024 * 1_024,
        temp_bytes: 64 * 1_024 * 1_024,
        threads: 1,
        ..EngineLimits::default()
    };
    let connection = fence::open(&limits, &folder.join("temp"))?;
    let nothing = File::options()
        .write(true)
        .open("/dev/null")
        .map_err(Error::internal)?;
    let mut context = Context::new(connection, nothing)?;
    run_job(
        &mut context,
        Job::Bind {
            tables: tables.iter().map(|table| table.name.clone()).collect(),
            files: tables.iter().flat_map(|table| table.files.clone()).collect(),
        },
    )?;
    // Creates the view of each table, so that the list of views stays constant from here.
    kept(&mut context, tables)?;
    let inside = inside(&context.connection)?;
    Ok((context, inside))
}

/// Queries the table `kept` and returns the answer.
fn kept(context: &mut Context, tables: &[BoundTable]) -> Result<String> {
    run_job(
        context,
        Job::Plan {
            sql: "SELECT id, name FROM kept ORDER BY id".to_owned(),
            params: Some(Map::new()),
        },
    )?;
    let output = run_job(
        context,
        Job::Query {
            tables: tables.iter().map(of_segments).collect(),
            rows: 10,
            bytes: 10_000,
            format: Format::Json,
        },
    )?;
    Ok(String::from_utf8_lossy(&output.body).into_owned())
}

fn of_segments(table: &BoundTable) -> TieredTable {
    TieredTable {
        table: table.clone(),
        copy: None,
    }
}

/// Returns the catalog and settings of [`INSIDE`] as text.
fn inside(connection: &Connection) -> Result<String> {
    let mut all = String::new();
    for part in INSIDE {
        let sql = format!(
            "SELECT coalesce(string_agg(t::VARCHAR, '\n' ORDER BY t::VARCHAR), '') FROM (SELECT * FROM {part}) t"
        );
        let text: String = connection
            .query_row(&sql, [], |row| row.get(0))
            .map_err(Error::internal)?;
        all.push_str(&text);
        all.push('\n');
    }
    Ok(all)
}

/// Reads every file below the folder, except DuckDB's temporary files.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::internal)? {
            let path = entry.map_err(Error::internal)?.path();
            if path.is_dir() {
                if !path.ends_with("temp") {
                    folders.push(path);
                }
            } else {
                let bytes = fs::read(&path).map_err(Error::internal)?;
                found.insert(path, bytes);
            }
        }
    }
    Ok(found)
}

/// Writes the tables' segments as an import does: under the ids of their columns.
fn make_tables(folder: &Path, samples: &Path) -> Result<Vec<BoundTable>> {
    let mut relations = vec![
        (
            "kept".to_owned(),
            "(VALUES (1, 'a'), (2, 'b')) t(id, name)".to_owned(),
        ),
        (
            "orders".to_owned(),
            "(VALUES (1::BIGINT, 'ada', 3), (2, 'bob', NULL), (3, NULL, 5)) t(id, customer, qty)".to_owned(),
        ),
    ];
    for entry in fs::read_dir(samples).map_err(Error::internal)? {
        let path = entry.map_err(Error::internal)?.path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        if path.extension().is_some_and(|ending| ending == "parquet") && name != "orders" {
            let relation = format!("read_parquet({})", sql::path(&path)?);
            relations.push((name, relation));
        }
    }
    relations.sort();
    let connection = Connection::open_in_memory().map_err(Error::internal)?;
    let tables = relations
        .iter()
        .map(|(name, relation)| make_table(&connection, folder, name, relation));
    tables.collect()
}

fn make_table(connection: &Connection, folder: &Path, name: &str, relation: &str) -> Result<BoundTable> {
    let described = format!("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {relation})");
    let mut statement = connection.prepare(&described).map_err(Error::internal)?;
    let columns = statement
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .and_then(Iterator::collect::<duckdb::Result<Vec<_>>>)
        .map_err(Error::internal)?;
    let columns = (1..).zip(columns).map(|(id, (name, duckdb_type))| {
        let column = json!({ "name": name, "type": duckdb_type.replace("VARCHAR", "STRING") });
        let column =
            serde_json::from_value::<crate::schema::definition::Column>(column).map_err(Error::internal)?;
        Ok(ManifestColumn::new(id, column, None))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let ids = columns.iter();
    let ids: Vec<_> = ids
        .map(|column| format!("{}: {}", sql::identifier(&column.name), column.field_id))
        .collect();
    let file = folder.join("segments").join(format!("{name}.parquet"));
    let copy = format!(
        "COPY (SELECT * FROM {relation} LIMIT {ROWS}) TO {} (FORMAT parquet, FIELD_IDS {{{}}})",
        sql::path(&file)?,
        ids.join(", ")
    );
    connection.execute_batch(&copy).map_err(Error::internal)?;
    Ok(BoundTable {
        name: name.to_owned(),
        columns,
        files: vec![file],
    })
}
