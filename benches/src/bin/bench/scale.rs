//! Measures a store of 100 million rows in 200 segments: the cost of a small change, next to a store of one
//! row, and its queries.
//!
//! `BENCH_SCALE_SEGMENTS` is the number of segments of half a million rows each; default: 200. The number
//! stays constant, because compaction is postponed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use platform::config::variables;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::plain::PlainDuckDb;
use crate::report::{Comparison, Figure, Row};
use crate::runner::Runner;
use crate::statistics::{median, worst};
use crate::stores::{self, Store};
use crate::{Result, programs, say};

const PART: &str = "scale";
const THREADS: u32 = 2;
const SEGMENTS: u64 = 200;
const SEGMENT_ROWS: u64 = 500_000;
/// Measurements of each kind.
const TIMES: u64 = 15;

const COLUMNS: [(&str, &str, &str); 4] = [
    ("id", "BIGINT", "primary_key"),
    ("region", "STRING", ""),
    ("day", "DATE", ""),
    ("quantity", "INTEGER", ""),
];

/// Name of a change, and a function that returns the end of its path and its body; a change of a table is a
/// `PUT`.
type Change = (&'static str, fn(u64, &str) -> (String, Value));

const CHANGES: [Change; 5] = [
    ("snapshot", |number, _| {
        ("/versions".to_owned(), json!({ "name": format!("no {number}") }))
    }),
    ("rollback", |_, version| {
        (format!("/versions/{version}/rollback"), json!({}))
    }),
    ("add a column", |number, _| {
        let column = json!({ "name": format!("added_{number}"), "type": "INTEGER", "default": "7" });
        ("/tables/t".to_owned(), json!({ "add_columns": [column] }))
    }),
    ("rename a column", |number, _| {
        let rename = json!([{ "from": format!("added_{number}"), "to": format!("renamed_{number}") }]);
        ("/tables/t".to_owned(), json!({ "rename_columns": rename }))
    }),
    ("drop a column", |number, _| {
        (
            "/tables/t".to_owned(),
            json!({ "drop_columns": [format!("renamed_{number}")] }),
        )
    }),
];

/// Measurements of one side's changes.
#[derive(Default)]
struct Samples {
    ms: Vec<f64>,
    bytes: Vec<f64>,
}

pub async fn measure() -> Result<Vec<Row>> {
    let segments = programs::variable("BENCH_SCALE_SEGMENTS").map_or(Ok(SEGMENTS), |text| text.parse())?;
    let folder = tempdir()?;
    let mut plain = PlainDuckDb::start(&[], THREADS)?;
    let settings = [(variables::COMPACT_AT_SEGMENTS.name, "1000000")];
    let runner = Runner::start_with(&folder.path().join("data"), settings)?;
    let large = Store::create(&runner, "Large", &stores::table(&COLUMNS)).await?;
    let file = folder.path().join("rows.parquet");
    for number in 0..segments {
        stores::write(&mut plain, &rows(number * SEGMENT_ROWS), &file)?;
        large.append(&file).await?;
        if (number + 1).is_multiple_of(20) {
            say(&format!("{} of {segments} segments", number + 1));
        }
    }
    let count = large.segments()?.len() as u64;
    if count != segments {
        return Err(format!("the large store has {count} segments, not {segments}").into());
    }

    let total = segments * SEGMENT_ROWS;
    let size = format!("{total} rows in {segments} segments");
    let mut table = Vec::new();
    for (name, sql) in [
        ("count", "SELECT count(*) FROM t".to_owned()),
        (
            "one row by its key",
            format!("SELECT * FROM t WHERE id = {}", total / 2),
        ),
        (
            "sums by a column",
            "SELECT region, sum(quantity) FROM t GROUP BY region".to_owned(),
        ),
    ] {
        let first = large.query(&sql).await?.ms;
        let second = large.query(&sql).await?.ms;
        let row = Row::new(PART, format!("{size}: {name}"), Figure::Milliseconds(second));
        table.push(row.unlucky("first", Figure::Milliseconds(first)));
    }

    let (mut on_large, mut on_empty) = (Samples::default(), Samples::default());
    for number in 0..=TIMES {
        let empty = Store::create(&runner, &format!("Empty {number}"), &stores::table(&COLUMNS)).await?;
        for (store, samples) in [(&large, &mut on_large), (&empty, &mut on_empty)] {
            let row = json!({ "id": total + number, "region": "north", "day": "2024-05-01", "quantity": 1 });
            // The next child of the engine starts after an import; wait so that it is ready on both sides.
            tokio::time::sleep(Duration::from_millis(150)).await;
            let before = files(&store.folder())?;
            let ms = store
                .import(&json!({ "t": { "source": "inline", "data": [row] } }))
                .await?;
            if number > 0 {
                samples.ms.push(ms);
                samples.bytes.push(growth(&before, &files(&store.folder())?));
            }
        }
    }
    table.extend(beside(
        "append of 1 row",
        &size,
        &on_large,
        "an empty store",
        &on_empty,
    ));

    let small = Store::create(&runner, "Small", &stores::table(&COLUMNS)).await?;
    let row = json!({ "id": 1, "region": "north", "day": "2024-05-01", "quantity": 1 });
    small
        .import(&json!({ "t": { "source": "inline", "data": [row] } }))
        .await?;
    let mut sides: Vec<(Samples, Samples)> = CHANGES.iter().map(|_| Default::default()).collect();
    for number in 0..=TIMES {
        for ((name, change), (on_large, on_small)) in CHANGES.iter().zip(&mut sides) {
            for (store, samples) in [(&large, on_large), (&small, on_small)] {
                let (path, body) = change(number, &store.version().await?);
                let before = files(&store.folder())?;
                let ms = if name.ends_with("column") {
                    store.timed_put(&path, &body).await?
                } else {
                    store.timed_post(&path, &body).await?
                };
                if number > 0 {
                    samples.ms.push(ms);
                    samples.bytes.push(growth(&before, &files(&store.folder())?));
                }
            }
        }
    }
    for ((name, _), (on_large, on_small)) in CHANGES.iter().zip(&sides) {
        table.extend(beside(name, &size, on_large, "a store of one row", on_small));
    }
    Ok(table)
}

/// Returns rows with the time and bytes of a change of the large store, next to those of the other store.
fn beside(what: &str, size: &str, large: &Samples, other_name: &'static str, other: &Samples) -> [Row; 2] {
    let (ours, theirs) = (median(&large.ms), median(&other.ms));
    let time = Row::new(PART, format!("{what}, {size}"), Figure::Milliseconds(ours))
        .unlucky("worst", Figure::Milliseconds(worst(&large.ms)))
        .beside(
            other_name,
            Figure::Milliseconds(theirs),
            Comparison::times(ours, theirs),
        );
    let (ours, theirs) = (worst(&large.bytes), worst(&other.bytes));
    let bytes = Row::new(PART, format!("{what}, {size}: written"), Figure::Megabytes(ours)).beside(
        other_name,
        Figure::Megabytes(theirs),
        Comparison::Sizes(ours / theirs),
    );
    [time, bytes]
}

fn rows(from: u64) -> String {
    format!(
        "SELECT range AS id, ['north', 'east', 'south'][1 + range % 3] AS region, \
         DATE '2024-01-01' + (range % 366)::INTEGER AS day, (hash(range) % 100)::INTEGER AS quantity \
         FROM range({from}, {})",
        from + SEGMENT_ROWS
    )
}

/// Returns the files below a folder, with their sizes in bytes.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, u64>> {
    let mut sizes = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_dir() {
            sizes.extend(files(&entry.path())?);
        } else {
            sizes.insert(entry.path(), data.len());
        }
    }
    Ok(sizes)
}

/// Returns the size of the new files, in millions of bytes.
fn growth(before: &BTreeMap<PathBuf, u64>, after: &BTreeMap<PathBuf, u64>) -> f64 {
    let new = after.iter().filter(|(path, _)| !before.contains_key(*path));
    new.map(|(_, bytes)| *bytes as f64).sum::<f64>() / 1e6
}
