//! Measures cold starts of the Lambda functions, from the start of the program until it asks for work and
//! until its first answer, and the sizes of the deployed archives.
//!
//! The programs are those of the Lambda build, and the benchmark acts as Lambda's runtime API. The record
//! store, the object store and the queues belong to a local runner, so their calls count in the time of a
//! first answer. The keys that verify access tokens come from a file; on AWS they are fetched once. The
//! measured program has a whole processor; a function has one at 1,769 MB of memory, and less below.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use tests::lambda::invocations::{api_request, messages, url_request};
use tests::lambda::{Answer, Aws, Emulators, Function};

use crate::report::{Figure, Row};
use crate::runner::{Runner, id, json};
use crate::statistics::{median, worst};
use crate::stores::Store;
use crate::{Result, programs};

const PART: &str = "lambda";
const STARTS: usize = 20;

/// Time limits of a function, in milliseconds: until it asks for work, and until its first answer.
const LIMITS: (f64, f64) = (30.0, 60.0);
/// The same limits for a function that links DuckDB; its first answer runs a query.
const DUCKDB_LIMITS: (f64, f64) = (120.0, 300.0);

/// Largest unpacked archive, in millions of bytes.
/// <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const MAX_UNPACKED_MB: f64 = 250.0;
/// Largest archive that is uploaded to Lambda directly and not through S3, in millions of bytes; from the
/// same page.
const MAX_ZIPPED_MB: f64 = 50.0;

struct Subject {
    name: &'static str,
    event: Value,
    /// Status of the answer to a request; None for batches and schedules.
    status: Option<u64>,
    links_duckdb: bool,
}

/// Measurements of one function.
#[derive(Default)]
struct Times {
    ready: Vec<f64>,
    answered: Vec<f64>,
}

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let emulators = Emulators::start(&programs::binary("emulators")?, &folder.path().join("aws"));
    let variables = emulators.of_a_runner();
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let runner = Runner::start_with(&folder.path().join("data"), variables)?;
    let aws = Aws::over(&emulators, runner.data_dir()).await;
    let subjects = subjects(&runner, &aws).await?;
    let mut times: Vec<Times> = subjects.iter().map(|_| Times::default()).collect();
    for number in 0..=STARTS {
        for (subject, times) in subjects.iter().zip(&mut times) {
            let (mut function, _temporary) = start(subject.name, &runner, &aws).await?;
            let ready = function.started_in.as_secs_f64() * 1e3;
            let answer = function.invoke(subject.event.clone()).await;
            check(subject, &answer)?;
            // Skip the first start, which reads the file from the disk.
            if number > 0 {
                times.ready.push(ready);
                times.answered.push(ready + answer.took.as_secs_f64() * 1e3);
            }
        }
    }
    let mut rows = Vec::new();
    for (subject, times) in subjects.iter().zip(&times) {
        let (ready, answered) = if subject.links_duckdb {
            DUCKDB_LIMITS
        } else {
            LIMITS
        };
        rows.push(time(subject, "start to first poll", &times.ready, ready));
        rows.push(time(subject, "start to first answer", &times.answered, answered));
    }
    for subject in &subjects {
        rows.extend(sizes(subject)?);
    }
    Ok(rows)
}

fn time(subject: &Subject, what: &str, times: &[f64], at_most: f64) -> Row {
    let row = Row::new(
        PART,
        format!("{}: {what}", subject.name),
        Figure::Milliseconds(median(times)),
    );
    row.unlucky("worst", Figure::Milliseconds(worst(times)))
        .held_against("at most", Figure::Milliseconds(at_most))
}

/// Starts a function in a folder of its own, which is removed when the second value is dropped.
async fn start(name: &str, runner: &Runner, aws: &Aws) -> Result<(Function, TempDir)> {
    let folder = tempdir()?;
    let program = programs::of_profile("lambda", name)?;
    let function = Function::start(&program, aws, runner.data_dir(), folder.path()).await;
    Ok((function, folder))
}

fn check(subject: &Subject, answer: &Answer) -> Result<()> {
    let failures = answer.body.get("batchItemFailures").and_then(Value::as_array);
    let is_right = match subject.status {
        Some(status) => answer.status() == status,
        None => failures.is_none_or(Vec::is_empty),
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("{} answered {}", subject.name, answer.body).into()),
    }
}

