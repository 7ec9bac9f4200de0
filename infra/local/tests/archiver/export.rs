//! Tests exports: what a spreadsheet would run is guarded in CSV, and no other format differs from the log.

use event_log::{Export, ExportFormat};
use events::records::events::EventRecord;
use serde_json::{Value, json};

use crate::world::{World, at, envelope};

const NOON: &str = "2026-11-24T12:00:00Z";

/// Texts that a spreadsheet takes for a formula, or that another separator or trimming would make one.
const RUN: [&str; 16] = [
    "=1+1",
    "=HYPERLINK(\"https://example.com/?\"&A1,\"open\")",
    "+1+1",
    "-1+1",
    "-7",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\u{FF1D}1+1",
    "\u{FF0B}1",
    "\u{FF0D}1",
    "\u{FF20}SUM(A1)",
    "  =1+1",
    "\u{FEFF}=1+1",
    "\u{0}=1+1",
];
/// Texts that stay as they are.
const ORDINARY: [&str; 6] = ["a=b", "'quoted", "1-1", "", "a;=1+1", "\"=1\""];

async fn exported(world: &World, format: ExportFormat, name: &str) -> (u64, Vec<u8>) {
    exported_with(world, format, name, false).await
}

async fn exported_with(world: &World, format: ExportFormat, name: &str, private: bool) -> (u64, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let export = Export {
        logs: std::slice::from_ref(&world.log),
        from: at("2026-11-24T00:00:00Z"),
        to: at("2026-11-24T23:59:59.999Z"),
        format,
        private,
    };
    let records = world.store().export(&export, &path, |_| {}).await.unwrap();
    (records, std::fs::read(&path).unwrap())
}

#[tokio::test]
async fn a_cell_that_a_spreadsheet_would_run_is_guarded_in_csv_alone() {
    let world = World::new().await;
    let texts: Vec<_> = RUN.iter().chain(&ORDINARY).copied().collect();
    for (number, text) in texts.iter().enumerate() {
        let mut envelope = envelope(&format!("e{number:02}"), NOON, &json!({ "n": -1 }));
        envelope["resource_id"] = json!(text);
        envelope["meters"] = json!([{ "category": "processing", "type": "pages", "quantity": -2.5 }]);
        let record = EventRecord {
            id: format!("e{number:02}"),
            envelope: envelope.to_string(),
            details_key: None,
            received_at: world.clock.now(),
            lineage: Vec::new(),
            addressee: None,
            matched_at: None,
            private_to: None,
        };
        world.events.insert(&world.tenant, &record).await.unwrap();
        // Half of the records are in a file.
        if number == texts.len() / 2 {
            world.pass().await;
        }
    }
    let (records, csv) = exported(&world, ExportFormat::Csv, "e.csv").await;
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(records, texts.len() as u64);
    let cell = |text: &str| format!(",\"{}\",", text.replace('"', "\"\""));
    for text in RUN {
        assert!(
            csv.contains(&cell(&format!("'{text}"))),
            "{text:?} is not guarded: {csv}"
        );
        assert!(!csv.contains(&cell(text)), "{text:?} is there unguarded: {csv}");
    }
    for text in ORDINARY {
        assert!(csv.contains(&cell(text)), "{text:?} is another: {csv}");
    }
    // A number is none, whatever its sign.
    assert_eq!(csv.matches(",-2.5,").count(), texts.len(), "{csv}");

    let (_, lines) = exported(&world, ExportFormat::Ndjson, "e.ndjson").await;
    let lines = String::from_utf8(lines).unwrap();
    let ids = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["resource_id"].as_str().unwrap().to_owned()
    });
    assert_eq!(ids.collect::<Vec<_>>(), texts);

    let folder = tempfile::tempdir_in(world.folder()).unwrap();
    let path = folder.path().join("e.parquet");
    std::fs::write(
        &path,
        exported(&world, ExportFormat::Parquet, "e.parquet").await.1,
    )
    .unwrap();
    let rows = world.rows(&path, "SELECT resource_id FROM").await;
    assert_eq!(json!(rows.concat()), json!(texts));
}

#[tokio::test]
async fn each_format_exports_with_and_without_private_records() {
    let world = World::new().await;
    world.event("e1", NOON).await;
    for (format, name) in [
        (ExportFormat::Csv, "e.csv"),
        (ExportFormat::Ndjson, "e.ndjson"),
        (ExportFormat::Parquet, "e.parquet"),
    ] {
        for private in [false, true] {
            let (records, bytes) = exported_with(&world, format, name, private).await;
            assert_eq!(records, 1, "{name}");
            let names_owner = String::from_utf8_lossy(&bytes).contains("private_to");
            // A record without an owner has no such field in NDJSON.
            assert!(names_owner == private || name == "e.ndjson", "{name}");
        }
    }
}

#[tokio::test]
async fn an_export_has_each_event_once_in_order_whatever_times_its_files_span() {
    let world = World::new().await;
    let times = [
        "2026-11-24T00:00:00.000Z",
        "2026-11-24T23:59:59.999Z",
        "2026-11-23T23:59:59.999Z",
        "2026-11-24T12:00:00.500Z",
        "2016-01-01T00:00:00Z",
        "2026-11-25T00:00:00Z",
        "2026-11-24T12:00:00.500Z",
    ];
    for (number, time) in times.iter().enumerate() {
        world.event(&format!("e{number}"), time).await;
        if number % 2 == 1 {
            world.pass().await;
        }
    }
    let (records, lines) = exported(&world, ExportFormat::Ndjson, "e.ndjson").await;
    let lines = String::from_utf8(lines).unwrap();
    let ids = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["event_id"].as_str().unwrap().to_owned()
    });
    assert_eq!(
        (records, ids.collect::<Vec<_>>().join(" ").as_str()),
        (4, "e0 e3 e6 e1")
    );
}
