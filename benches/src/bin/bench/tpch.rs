//! Measures TPC-H through HTTP, next to plain DuckDB over its own default zstd Parquet files and over its own
//! database file.
//!
//! `BENCH_TPCH_SCALE` is the scale factor; default: 1. *Parquet*: the service reads only segments. *Native*:
//! it has made native copies of the tables. Each query runs in turns with the same query in plain DuckDB,
//! with as many threads. The ratio in the row of a geometric mean is the mean of the 22 ratios.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use platform::config::variables;
use serde_json::json;
use tempfile::tempdir;
use tests::tpch::{QUERIES, TABLES, definitions};

use crate::plain::PlainDuckDb;
use crate::query::against_plain;
use crate::report::{Comparison, Figure, Row};
use crate::runner::Runner;
use crate::statistics::{geometric_mean, median};
use crate::stores::{self, Store};
use crate::{Result, programs, say};

const PART: &str = "tpch";
/// The engine's number of threads per query.
const THREADS: u32 = 2;
/// Warm runs of each query.
const WARM: usize = 7;
/// Runs of the small query.
const SMALL: usize = 200;
/// Query with almost no work.
const SMALL_SQL: &str = "SELECT r_name FROM region WHERE r_regionkey = 3";
/// Tables that get a native copy; the smallest ones do not.
const COPIED: usize = 6;
/// Longest wait for the native copies.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure() -> Result<Vec<Row>> {
    let scale = programs::variable("BENCH_TPCH_SCALE").map_or(Ok(1.0), |text| text.parse())?;
    let folder = tempdir()?;
    let data_dir = folder.path().join("data");
    PlainDuckDb::make_tpch(folder.path(), scale)?;
    let (store, import_ms) = fill(folder.path(), &data_dir).await?;
    let mut rows = vec![Row::new(
        PART,
        "import of the Parquet files",
        Figure::Milliseconds(import_ms),
    )];

    let mut plain = PlainDuckDb::start(&views(folder.path()), THREADS)?;
    let runner = Runner::start_with(&data_dir, [(variables::COPIED_TABLE_MB.name, "0")])?;
    rows.extend(compare("Parquet", &Store::new(&runner, &store), &mut plain).await?);
    drop((runner, plain));

    let runner = Runner::start(&data_dir)?;
    wait_for_copies(&runner, &store).await?;
    let mut plain = PlainDuckDb::start(&database(folder.path()), THREADS)?;
    rows.extend(compare("native", &Store::new(&runner, &store), &mut plain).await?);
    Ok(rows)
}

/// Compares the queries, and the small one, in turns.
async fn compare(tier: &str, store: &Store<'_>, plain: &mut PlainDuckDb) -> Result<Vec<Row>> {
    let mut times = vec![(Vec::new(), Vec::new()); QUERIES.len()];
    for round in 0..=WARM {
        for ((sql, _), (ours, theirs)) in QUERIES.iter().zip(&mut times) {
            let answered = store.query(sql).await?;
            let beside = plain.query(sql, false)?;
            if answered.rows != beside.rows.min(1_000) {
                return Err(format!("other rows than plain DuckDB's: {sql}").into());
            }
            if round > 0 {
                ours.push(answered.ms);
                theirs.push(beside.ms);
            }
        }
    }
    let mut rows = Vec::new();
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for (number, (ours, theirs)) in (1..).zip(&times) {
        all_ours.push(median(ours));
        all_theirs.push(median(theirs));
        let row = Row::new(
            PART,
            format!("{tier}: query {number}"),
            Figure::Milliseconds(median(ours)),
        );
        rows.push(against_plain(row, ours, theirs));
    }
    let (ours, theirs) = (geometric_mean(&all_ours), geometric_mean(&all_theirs));
    rows.push(
        Row::new(
            PART,
            format!("{tier}: geometric mean"),
            Figure::Milliseconds(ours),
        )
        .beside(
            "plain DuckDB",
            Figure::Milliseconds(theirs),
            Comparison::times(ours, theirs),
        ),
    );

    let (mut ours, mut engine, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SMALL {
        let answered = store.query(SMALL_SQL).await?;
        ours.push(answered.ms);
        engine.push(answered.engine_ms);
        theirs.push(plain.query(SMALL_SQL, false)?.ms);
    }
    for (what, ours) in [("small query", &ours), ("small query, in the engine", &engine)] {
        let row = Row::new(
            PART,
            format!("{tier}: {what}"),
            Figure::Milliseconds(median(ours)),
        );
        rows.push(against_plain(row, ours, &theirs));
    }
    Ok(rows)
}

/// Repeats a query until the large tables have native copies.
async fn wait_for_copies(runner: &Runner, store: &str) -> Result<()> {
    let started = Instant::now();
    let folder = runner.data_dir().join("cache/segments");
    let store = Store::new(runner, store);
    loop {
        for (table, _) in TABLES {
            store.query(&format!("SELECT count(*) FROM {table}")).await?;
        }
        let files = std::fs::read_dir(&folder)?.flatten();
        let copies = files.filter(|file| file.path().extension().is_some_and(|ending| ending == "duckdb"));
        if copies.count() >= COPIED {
            say(&format!("copied within {:.1} s", started.elapsed().as_secs_f64()));
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            return Err("the tables were not copied".into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Makes the store. Returns its id and the milliseconds of the import.
async fn fill(folder: &Path, data_dir: &Path) -> Result<(String, f64)> {
    let runner = Runner::start(data_dir)?;
    let store = Store::create(&runner, "TPC-H", &definitions()).await?;
    let mut tables = serde_json::Map::new();
    for (table, _) in TABLES {
        let uri = format!("out/{table}.parquet");
        stores::put_artifact(data_dir, &file(folder, table), &uri)?;
        tables.insert(table.into(), json!({ "source": "artifact", "uri": uri }));
    }
    let import_ms = store.import(&json!(tables)).await?;
    Ok((store.id, import_ms))
}

fn file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

/// Returns views of the Parquet files.
fn views(folder: &Path) -> Vec<String> {
    let views = TABLES.iter().map(|(table, _)| {
        let file = file(folder, table);
        format!("CREATE VIEW {table} AS SELECT * FROM '{}'", file.display())
    });
    views.collect()
}

/// Returns statements for a read-only database file with the tables.
fn database(folder: &Path) -> Vec<String> {
    let database = folder.join("plain.duckdb");
    let database = database.display();
    let mut statements = vec![format!("ATTACH '{database}' AS plain")];
    for (table, _) in TABLES {
        let file = file(folder, table);
        statements.push(format!(
            "CREATE TABLE plain.{table} AS SELECT * FROM '{}'",
            file.display()
        ));
    }
    statements.push("DETACH plain".to_owned());
    statements.push(format!("ATTACH '{database}' AS plain (READ_ONLY)"));
    statements.push("USE plain".to_owned());
    statements
}
