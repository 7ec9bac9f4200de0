//! Compares every aggregate operation by every dimension with the same computation in Python.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use event_log::aggregate::AggregateEvents;
use event_log::row::event_row;
use events::Envelope;
use events::records::events::EventRecord;
use platform::auth::Viewer;
use platform::records::logs::{LogId, LogKind};
use platform::{Clock, Tenant, UtcTime};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{EVENTS, World, events};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/event_log_scale/reference.py");
const PROJECTS: [&str; 3] = ["one", "two", "three"];
/// Events that go through the tables; the others are loaded as files.
const MOST_RECORDS: usize = 400;
/// Events between two passes.
const BATCH: usize = 50;
/// One request in this many is repeated after everything is archived.
const SOME: usize = 4;
/// Largest relative difference between two equal numbers.
const ROUNDING: f64 = 1e-12;

#[derive(Deserialize)]
struct GeneratedEvent {
    project: String,
    received_at: UtcTime,
    envelope: Envelope,
}

impl GeneratedEvent {
    fn record(&self) -> EventRecord {
        EventRecord {
            id: self.envelope.event_id.clone(),
            envelope: self.envelope.to_json().unwrap(),
            details_key: None,
            received_at: self.received_at,
            lineage: Vec::new(),
            addressee: None,
            matched_at: None,
            private_to: None,
        }
    }
}

#[tokio::test]
async fn aggregates_are_those_of_the_raw_events() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    generate(&file);
    let text = std::fs::read_to_string(&file).unwrap();
    let events: Vec<GeneratedEvent> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (records, rest) = events.split_at(events.len().min(MOST_RECORDS));
    publish(&world, records).await;
    load(&world, records, rest).await;
    let requests = requests();
    let expected = reference(&file, &requests);
    assert_eq!(expected.len(), requests.len());
    compare(&world, requests.iter().zip(&expected)).await;
    // Archive the tail; no answer changes.
    pass(&world).await;
    compare(&world, requests.iter().zip(&expected).step_by(SOME)).await;
}

fn generate(file: &Path) {
    let output = std::fs::File::create(file).unwrap();
    let mut python = Command::new("python3");
    python.args(["-B", SCRIPT, "generate", &events().to_string(), "7"]);
    assert!(python.stdout(output).status().unwrap().success());
}

/// Publishes events in batches, each in another order, some twice, with concurrent passes in between. The
/// last batches stay in the tail.
async fn publish(world: &World, events: &[GeneratedEvent]) {
    let batches = events.chunks(BATCH).count();
    for (number, batch) in events.chunks(BATCH).enumerate() {
        let mut order: Vec<&GeneratedEvent> = batch.iter().collect();
        match number % 3 {
            0 => order.reverse(),
            1 => order.sort_by_key(|event| &event.envelope.resource_id),
            _ => order.extend(batch),
        }
        for event in order {
            let tenant = Tenant::new("acme", &event.project).unwrap();
            world.events.insert(&tenant, &event.record()).await.unwrap();
        }
        if number % 2 == 0 && number + 2 < batches {
            pass(world).await;
        }
    }
}

/// Runs two concurrent passes over each log.
async fn pass(world: &World) {
    for project in PROJECTS {
        let log = LogId::new("acme", Some(project), LogKind::Events);
        let passes = futures::future::try_join(world.archiver.pass(&log), world.archiver.pass(&log));
        passes.await.unwrap();
    }
}

/// Adds the other events as files, without events whose ids exist already, which the table drops too.
async fn load(world: &World, records: &[GeneratedEvent], rest: &[GeneratedEvent]) {
    let key = |event: &GeneratedEvent| (event.project.clone(), event.envelope.event_id.clone());
    let mut keys: HashSet<_> = records.iter().map(key).collect();
    let mut rows: BTreeMap<&str, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for event in rest.iter().filter(|event| keys.insert(key(event))) {
        let row = event_row(&event.record(), &event.envelope).unwrap();
        let days = rows.entry(&event.project).or_default();
        days.entry(event.envelope.timestamp.day()).or_default().push(row);
    }
    for (project, rows) in rows {
        let log = LogId::new("acme", Some(project), LogKind::Events);
        world.archive_rows(&log, &rows).await;
    }
}

async fn compare<'a>(world: &World, answers: impl Iterator<Item = (&'a Value, &'a Value)>) {
    for (question, expected) in answers {
        let request: AggregateEvents = serde_json::from_value(question["request"].clone()).unwrap();
        let plan = request.plan(Clock::System.now()).unwrap();
        let answer = world
            .store
            .aggregate("acme", question["project"].as_str(), &plan, &Viewer::operator())
            .await
            .unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        assert_eq!(answer["truncated"], expected["truncated"], "{question}");
        same(&answer["rows"], &expected["rows"], question);
    }
}

