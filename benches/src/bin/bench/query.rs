//! Measures queries over a data store of a million rows, through HTTP, next to the same SQL in plain DuckDB
//! on the same files.
//!
//! *Warm*: the version was queried before; *in the engine* is the time in the answer itself, in whole
//!  milliseconds, and the rest is HTTP, records and the transfer to the engine's process. *First*: the runner
//!  has just started and its engine's process is cold; plain DuckDB opens a new connection. *First, nothing
//!  cached*: the data files also come from the object store.

use std::path::{Path, PathBuf};

use tempfile::tempdir;

use crate::Result;
use crate::plain::PlainDuckDb;
use crate::report::{Comparison, Figure, Row};
use crate::runner::Runner;
use crate::statistics::{median, percentile, worst};
use crate::stores::{self, Store};

const PART: &str = "query";
const ROWS: u64 = 1_000_000;
/// The engine's number of threads per query.
const THREADS: u32 = 2;
/// Warm runs of each statement.
const WARM: usize = 25;
/// First runs of each statement.
const FIRST: usize = 5;

/// Statements by short name.
const STATEMENTS: [(&str, &str); 6] = [
    ("count", "SELECT count(*) FROM t"),
    (
        "filter",
        "SELECT count(*), sum(price) FROM t WHERE region = 'north' AND day BETWEEN DATE '2024-02-01' AND DATE '2024-02-14'",
    ),
    (
        "group by",
        "SELECT customer, count(*), sum(price), avg(quantity) FROM t GROUP BY customer ORDER BY 3 DESC LIMIT 50",
    ),
    (
        "top 100",
        "SELECT id, customer, price FROM t ORDER BY price DESC, id LIMIT 100",
    ),
    (
        "join with itself",
        "SELECT a.region, count(*) FROM t a JOIN t b ON b.id = a.parent WHERE b.quantity > 90 GROUP BY a.region ORDER BY 1",
    ),
    (
        "1,000 rows",
        "SELECT * FROM t WHERE id BETWEEN 500000 AND 500999 ORDER BY id",
    ),
];

/// Times of one statement, in milliseconds.
#[derive(Default)]
struct Times {
    warm: Vec<f64>,
    warm_engine: Vec<f64>,
    warm_plain: Vec<f64>,
    first: Vec<f64>,
    first_plain: Vec<f64>,
    first_nothing_cached: Vec<f64>,
}

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let data_dir = folder.path().join("data");
    let (store, segments) = fill(folder.path(), &data_dir).await?;
    let mut plain = PlainDuckDb::start(&[view(&segments)], THREADS)?;
    let mut times: Vec<_> = STATEMENTS
        .iter()
        .map(|statement| (statement, Times::default()))
        .collect();

    for _ in 0..FIRST {
        for ((_, sql), times) in &mut times {
            times.first.push(first(&data_dir, &store, sql).await?);
            times.first_plain.push(plain.query(sql, true)?.ms);
            std::fs::remove_dir_all(data_dir.join("cache"))?;
            times
                .first_nothing_cached
                .push(first(&data_dir, &store, sql).await?);
        }
    }
    let runner = Runner::start(&data_dir)?;
    let store = Store::new(&runner, &store);
    for number in 0..=WARM {
        for ((name, sql), times) in &mut times {
            let answered = store.query(sql).await?;
            let beside = plain.query(sql, false)?;
            let rows = answered.rows;
            if beside.rows != rows {
                return Err(format!("'{name}' has {rows} rows here, {} in plain DuckDB", beside.rows).into());
            }
            if number > 0 {
                times.warm.push(answered.ms);
                times.warm_engine.push(answered.engine_ms);
                times.warm_plain.push(beside.ms);
            }
        }
    }
    let mut rows = Vec::new();
    for ((name, _), times) in &times {
        let warm = Row::new(
            PART,
            format!("{name}: warm"),
            Figure::Milliseconds(median(&times.warm)),
        )
        .unlucky("p90", Figure::Milliseconds(percentile(&times.warm, 0.9)));
        let first = Row::new(
            PART,
            format!("{name}: first"),
            Figure::Milliseconds(median(&times.first)),
        )
        .unlucky("worst", Figure::Milliseconds(worst(&times.first)));
        let bare = &times.first_nothing_cached;
        let nothing_cached = Row::new(
            PART,
            format!("{name}: first, nothing cached"),
            Figure::Milliseconds(median(bare)),
        )
        .unlucky("worst", Figure::Milliseconds(worst(bare)));
        let engine = Row::new(
            PART,
            format!("{name}: warm, in the engine"),
            Figure::Milliseconds(median(&times.warm_engine)),
        );
        rows.push(against_plain(warm, &times.warm, &times.warm_plain));
        rows.push(against_plain(engine, &times.warm_engine, &times.warm_plain));
        rows.push(against_plain(first, &times.first, &times.first_plain));
        rows.push(against_plain(nothing_cached, bare, &times.first_plain));
    }
    Ok(rows)
}

/// Returns a row with plain DuckDB's time beside it.
pub fn against_plain(row: Row, ours: &[f64], plain: &[f64]) -> Row {
    let (ours, plain) = (median(ours), median(plain));
    row.beside(
        "plain DuckDB",
        Figure::Milliseconds(plain),
        Comparison::times(ours, plain),
    )
}

/// Returns the time of the first query after a start.
async fn first(data_dir: &Path, store: &str, sql: &str) -> Result<f64> {
    let runner = Runner::start(data_dir)?;
    Ok(Store::new(&runner, store).query(sql).await?.ms)
}

/// Makes the store. Returns its id and its Parquet files.
async fn fill(folder: &Path, data_dir: &Path) -> Result<(String, Vec<PathBuf>)> {
    let file = folder.join("rows.csv");
    let mut plain = PlainDuckDb::start(&[], THREADS)?;
    stores::write(&mut plain, &stores::orders(ROWS), &file)?;
    let runner = Runner::start(data_dir)?;
    let store = Store::create(&runner, "Orders", &stores::table(&stores::ORDERS)).await?;
    store.append(&file).await?;
    let segments = store.segments()?;
    Ok((store.id, segments))
}

/// Returns the statement that makes the table over Parquet files.
fn view(files: &[PathBuf]) -> String {
    let files = files.iter().map(|file| format!("'{}'", file.display()));
    let files: Vec<_> = files.collect();
    format!(
        "CREATE VIEW t AS SELECT * FROM read_parquet([{}])",
        files.join(", ")
    )
}
