//! Measures the conversion of 100,000 rows of 10 columns to JSON, by the engine and by DuckDB's own
//! `to_json`, in turns.
//!
//! The API cannot show this, because its answers have at most 10,000 rows. Prints a JSON object with the
//! milliseconds of each side; `make bench` puts them into its table.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use duckdb::Connection;
use lake::manifest::TableVersion;
use lake::{Engine, EngineConfig, FileFormat, Format, Scope, Stage};
use platform::Clock;
use serde_json::{Map, json};

type AnyError = Box<dyn std::error::Error>;

const ROWS: usize = 100_000;
const TIMES: usize = 25;
const MAX_BYTES: usize = 64 * 1_024 * 1_024;
/// Threads of either side.
const THREADS: u32 = 2;
const COLUMNS: [(&str, &str); 10] = [
    ("id", "BIGINT"),
    ("customer", "STRING"),
    ("region", "STRING"),
    ("quantity", "INTEGER"),
    ("price", "DECIMAL"),
    ("weight", "DOUBLE"),
    ("day", "DATE"),
    ("sold_at", "TIMESTAMP"),
    ("is_paid", "BOOLEAN"),
    ("note", "STRING"),
];
const VALUES: &str = "SELECT range AS id, 'customer ' || hash(range) % 10000 AS customer, \
    ['north', 'east', 'south', 'west'][1 + (hash(range) % 4)::INTEGER] AS region, (hash(range) % 97)::INTEGER AS quantity, \
    (hash(range) % 100000 / 100)::DECIMAL(18,3) AS price, (hash(range) % 1000000) / 7.0::DOUBLE AS weight, \
    DATE '2024-01-01' + (hash(range) % 366)::INTEGER AS day, \
    TIMESTAMP '2024-01-01' + to_seconds((hash(range) % 31536000)::BIGINT) AS sold_at, hash(range) % 3 = 0 AS is_paid, \
    'called \"' || range || '\" twice' AS note";

fn main() -> Result<(), AnyError> {
    lake::run_if_child();
    measure()
}

#[tokio::main(flavor = "current_thread")]
async fn measure() -> Result<(), AnyError> {
    let folder = tempfile::tempdir()?;
    let mut config = EngineConfig::new(folder.path())?;
    config.limits.threads = THREADS;
    config.library_path = platform::config::library_path();
    let engine = Engine::new(config);
    let plain = Connection::open_in_memory()?;
    plain.execute_batch(&format!("SET threads = {THREADS}"))?;
    let table = fill(&engine, &plain, folder.path()).await?;
    let tables = [table];
    let scope = Scope {
        account: "acme",
        key: "bench/1",
        tables: &tables,
        directory: folder.path(),
    };

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..=TIMES {
        let started = Instant::now();
        let mut session = engine.open(scope, Duration::from_secs(60)).await?;
        let plan = session.plan("SELECT * FROM t", Some(&Map::new())).await?;
        let answer = session.query(&plan, ROWS, Format::Json, MAX_BYTES).await?;
        let took = started.elapsed();
        if answer.row_count != ROWS as u64 {
            return Err(format!("{} rows", answer.row_count).into());
        }
        let beside = to_json(&plain)?;
        if number > 0 {
            ours.push(took.as_secs_f64() * 1e3);
            theirs.push(beside.as_secs_f64() * 1e3);
        }
    }
    let measured = json!({ "millrace_ms": ours, "to_json_ms": theirs });
    writeln!(std::io::stdout(), "{measured}")?;
    Ok(())
}

/// Writes the table's rows to a segment with the engine.
async fn fill(engine: &Engine, plain: &Connection, folder: &Path) -> Result<TableVersion, AnyError> {
    let input = folder.join("input.parquet");
    let write = format!("COPY ({VALUES} FROM range({ROWS})) TO '{}'", input.display());
    plain.execute_batch(&write)?;
    let columns = COLUMNS.iter().zip(1..);
    let columns: Vec<_> = columns
        .map(|((name, kind), id)| json!({ "field_id": id, "name": name, "type": kind }))
        .collect();
    let mut table: TableVersion = serde_json::from_value(json!({
        "table_id": 1, "name": "t", "next_field_id": COLUMNS.len() + 1, "columns": columns,
    }))?;
    let stage = Stage {
        table: &table,
        segment_id: "segment",
        directory: folder,
        now: Clock::System.now(),
        rounding: None,
    };
    let mut import = engine.begin_import("acme");
    let staged = import
        .stage(stage, FileFormat::Parquet, &input)
        .await?
        .accepted()?;
    let (segment, path) = staged.segment.ok_or("no rows were staged")?;
    table.segments.push(segment);
    plain.execute_batch(&format!("CREATE VIEW t AS SELECT * FROM '{}'", path.display()))?;
    Ok(table)
}

/// Measures DuckDB's own JSON, collected into one body.
fn to_json(plain: &Connection) -> Result<Duration, AnyError> {
    let started = Instant::now();
    let mut statement = plain.prepare("SELECT to_json(t)::VARCHAR FROM t")?;
    let mut rows = statement.query([])?;
    let mut body = String::from("[");
    while let Some(row) = rows.next()? {
        if body.len() > 1 {
            body.push(',');
        }
        body.push_str(row.get_ref(0)?.as_str()?);
    }
    body.push(']');
    Ok(started.elapsed())
}