/// Returns Python's answers.
fn reference(file: &Path, requests: &[Value]) -> Vec<Value> {
    let mut python = Command::new("python3");
    python.args(["-B", SCRIPT, "aggregate"]).arg(file);
    let mut child = python
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let requests: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let writing = std::thread::spawn(move || input.write_all(requests.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Asserts equal values; numbers may differ by the rounding of a division.
#[track_caller]
fn same(ours: &Value, theirs: &Value, question: &Value) {
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                same(ours, theirs, question);
            }
        }
        (Value::Object(ours), Value::Object(theirs)) if ours.len() == theirs.len() => {
            for (name, value) in ours {
                same(value, &theirs[name], question);
            }
        }
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            let differ = (ours - theirs).abs() / ours.abs().max(theirs.abs()).max(1.0);
            assert!(differ <= ROUNDING, "{ours} and {theirs} of {question}");
        }
        _ => assert_eq!(ours, theirs, "{question}"),
    }
}

/// Returns requests that each use every operation; together they use every dimension, resolution and filter.
fn requests() -> Vec<Value> {
    let meter = |id: &str, operation: &str, category: &str, kind: &str| json!({ "id": id, "operation": operation, "meterCategory": category, "meterType": kind });
    let distinct = |id: &str, field: &str| json!({ "id": id, "operation": "count_distinct", "field": field });
    let metrics = json!([
        { "id": "events", "operation": "count" },
        meter("pages", "sum_meter", "processing", "pages"), meter("pages each", "average_meter", "processing", "pages"),
        meter("own", "sum_meter", "own", "it's"), meter("own each", "average_meter", "own", "it's"),
        meter("issues", "sum_meter", "review", "issues"), meter("none", "average_meter", "no", "such"),
        distinct("resources", "resource_id"), distinct("ids", "event_id"), distinct("tenants", "tenant_id"),
        distinct("totals", "details.verification.total"), distinct("verdicts", "details.verdict"),
    ]);
    let time = |resolution: &str| json!({ "dimension": "time", "resolution": resolution });
    let by = |dimension: &str| json!({ "dimension": dimension });
    let mut groupings = vec![json!([])];
    groupings.extend(["hour", "day", "week", "month"].map(|resolution| json!([time(resolution)])));
    let names = [
        "action",
        "event_category",
        "resource_type",
        "resource_id",
        "source",
        "project_id",
        "details.verdict",
        "details.verification.total",
        "details.reviewed",
        "details.list.0",
        "details.none",
    ];
    groupings.extend(names.map(|name| json!([by(name)])));
    groupings.push(json!([by("details.verdict"), time("week")]));
    groupings.push(json!([time("day"), by("project_id"), by("action")]));
    let filters = [
        json!({}),
        json!({ "actions": ["created", "it's"], "details": [{ "field": "verdict", "values": ["it's \"odd\"", "ok"] }] }),
        json!({ "details": [{ "field": "verification.total", "values": ["2", "3"] }, { "field": "reviewed", "values": ["true"] }] }),
        json!({ "eventCategories": ["content"], "resourceTypes": ["workflow_run"], "resourceIds": ["r1", "r2", "r3"], "sources": ["documents"] }),
        json!({ "actions": ["nothing has this"] }),
    ];
    let ranges = [
        ("2026-09-01T00:00:00.000Z", "2026-11-24T00:00:00.000Z"),
        ("2026-09-30T23:59:59.999Z", "2026-10-05T00:00:00.000Z"),
        ("2026-10-01T00:00:00.000Z", "2026-10-04T23:59:59.999Z"),
    ];
    let mut requests = Vec::new();
    for (number, grouping) in groupings.iter().enumerate() {
        for (turn, filter) in filters.iter().enumerate() {
            let (from, to) = ranges[(number + turn) % ranges.len()];
            let project = [None, Some("one"), Some("two"), Some("three")][(number + turn) % 4];
            // Run half of the requests, and all of them if more events are configured.
            if events() <= EVENTS && (number + turn) % 2 == 1 {
                continue;
            }
            let limit = [50, 1_000, 3][turn % 3];
            requests.push(json!({ "project": project, "request": {
                "from": from, "to": to, "filter": filter, "groupBy": grouping, "metrics": metrics,
                "limit": limit,
            } }));
        }
    }
    requests
}
