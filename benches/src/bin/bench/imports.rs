//! Measures imports of CSV files: the time next to DuckDB's own conversion from CSV to Parquet, and the
//! memory.
//!
//! `BENCH_LARGE_ROWS` is the number of rows of the large file; default: 20 million. It is imported in the
//! background, as files above 512 MiB are. DuckDB gets the types of the columns, and writes a file with its
//! own defaults. *Memory* is the highest resident memory of the runner, including its local emulations, and
//! all its children.

use std::path::Path;

use tempfile::tempdir;

use crate::memory::Watch;
use crate::plain::PlainDuckDb;
use crate::query::against_plain;
use crate::report::{Figure, Row};
use crate::runner::Runner;
use crate::statistics::{median, worst};
use crate::stores::{self, Store};
use crate::{Result, programs, say};

const PART: &str = "imports";
/// The engine's number of threads.
const THREADS: u32 = 2;
/// Rows of the file that is imported repeatedly.
const ROWS: u64 = 1_000_000;
/// Imports of that file.
const TIMES: usize = 7;
/// Rows of the large file.
const LARGE_ROWS: u64 = 20_000_000;

/// Columns in the form of DuckDB's CSV reader.
const TYPES: &str = "{'id': 'BIGINT', 'parent': 'BIGINT', 'customer': 'VARCHAR', 'region': 'VARCHAR', \
                     'quantity': 'INTEGER', 'price': 'DECIMAL(18,3)', 'day': 'DATE'}";

pub async fn measure() -> Result<Vec<Row>> {
    let large_rows = programs::variable("BENCH_LARGE_ROWS").map_or(Ok(LARGE_ROWS), |text| text.parse())?;
    let folder = tempdir()?;
    let mut plain = PlainDuckDb::start(&[], THREADS)?;
    let runner = Runner::start(&folder.path().join("data"))?;
    let store = Store::create(&runner, "Orders", &stores::table(&stores::ORDERS)).await?;

    let file = folder.path().join("rows.csv");
    stores::write(&mut plain, &stores::orders(ROWS), &file)?;
    let (mut ours, mut theirs, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    let tables = store.put(&file)?;
    for number in 0..=TIMES {
        let watch = Watch::over(runner.process_id());
        let ms = store.import(&tables).await?;
        let peak = watch.peak_megabytes();
        let beside = plain.query(&copy(&file), false)?.ms;
        if number > 0 {
            ours.push(ms);
            theirs.push(beside);
            peaks.push(peak);
        }
    }
    let what = format!("{ROWS} rows of CSV");
    let time = Row::new(PART, what.clone(), Figure::Milliseconds(median(&ours)))
        .unlucky("worst", Figure::Milliseconds(worst(&ours)));
    let mut table = vec![against_plain(time, &ours, &theirs)];
    table.push(Row::new(
        PART,
        format!("{what}: memory"),
        Figure::Megabytes(worst(&peaks)),
    ));

    say(&format!("writing {large_rows} rows of CSV"));
    stores::write(&mut plain, &stores::orders(large_rows), &file)?;
    let watch = Watch::over(runner.process_id());
    let ms = store.append_in_background(&file).await?;
    let peak = watch.peak_megabytes();
    let beside = plain.query(&copy(&file), false)?.ms;
    let what = format!("{large_rows} rows of CSV");
    let time = Row::new(PART, what.clone(), Figure::Milliseconds(ms));
    table.push(against_plain(time, &[ms], &[beside]));
    table.push(Row::new(PART, format!("{what}: memory"), Figure::Megabytes(peak)));
    Ok(table)
}

/// Returns the SQL of DuckDB's own conversion.
fn copy(file: &Path) -> String {
    let output = file.with_extension("parquet");
    format!(
        "COPY (FROM read_csv('{}', header = true, auto_detect = false, columns = {TYPES})) TO '{}' (FORMAT parquet)",
        file.display(),
        output.display()
    )
}
