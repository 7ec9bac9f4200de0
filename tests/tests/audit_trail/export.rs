//! Tests `ops audit export`: every record of a period once, in each format, from files of the log and from
//! unarchived records.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tests::Events;

const EVENTS: usize = 12;

/// Publishes processed documents of three days, with texts that a careless writer would corrupt.
async fn project() -> (Events, BTreeMap<String, Value>) {
    let events = Events::start().await;
    let mut envelopes = BTreeMap::new();
    let file = events.folder().join("event.json");
    for number in 0..EVENTS {
        let id = format!("e{number:02}");
        let day = 20 + number % 3;
        let envelope = json!({
            "event_id": id, "event_category": "content", "action": "document_processed",
            "resource_type": "content_object", "resource_id": "it's, a \"name\"", "account_id": events.scope.account,
            "project_id": events.scope.project, "tenant_id": null, "timestamp": format!("2026-10-{day}T10:00:{number:02}.500Z"),
            "source": "documents", "resource_data": { "metadata": { "type": "invoice" } },
            "details": { "schema_version": 1, "page_count": number, "verdict": "a,b\n\"c\"" },
            "meters": [{ "category": "processing", "type": "pages", "quantity": 0.5 }],
        });
        std::fs::write(&file, envelope.to_string()).unwrap();
        events
            .scope
            .ops(&["event", "publish", "--file", file.to_str().unwrap()])
            .expect_success();
        envelopes.insert(id, envelope);
    }
    (events, envelopes)
}

fn file_of(events: &Events, name: &str) -> PathBuf {
    events.folder().join(name)
}

/// Repeats the export until it has every event, because events arrive through the bus.
async fn export(events: &Events, name: &str, format: &str, more: &[&str]) -> String {
    let file = file_of(events, name);
    let began = std::time::Instant::now();
    loop {
        let mut arguments = vec![
            "--json",
            "audit",
            "export",
            file.to_str().unwrap(),
            "--format",
            format,
        ];
        arguments.extend(["--kind", "events", "--from", "2026-10-20", "--to", "2026-10-22"]);
        arguments.extend(more);
        let exported = events.scope.ops(&arguments).expect_success();
        let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
        if exported["records"] == EVENTS {
            return String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        }
        assert!(began.elapsed() < tests::runs::WITHIN, "{exported}");
        tokio::time::sleep(tests::runs::PAUSE).await;
    }
}

#[tokio::test]
async fn events_are_exported_as_they_were_sent() {
    let (events, envelopes) = project().await;
    let lines = export(&events, "events.ndjson", "ndjson", &[]).await;
    let mut times = Vec::new();
    let mut events_in_files = BTreeMap::new();
    for line in lines.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        times.push(event["timestamp"].as_str().unwrap().to_owned());
        assert!(event.as_object_mut().unwrap().remove("received_at").is_some());
        events_in_files.insert(event["event_id"].as_str().unwrap().to_owned(), event);
    }
    assert_eq!(events_in_files, envelopes);
    assert!(times.is_sorted(), "{times:?}");
    // The account has only this project.
    let all = export(&events, "all.ndjson", "ndjson", &["--all-projects"]).await;
    assert_eq!(all, lines);

    let text = export(&events, "events.csv", "csv", &[]).await;
    assert!(text.starts_with("event_id,timestamp,received_at,"), "{text}");
    assert_eq!(text.matches("2026-10-20T10:00:00.500Z").count(), 1, "{text}");
    assert!(
        text.contains(r#""[{""category"":""processing"",""type"":""pages"",""quantity"":0.5}]""#),
        "{text}"
    );

    let parquet = export(&events, "events.parquet", "parquet", &[]).await;
    assert!(parquet.starts_with("PAR1") && parquet.ends_with("PAR1"));
}

#[tokio::test]
async fn an_export_of_nothing_has_a_header_and_a_wrong_time_is_refused() {
    let events = Events::start().await;
    let file = file_of(&events, "audit.csv");
    let export = |from: &str, to: &str, format: &str| {
        events.scope.ops(&[
            "audit",
            "export",
            file.to_str().unwrap(),
            "--format",
            format,
            "--from",
            from,
            "--to",
            to,
        ])
    };
    export("2020-01-01", "2020-01-31T10:00:00Z", "csv").expect_success();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("id,event_type,action,") && text.lines().count() == 1,
        "{text}"
    );
    for (from, to, format, why) in [
        ("2020-01-02", "2020-01-01", "csv", "after"),
        ("yesterday", "2020-01-01", "csv", "neither a day"),
        ("2020-01-32", "2020-02-01", "csv", "neither a day"),
        ("2020-01-01", "2020-02-01", "xlsx", "ndjson"),
    ] {
        let refused = export(from, to, format);
        assert!(
            refused.code != Some(0) && refused.stderr.contains(why),
            "{from}: {}",
            refused.stderr
        );
    }
    // The creation of a subscription is in the audit trail, and is exported as one line.
    events.webhook("/x").await;
    export("2026-01-01", "2099-12-31", "csv").expect_success();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.matches("event_subscription").count(), 1, "{text}");
}
