//! Tests files of a log, written and read through DuckDB.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use event_log::{WrittenFile, columns, merge, row, write};
use events::envelope::{Category, Envelope, Meter, raw};
use events::records::events::EventRecord;
use lake::{Engine, EngineConfig};
use platform::UtcTime;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::records::logs::LogKind;
use serde_json::{Value, json};
use tempfile::TempDir;

struct World {
    engine: Engine,
    folder: TempDir,
    _children: TempDir,
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "a test has no configuration")]
    fn new() -> Self {
        let children = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(children.path()).unwrap();
        config.program = env!("CARGO_BIN_EXE_event-log-child").into();
        config.library_path = std::env::var_os("LD_LIBRARY_PATH");
        Self {
            engine: Engine::new(config),
            folder: tempfile::tempdir().unwrap(),
            _children: children,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self, name: &str, rows: &[String]) -> PathBuf {
        let path = self.path(name);
        let lines: Vec<_> = rows.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(&path, lines.concat()).unwrap();
        path
    }

    async fn write(&self, kind: LogKind, rows: &[String], output: &str) -> (PathBuf, WrittenFile) {
        let rows = self.lines("rows.ndjson", rows);
        let output = self.path(output);
        let mut session = self.session().await;
        let written = write(&mut session, kind, &[rows], &output).await.unwrap();
        (output, written)
    }

    async fn session(&self) -> lake::FolderSession<'_> {
        let folder = self.folder.path();
        let session = self.engine.open_folder("acme", folder, Duration::from_secs(60));
        session.await.unwrap()
    }

    async fn query(&self, sql: &str) -> Vec<Vec<Value>> {
        self.session().await.rows(sql, &[]).await.unwrap()
    }
}

fn at(text: &str) -> UtcTime {
    text.parse().unwrap()
}

fn envelope(id: &str, time: &str) -> Envelope {
    Envelope {
        event_id: id.to_owned(),
        event_category: Category::Content,
        action: "document_processed".to_owned(),
        resource_type: "content_object".to_owned(),
        resource_id: "d1".to_owned(),
        account_id: "acme".to_owned(),
        project_id: "demo".to_owned(),
        tenant_id: None,
        timestamp: at(time),
        source: "workflow".to_owned(),
        resource_data: Default::default(),
        details: Default::default(),
        meters: Vec::new(),
        traceparent: None,
        tracestate: None,
    }
}

fn event(envelope: &Envelope) -> String {
    row_of(envelope, None)
}

fn private(envelope: &Envelope) -> String {
    row_of(envelope, Some("user:ada"))
}

fn row_of(envelope: &Envelope, private_to: Option<&str>) -> String {
    let record = EventRecord {
        id: envelope.event_id.clone(),
        envelope: String::new(),
        details_key: None,
        received_at: at("2026-11-24T12:00:00.001Z"),
        lineage: Vec::new(),
        addressee: None,
        matched_at: None,
        private_to: private_to.map(str::to_owned),
    };
    row::event_row(&record, envelope).unwrap()
}

fn meter(category: &str, kind: &str, quantity: f64) -> Meter {
    Meter {
        category: category.to_owned(),
        kind: kind.to_owned(),
        quantity,
    }
}

/// Texts that break careless readers and writers of SQL, JSON or lines.
const HOSTILE: [&str; 9] = [
    "it's",
    "\"; DROP TABLE x; --",
    "a\nb\r\nc\u{2028}d",
    "\\u0041 \\n \\",
    "null",
    "{\"a\": [1]}",
    "1e999",
    "\u{1F30A}\u{202E}ä\u{301}",
    "",
];

fn hostile_event(text: &str, number: usize) -> Envelope {
    let text = text.to_owned();
    Envelope {
        event_id: format!("{number} {text}"),
        action: text.clone(),
        resource_type: text.clone(),
        resource_id: text.clone(),
        account_id: text.clone(),
        project_id: text.clone(),
        tenant_id: Some(text.clone()),
        source: text.clone(),
        resource_data: [(text.clone(), raw(&text).unwrap())].into(),
        details: [(text.clone(), raw(&[text.as_str()]).unwrap())].into(),
        meters: vec![meter(&text, &text, 0.1)],
        ..envelope("", "2026-11-24T10:00:00Z")
    }
}

