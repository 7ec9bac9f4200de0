//! Measures appends of 100,000 rows to a table of 6 million with a primary key, next to plain DuckDB's `COPY`
//! of the same file into a Parquet file, which checks no key and keeps no version.
//!
//! The table is TPC-H's `lineitem` at scale factor 1, whose key is an order and a line number. *Sequential*:
//! all new orders come after the existing ones. *Random*: the new orders are spread between the existing
//! ones.

use std::path::Path;

use serde_json::json;
use tempfile::tempdir;
use tests::tpch;

use crate::Result;
use crate::plain::PlainDuckDb;
use crate::query::against_plain;
use crate::report::{Figure, Row};
use crate::runner::Runner;
use crate::statistics::{median, worst};
use crate::stores::{self, Store};

const PART: &str = "appends";
/// The engine's number of threads.
const THREADS: u32 = 2;
/// Appends of each kind; fewer files than compaction needs to start.
const TIMES: u64 = 7;

/// New orders come after all existing orders.
const SEQUENTIAL: &str =
    "SELECT * REPLACE (l_orderkey + 6000000 AS l_orderkey) FROM old LIMIT 100000 OFFSET $from";
/// `dbgen` uses only the first 8 of every 32 order numbers, so these numbers are free.
const RANDOM: &str = "SELECT * REPLACE (l_orderkey + 8 AS l_orderkey) FROM old \
                      WHERE hash(l_orderkey, l_linenumber) % 58 = $from // 100000 ORDER BY hash(l_comment) LIMIT 100000";

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    PlainDuckDb::make_tpch(folder.path(), 1.0)?;
    let existing = folder.path().join("lineitem.parquet");
    let old = format!("CREATE VIEW old AS FROM '{}'", existing.display());
    let mut plain = PlainDuckDb::start(&[old], THREADS)?;
    let mut rows = Vec::new();
    for (keys, new) in [("sequential", SEQUENTIAL), ("random", RANDOM)] {
        for ending in ["csv", "parquet"] {
            let runner = Runner::start(&folder.path().join(format!("{keys}-{ending}")))?;
            let store = Store::create(&runner, "Line items", &definition()).await?;
            store.append(&existing).await?;

            let file = folder.path().join(format!("new.{ending}"));
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for number in 0..=TIMES {
                let from = (number * 100_000).to_string();
                stores::write(&mut plain, &new.replace("$from", &from), &file)?;
                let ms = store.append(&file).await?;
                let beside = plain.query(&copy(&file), false)?.ms;
                if number > 0 {
                    ours.push(ms);
                    theirs.push(beside);
                }
            }
            let what = format!("100,000 rows of {ending} to 6,000,000, {keys} keys");
            let row = Row::new(PART, what, Figure::Milliseconds(median(&ours)))
                .unlucky("worst", Figure::Milliseconds(worst(&ours)));
            rows.push(against_plain(row, &ours, &theirs));
        }
    }
    Ok(rows)
}

/// Returns the definition of the table `t`.
fn definition() -> serde_json::Value {
    let columns = lineitem().map(|(name, kind)| {
        let is_key = matches!(name, "l_orderkey" | "l_linenumber");
        json!({ "name": name, "type": kind, "primary_key": is_key })
    });
    json!({ "tables": [{ "name": "t", "columns": columns.collect::<Vec<_>>() }] })
}

/// Returns the names and types of the columns.
fn lineitem() -> impl Iterator<Item = (&'static str, &'static str)> {
    let tables = tpch::TABLES.into_iter();
    let columns = tables
        .filter(|(name, _)| *name == "lineitem")
        .flat_map(|(_, columns)| columns);
    columns.filter_map(|column| column.split_once(' '))
}

/// Returns SQL that copies the rows of a file into a file like a segment.
fn copy(file: &Path) -> String {
    let path = file.display();
    let source = if file.extension().is_some_and(|ending| ending == "csv") {
        let columns =
            lineitem().map(|(name, kind)| format!("'{name}': '{}'", kind.replace("STRING", "VARCHAR")));
        let columns = columns.collect::<Vec<_>>().join(", ");
        format!("read_csv('{path}', header = true, auto_detect = false, columns = {{{columns}}})")
    } else {
        format!("read_parquet('{path}')")
    };
    let output = file.with_extension("copy");
    format!(
        "COPY (FROM {source}) TO '{}' (FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION V2, ROW_GROUP_SIZE 122880)",
        output.display()
    )
}
