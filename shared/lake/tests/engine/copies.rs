//! Tests that native copies give the same answers as segments, after any changes of columns.

use std::fmt::Write as _;

use lake::manifest::{ManifestColumn, TableVersion};
use serde_json::{Value, json};

use crate::fixture::{Store, limits, table};

/// A column of every type.
const TYPES: [&str; 10] = [
    "STRING",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(12,3)",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "JSON",
];

/// Reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn value(&mut self, column_type: &str) -> String {
        let n = self.below(2_000);
        match column_type {
            _ if self.below(6) == 0 => String::new(),
            "STRING" => ["a", "ß\u{1f600}", "\"say, \"\"hi\"\"\"", "\" x \""][n % 4].into(),
            "INTEGER" | "BIGINT" => format!("{}", i64::try_from(n).unwrap() - 1_000),
            "BOOLEAN" => ["true", "false"][n % 2].into(),
            "DATE" => format!("2024-02-{:02}", n % 28 + 1),
            "TIMESTAMP" => format!("2024-02-{:02}T03:04:{:02}.{n:06}Z", n % 28 + 1, n % 60),
            "JSON" => format!("\"{{\"\"a\"\": [{n}, null]}}\""),
            _ => format!("{}.{:02}", n / 7, n % 100),
        }
    }

    fn csv(&mut self, table: &TableVersion) -> String {
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let mut text = format!("{}\n", names.join(","));
        for row in 0..self.below(300) + 1 {
            for (index, column) in table.columns.iter().enumerate() {
                let value = match index {
                    0 => row.to_string(),
                    _ => self.value(&column.column_type.to_string()),
                };
                let _ = write!(text, "{}{value}", if index == 0 { "" } else { "," });
            }
            text.push('\n');
        }
        text
    }

    /// Applies one change of columns to the table's description.
    fn alter(&mut self, table: &mut TableVersion) {
        let at = self.below(table.columns.len() - 1) + 1;
        let id = table.next_field_id;
        match self.below(5) {
            0 => table.columns[at].name = format!("renamed {id}"),
            1 => drop(table.columns.remove(at)),
            2 => {
                let wider = match table.columns[at].column_type.to_string().as_str() {
                    "INTEGER" => "BIGINT",
                    "FLOAT" => "DOUBLE",
                    "DECIMAL(12,3)" => "DECIMAL(20,5)",
                    "JSON" => "STRING",
                    _ => return,
                };
                table.columns[at].column_type = wider.parse().unwrap();
            }
            _ => {
                let added = TYPES[self.below(TYPES.len())];
                let default = match added {
                    "STRING" => Some("it's"),
                    "INTEGER" | "BIGINT" | "DOUBLE" => Some("7"),
                    "DECIMAL(12,3)" => Some("1.500"),
                    "DATE" => Some("2024-01-02"),
                    _ => None,
                };
                // Sometimes reuses the name of a dropped column.
                let name = format!("added{}", self.below(8));
                if table.column(&name).is_none() {
                    let column = serde_json::from_value(json!({ "name": name, "type": added })).unwrap();
                    let column = ManifestColumn::new(id, column, default.map(str::to_owned));
                    table.columns.insert(at, column);
                }
            }
        }
        table.next_field_id = id + 1;
    }
}

fn columns() -> Value {
    let id = json!({ "name": "id", "type": "BIGINT" });
    let rest = TYPES
        .iter()
        .zip(0..)
        .map(|(column_type, index)| json!({ "name": format!("Column {index}"), "type": column_type }));
    [id].into_iter().chain(rest).collect()
}

#[tokio::test]
async fn both_tiers_answer_alike_over_any_history_of_columns() {
    for seed in 0..6 {
        let mut numbers = Numbers(seed);
        let mut store = Store::new(limits(), vec![table("t", columns())]);
        for _ in 0..5 {
            let csv = numbers.csv(&store.tables[0]);
            store.import(0, csv).await.unwrap();
            for _ in 0..numbers.below(3) {
                numbers.alter(&mut store.tables[0]);
            }
        }
        let names = store.tables[0]
            .columns
            .iter()
            .map(|column| format!("\"{}\"", column.name));
        let names: Vec<_> = names.collect();
        let (last, first) = (names[names.len() - 1].clone(), names[1].clone());
        for sql in [
            "SELECT * FROM t".to_owned(),
            format!("SELECT typeof(COLUMNS(*)) FROM t WHERE id = 0 AND {last} IS NULL"),
            format!("SELECT {first}, count(*), sum(id) FROM t GROUP BY 1 ORDER BY 1"),
            format!("SELECT a.id, b.{last} FROM t a JOIN t b ON a.{last} = b.{last} ORDER BY 1, 2 LIMIT 50"),
        ] {
            store.reads_copies = false;
            let mut from_segments = store.query(&sql).await.unwrap();
            store.copy().await;
            let mut from_copy = store.query(&sql).await.unwrap();
            for answer in [&mut from_segments, &mut from_copy] {
                answer["execution_time_ms"].take();
            }
            assert_eq!(from_segments, from_copy, "seed {seed}: {sql}");
        }
    }
}

#[tokio::test]
async fn a_copy_is_shared_by_names_and_by_nothing_else() {
    let mut store = Store::with_orders(limits()).await;
    let file = |store: &Store| store.scope().copy(&store.tables[0]);
    let first = file(&store);
    store.tables[0].columns[1].name = "buyer".into();
    store.tables[0].columns[1].description = Some("who".into());
    store.tables[0].name = "sales".into();
    assert_eq!(file(&store), first);

    let mut wider = store.tables[0].clone();
    wider.columns[2].column_type = "BIGINT".parse().unwrap();
    let mut fewer = store.tables[0].clone();
    fewer.columns.remove(2);
    let mut other = store.tables[0].clone();
    other.segments[0].segment_id = "another".into();
    let mut defaulted = store.tables[0].clone();
    defaulted.columns[2].initial_default = Some(String::new());
    let names = [wider, fewer, other, defaulted].map(|table| store.scope().copy(&table));
    assert!(!names.contains(&first));
}

#[tokio::test]
async fn a_child_goes_from_tier_to_tier() {
    let mut store = Store::with_orders(limits()).await;
    store.probe().await;
    let child = store.engine.idle_children();
    store.copy().await;
    store.probe().await;
    store.reads_copies = false;
    store.probe().await;
    store.reads_copies = true;
    store.probe().await;
    assert!(
        store.engine.idle_children().iter().any(|id| child.contains(id)),
        "the same child all the time"
    );
    // A copy that cannot be opened is an internal error, not the caller's.
    store.reads_copies = false;
    store.probe().await;
    let file = store.scope().copy(&store.tables[0]);
    std::fs::write(&file, "no database").unwrap();
    store.reads_copies = true;
    let broken = store.query("SELECT count(*) FROM orders").await.unwrap_err();
    assert_eq!(broken.status(), 500);
    assert!(!broken.message().contains("duckdb"), "{}", broken.message());
    store.reads_copies = false;
    store.probe().await;
}