#[tokio::test]
async fn an_event_comes_back_as_it_was_from_rows_and_from_files() {
    let world = World::new();
    let events: Vec<_> = HOSTILE
        .iter()
        .enumerate()
        .map(|(number, text)| hostile_event(text, number))
        .collect();
    let rows: Vec<_> = events.iter().map(event).collect();
    let (file, written) = world.write(LogKind::Events, &rows, "e.parquet").await;
    assert_eq!(written.records, 9);
    let lines = world.path("rows.ndjson");
    for relation in [
        columns::from_rows(LogKind::Events, [lines.as_path()]).unwrap(),
        columns::from_parquet(LogKind::Events, [file.as_path()]).unwrap(),
    ] {
        let found = world
            .query(&format!("SELECT * FROM {relation} ORDER BY event_id"))
            .await;
        let expected = events.iter().map(|event| {
            let text = &event.action;
            let mut row = vec![
                json!(event.event_id),
                json!("2026-11-24T10:00:00.000Z"),
                json!("2026-11-24T12:00:00.001Z"),
                json!(text),
                json!(text),
                json!(text),
                json!("content"),
                json!(text),
                json!(text),
                json!(text),
                json!(text),
                json!(json!({ text: text }).to_string()),
                json!(json!({ text: [text] }).to_string()),
                json!([{ "category": text, "type": text, "quantity": 0.1 }]),
                Value::Null,
            ];
            row.extend([const { Value::Null }; 10]);
            row
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn numbers_of_details_keep_their_digits() {
    let world = World::new();
    let text = "{\"n\": 12345678901234567890.10, \"e\":1E400 , \"s\":\"\\u0000\"}";
    let mut whole = envelope("e1", "2026-11-24T10:00:00Z");
    let value = serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    whole.details.insert("payload".to_owned(), value);
    let (file, _) = world.write(LogKind::Events, &[event(&whole)], "e.parquet").await;
    let relation = columns::from_parquet(LogKind::Events, [file.as_path()]).unwrap();
    let found = world.query(&format!("SELECT details FROM {relation}")).await;
    assert_eq!(found, [[json!(format!("{{\"payload\":{text}}}"))]]);
}

#[tokio::test]
async fn a_file_is_sorted_and_has_each_id_once() {
    let world = World::new();
    let times = [
        "2026-11-24T23:59:59.999Z",
        "2026-11-24T00:00:00Z",
        "2026-11-24T12:00:00Z",
    ];
    let mut rows = Vec::new();
    for number in 0..3_000 {
        let id = format!("e{:04}", (number * 7) % 3_000);
        rows.push(event(&envelope(&id, times[number % 3])));
    }
    rows.push(rows[5].clone());
    let (file, written) = world.write(LogKind::Events, &rows, "e.parquet").await;
    assert_eq!(
        (written.records, written.from, written.to),
        (3_000, at(times[1]), at(times[0]))
    );
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);
    assert_eq!(written.sha256, sha256(&bytes));
    let relation = format!("read_parquet('{}', file_row_number = true)", file.display());
    let disordered = format!(
        "SELECT count(*) FROM (SELECT (\"timestamp\", event_id) <= lag((\"timestamp\", event_id)) OVER (ORDER BY file_row_number) AS bad FROM {relation}) WHERE bad"
    );
    assert_eq!(world.query(&disordered).await, [[json!(0)]]);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    hex::encode(sha2::Sha256::digest(bytes))
}

#[tokio::test]
async fn meters_of_a_pair_are_summed_into_its_column() {
    let world = World::new();
    let mut first = envelope("e1", "2026-11-24T10:00:00Z");
    first.meters = vec![
        meter("processing", "pages", 2.0),
        meter("processing", "pages", 0.5),
        meter("review", "issues", 0.0),
        meter("own", "pages", 9.0),
    ];
    let second = envelope("e2", "2026-11-24T11:00:00Z");
    let (file, _) = world
        .write(LogKind::Events, &[event(&first), event(&second)], "e.parquet")
        .await;
    let lines = world.path("rows.ndjson");
    for relation in [
        columns::from_rows(LogKind::Events, [lines.as_path()]).unwrap(),
        columns::from_parquet(LogKind::Events, [file.as_path()]).unwrap(),
    ] {
        let sums = format!(
            "SELECT processing_pages, review_issues, processing_documents, len(meters) FROM {relation} ORDER BY event_id"
        );
        let expected = [
            [json!(2.5), json!(0.0), Value::Null, json!(4)],
            [Value::Null, Value::Null, Value::Null, json!(0)],
        ];
        assert_eq!(world.query(&sums).await, expected);
    }
}

#[tokio::test]
async fn merged_files_hold_the_records_of_both() {
    let world = World::new();
    let rows = |from: usize| -> Vec<String> {
        let ids = (from..from + 50).map(|number| format!("e{number:03}"));
        ids.map(|id| event(&envelope(&id, "2026-11-24T10:00:00Z")))
            .collect()
    };
    let (first, _) = world.write(LogKind::Events, &rows(50), "a.parquet").await;
    let (second, _) = world.write(LogKind::Events, &rows(0), "b.parquet").await;
    let output = world.path("c.parquet");
    let mut session = world.session().await;
    let merged = merge(&mut session, LogKind::Events, &[first, second], &output)
        .await
        .unwrap();
    assert_eq!(merged.records, 100);
    drop(session);
    let relation = columns::from_parquet(LogKind::Events, [output.as_path()]).unwrap();
    let ids = world.query(&format!("SELECT event_id FROM {relation}")).await;
    let expected: Vec<_> = (0..100).map(|number| [json!(format!("e{number:03}"))]).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn a_file_without_the_newest_column_is_read_beside_others() {
    let world = World::new();
    let (new, written) = world
        .write(
            LogKind::Events,
            &[private(&envelope("e2", "2026-11-24T10:00:00Z"))],
            "b.parquet",
        )
        .await;
    assert_eq!(written.private, 1);
    let (whole, _) = world
        .write(
            LogKind::Events,
            &[event(&envelope("e1", "2026-11-24T10:00:00Z"))],
            "a.parquet",
        )
        .await;
    let old = world.path("old.parquet");
    let copy = format!(
        "COPY (SELECT * EXCLUDE (private_to) FROM read_parquet('{}')) TO '{}' (FORMAT parquet)",
        whole.display(),
        old.display()
    );
    world.session().await.execute(&copy).await.unwrap();
    let rows = |relation: String| {
        let world = &world;
        async move {
            let sql = format!("SELECT event_id, private_to FROM {relation} ORDER BY event_id");
            world.query(&sql).await
        }
    };
    let of = |files: &[&Path]| columns::from_parquet(LogKind::Events, files.iter().copied()).unwrap();
    let expected = [[json!("e1"), Value::Null], [json!("e2"), json!("user:ada")]];
    assert_eq!(rows(of(&[&old])).await, expected[..1]);
    assert_eq!(rows(of(&[&old, &new])).await, expected);
    let output = world.path("c.parquet");
    let mut session = world.session().await;
    let merged = merge(&mut session, LogKind::Events, &[old, new], &output)
        .await
        .unwrap();
    drop(session);
    assert_eq!((merged.records, merged.private), (2, 1));
    assert_eq!(rows(of(&[&output])).await, expected);
}

#[tokio::test]
async fn a_row_of_six_megabytes_is_taken() {
    let world = World::new();
    let mut large = envelope("e1", "2026-11-24T10:00:00Z");
    large
        .details
        .insert("payload".to_owned(), raw(&"\"\n".repeat(1_500_000)).unwrap());
    let (file, _) = world.write(LogKind::Events, &[event(&large)], "e.parquet").await;
    let relation = columns::from_parquet(LogKind::Events, [file.as_path()]).unwrap();
    let lengths = world
        .query(&format!("SELECT strlen(details) FROM {relation}"))
        .await;
    assert_eq!(lengths, [[json!(6_000_014)]]);
}

#[tokio::test]
async fn an_audit_record_comes_back_as_it_was() {
    let world = World::new();
    let record = |text: &str, number: usize| AuditEvent {
        id: format!("{number}"),
        event_type: "audit".to_owned(),
        action: AuditAction::BulkUpdate,
        resource_type: text.to_owned(),
        resource_id: text.to_owned(),
        timestamp: at("2026-12-31T23:59:59.999Z"),
        request_id: text.to_owned(),
        status: 201,
        success: true,
        principal_id: Some(text.to_owned()),
        principal_type: Some("apikey".to_owned()),
        principal_user_id: None,
        roles: vec![text.to_owned(), "b".to_owned()],
        account_id: Some("acme".to_owned()),
        project_id: None,
        tenant_id: None,
        account_name: Some(text.to_owned()),
        project_name: Some(text.to_owned()),
        private_to: Some(text.to_owned()),
    };
    let records: Vec<_> = (0..)
        .zip(HOSTILE)
        .map(|(number, text)| record(text, number))
        .collect();
    let rows: Vec<_> = records
        .iter()
        .map(|record| row::audit_row(record).unwrap())
        .collect();
    let (file, _) = world.write(LogKind::Audit, &rows, "a.parquet").await;
    let lines = world.path("rows.ndjson");
    for relation in [
        columns::from_rows(LogKind::Audit, [lines.as_path()]).unwrap(),
        columns::from_parquet(LogKind::Audit, [file.as_path()]).unwrap(),
    ] {
        let found = world
            .query(&format!("SELECT * FROM {relation} ORDER BY id"))
            .await;
        let names = columns::all(LogKind::Audit);
        let found = found.into_iter().map(|row| {
            let named = names.iter().map(|column| column.name.to_owned()).zip(row);
            serde_json::from_value(Value::Object(named.collect())).unwrap()
        });
        assert_eq!(found.collect::<Vec<AuditEvent>>(), records);
    }
}

#[tokio::test]
async fn a_relation_without_records_has_the_same_columns() {
    let world = World::new();
    for (kind, row) in [
        (LogKind::Events, event(&envelope("e1", "2026-11-24T10:00:00Z"))),
        (LogKind::Audit, "{}".to_owned()),
    ] {
        let lines = world.lines("rows.ndjson", &[row]);
        let described = |relation: String| format!("DESCRIBE SELECT * FROM {relation}");
        let rows = described(columns::from_rows(kind, [lines.as_path()]).unwrap());
        let nothing = described(columns::nothing(kind));
        assert_eq!(world.query(&rows).await, world.query(&nothing).await);
    }
}

#[tokio::test]
async fn a_file_without_records_is_refused() {
    let world = World::new();
    let rows = world.lines("rows.ndjson", &[]);
    let output: &Path = &world.path("e.parquet");
    let mut session = world.session().await;
    write(&mut session, LogKind::Events, &[rows], output)
        .await
        .unwrap_err();
    assert!(!output.exists());
}

#[tokio::test]
async fn the_day_of_a_record_is_that_of_utc() {
    let world = World::new();
    let times = [
        "1969-12-31T23:59:59.999Z",
        "2024-02-29T23:59:59.999Z",
        "2026-03-29T01:30:00+02:00",
    ];
    let rows: Vec<_> = times.iter().map(|time| event(&envelope(time, time))).collect();
    let (file, _) = world.write(LogKind::Events, &rows, "e.parquet").await;
    let relation = columns::from_parquet(LogKind::Events, [file.as_path()]).unwrap();
    let days = format!(
        "SELECT {time}, date_trunc('week', {time})::VARCHAR FROM {relation} ORDER BY 1",
        time = columns::UTC_TIME
    );
    let expected = [
        [json!("1969-12-31T23:59:59.999Z"), json!("1969-12-29 00:00:00")],
        [json!("2024-02-29T23:59:59.999Z"), json!("2024-02-26 00:00:00")],
        [json!("2026-03-28T23:30:00.000Z"), json!("2026-03-23 00:00:00")],
    ];
    assert_eq!(world.query(&days).await, expected);
}
