//! Runs the SQL of `docs/event-log.md` over the files of a log as they are in the bucket.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use event_log::columns;
use event_log::row::event_row;
use events::document_processed::{DocumentProcessed, Origin, ProcessedDocument};
use events::records::events::EventRecord;
use platform::records::logs::{LogId, LogKind};
use platform::{Tenant, UtcTime};
use serde_json::{Value, json};

use crate::world::World;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/event-log.md");

fn block(text: &str) -> String {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let blocks = page.split("\n```sql\n").skip(1);
    let mut blocks = blocks.map(|rest| rest.split("\n```").next().unwrap().to_owned());
    blocks.find(|block| block.contains(text)).unwrap()
}

fn event(number: u64, at: UtcTime) -> EventRecord {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let document = ProcessedDocument {
        document_id: format!("d{number}"),
        details: DocumentProcessed {
            page_count: Some(number),
            verdict: Some(["ok", "needs_review"][usize::from(number == 3)].to_owned()),
            ..DocumentProcessed::default()
        },
        ..ProcessedDocument::default()
    };
    let envelope = document.event(&Origin {
        event_id: &format!("e{number}"),
        tenant: &tenant,
        tenant_id: None,
        source: "documents",
        at,
    });
    EventRecord {
        id: format!("e{number}"),
        envelope: envelope.unwrap().to_json().unwrap(),
        details_key: None,
        received_at: at,
        lineage: Vec::new(),
        addressee: None,
        matched_at: None,
        private_to: None,
    }
}

#[tokio::test]
async fn duckdb_reads_the_log_as_the_page_says() {
    let world = World::new().await;
    let log = LogId::new("acme", Some("demo"), LogKind::Events);
    let tenant = Tenant::new("acme", "demo").unwrap();
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let first: UtcTime = "2026-11-23T23:59:59.999Z".parse().unwrap();
    for number in 1..=4 {
        let record = event(number, first.plus_ms(number / 3));
        let envelope = serde_json::from_str(&record.envelope).unwrap();
        let row = event_row(&record, &envelope).unwrap();
        rows.entry(first.plus_ms(number / 3).day()).or_default().push(row);
    }
    // This event creates the log's head and is in no file.
    world.events.insert(&tenant, &event(9, first)).await.unwrap();
    world.archive_rows(&log, &rows).await;
    // A second file with the same records, as after a merge.
    world.archive_rows(&log, &rows).await;

    let folder = world.store.temporary_folder("acme").unwrap();
    copy(&world.bucket().join("log"), &folder.path().join("log"));
    let page = block("CREATE VIEW").replace("'log/", &format!("'{}/log/", folder.path().display()));
    let mut statements = page.split(";\n\n");
    let view = statements
        .next()
        .unwrap()
        .strip_prefix("CREATE VIEW events AS\n")
        .unwrap();
    let mut session = world
        .store
        .session("acme", Duration::from_secs(60))
        .await
        .unwrap();
    let mut answers: Vec<Vec<Vec<Value>>> = Vec::new();
    for statement in statements {
        let sql = format!("WITH events AS ({view}) {}", statement.trim_end_matches(';'));
        answers.push(session.rows(&sql, &[]).await.unwrap());
    }
    let expected = json!([
        [["2026-11-23", 2, 3.0], ["2026-11-24", 2, 7.0]],
        [["ok", 3], ["needs_review", 1]],
    ]);
    assert_eq!(json!(answers), expected);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        match path.is_dir() {
            true => copy(&path, &to),
            false => std::fs::copy(&path, &to).map(drop).unwrap(),
        }
    }
}

#[test]
fn the_table_for_athena_has_the_columns_of_the_log() {
    let statement = block("CREATE EXTERNAL TABLE");
    let columns = statement.split_once("(\n").unwrap().1;
    let columns = columns.split_once(")\nPARTITIONED").unwrap().0;
    let columns: String = columns.split_whitespace().collect();
    let types = |sql_type: &str| match sql_type {
        "VARCHAR" => "string",
        "TIMESTAMPTZ" => "timestamp",
        "DOUBLE" => "double",
        _ => "array<struct<category:string,type:string,quantity:double>>",
    };
    let expected = columns::all(LogKind::Events).into_iter().map(|column| {
        let name = match column.name {
            "timestamp" => "`timestamp`",
            name => name,
        };
        format!("{name}{}", types(column.sql_type))
    });
    assert_eq!(columns, expected.collect::<Vec<_>>().join(","));
}