/// Returns the functions, each with an event that makes it read its table, and for the query its object as
/// well.
async fn subjects(runner: &Runner, aws: &Aws) -> Result<Vec<Subject>> {
    let token = runner.token();
    let get = |path: &str| api_request("GET", path, token, &Value::Null);
    let post = |path: &str, body: &Value| api_request("POST", path, token, body);
    let prompt = json!({ "name": "Greeting", "role": "user", "content_type": "text", "content": "Hello!" });
    let prompt = id(&json(runner.post("/prompts", &prompt)).await?)?;
    let columns = json!([{ "name": "id", "type": "BIGINT" }]);
    let store = Store::create(
        runner,
        "cold",
        &json!({ "tables": [{ "name": "t", "columns": columns }] }),
    )
    .await?;
    let rows: Vec<_> = (0..1_000).map(|id| json!({ "id": id })).collect();
    store
        .import(&json!({ "t": { "source": "inline", "data": rows } }))
        .await?;
    // The signing secret of a channel is opened with the key that sealed it.
    let (mut subscriptions, _temporary) = start("subscriptions", runner, aws).await?;
    let channel = json!({ "name": "Bench", "source": "bench" });
    let channel = subscriptions
        .invoke(post("/events/channels", &channel))
        .await
        .json();
    let ingest = format!("/webhooks/events/acme/demo/{}", id(&channel)?);
    let ingest_token = channel
        .get("ingest_token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let event = json!({ "action": "made", "resource_type": "thing", "resource_id": "1" });
    let run = json!({ "account": "acme", "project": "demo", "run_id": "none" });
    let query = store.path("/query");
    let query = post(&query, &json!({ "sql": "SELECT count(*), max(id) FROM t" }));
    let request = |name, event, status| Subject {
        name,
        event,
        status: Some(status),
        links_duckdb: name == "datastores",
    };
    let other = |name, event| Subject {
        name,
        event,
        status: None,
        links_duckdb: name == "importer",
    };
    Ok(vec![
        request("prompts", get(&format!("/prompts/{prompt}")), 200),
        request("datastores", query, 200),
        request("audit", get("/audit-trail"), 200),
        request("workflows", post("/workflows/runs", &json!({})), 200),
        request("stream", get("/workflows/runs/none/none/stream"), 404),
        request("subscriptions", get("/events/subscriptions"), 200),
        request("ingest", url_request("POST", &ingest, ingest_token, &event), 202),
        other("importer", json!({})),
        other("audit-writer", messages(&[audit_record()])),
        other("worker", messages(&[run])),
        other("matcher", messages(&[bus_event()])),
        other("sweeper", json!({})),
    ])
}

fn audit_record() -> Value {
    json!({
        "id": "bench", "event_type": "audit", "action": "create", "resource_type": "prompt", "resource_id": "1",
        "timestamp": "2026-01-01T00:00:00Z", "request_id": "bench", "status": 201, "success": true, "roles": [],
        "account_id": "acme", "project_id": "demo",
    })
}

fn bus_event() -> Value {
    json!({
        "detail-type": "millrace.event",
        "detail": {
            "event_id": "bench", "event_category": "external", "action": "made", "resource_type": "thing",
            "resource_id": "1", "account_id": "acme", "project_id": "demo", "timestamp": "2026-01-01T00:00:00Z",
            "source": "external:bench",
        },
    })
}

fn sizes(subject: &Subject) -> Result<[Row; 2]> {
    let mut files = vec![std::fs::read(programs::of_profile("lambda", subject.name)?)?];
    if subject.links_duckdb {
        files.push(std::fs::read(duckdb()?)?);
    }
    let mut zipped = 0;
    for file in &files {
        // Compress it as an archive does, without the hundred bytes of the archive's header.
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(file)?;
        zipped += encoder.finish()?.len();
    }
    let unpacked = files.iter().map(Vec::len).sum::<usize>();
    let megabytes = |bytes: usize| Figure::Megabytes(bytes as f64 / 1e6);
    let name = subject.name;
    Ok([
        Row::new(PART, format!("{name}: archive, zipped"), megabytes(zipped))
            .held_against("AWS at most", Figure::Megabytes(MAX_ZIPPED_MB)),
        Row::new(PART, format!("{name}: archive, unpacked"), megabytes(unpacked))
            .held_against("AWS at most", Figure::Megabytes(MAX_UNPACKED_MB)),
    ])
}

/// Returns the library that `make build` puts into the archive.
fn duckdb() -> Result<std::path::PathBuf> {
    let folder = programs::folder()?.join("../duckdb");
    let libraries = ["libduckdb.so", "libduckdb.dylib"].map(|name| folder.join(name));
    let library = libraries.into_iter().find(|path| path.is_file());
    Ok(library.ok_or_else(|| format!("There is no library of DuckDB in {}.", folder.display()))?)
}
