//! Measures the event log: aggregation over a million events of a project next to plain DuckDB over the same
//! files, with and without another project of equal size; the delay until a new event counts; audit listings
//! at any offset; and the cost of archiving.
//!
//! `BENCH_LOG_RECORDS` is the number of events of a project and of audit records; default: a million.

use std::path::{Path, PathBuf};
use std::time::Instant;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::plain::PlainDuckDb;
use crate::report::{Comparison, Figure, Row};
use crate::runner::{Runner, answer, json as json_of};
use crate::statistics::{median, percentile};
use crate::{Result, programs, say};

const PART: &str = "event-log";
const THREADS: u32 = 2;
const RECORDS: u64 = 1_000_000;
/// Measurements of each kind, after a warm-up.
const TIMES: usize = 51;
const WARM_UP: usize = 5;
/// Events that are posted one after another.
const POSTED: u64 = 20;

pub async fn measure() -> Result<Vec<Row>> {
    let records = programs::variable("BENCH_LOG_RECORDS").map_or(Ok(RECORDS), |text| text.parse())?;
    let folder = tempdir()?;
    let runner = Runner::start(&folder.path().join("data"))?;
    let mut rows = Vec::new();
    let loaded = load(&runner, "demo", "events", records)?;
    let files = files(&runner.data_dir().join("objects/millrace-data/log/acme/demo"))?;
    let mut plain = PlainDuckDb::start(&["SET TimeZone = 'UTC'".to_owned()], THREADS)?;
    let alone = aggregate(&runner, &mut plain, &files).await?;
    check_count(&alone, &loaded)?;
    let what = format!("count and sum of a meter by day, {records} events of 30 days");
    let (ours, theirs) = (median(&alone.ours), median(&alone.theirs));
    rows.push(timed(&what, &alone.ours).beside(
        "plain DuckDB",
        Figure::Milliseconds(theirs),
        Comparison::times(ours, theirs),
    ));
    load(&runner, "other", "events", records)?;
    let beside = aggregate(&runner, &mut plain, &files).await?;
    let (ours, before) = (median(&beside.ours), ours);
    rows.push(
        timed(
            &format!("{what}, beside another project of as many"),
            &beside.ours,
        )
        .beside(
            "alone",
            Figure::Milliseconds(before),
            Comparison::times(ours, before),
        ),
    );
    rows.push(timed(
        "from the answer to an event to an answer that counts it",
        &accepted(&runner).await?,
    ));
    load(&runner, "demo", "audit", records)?;
    rows.extend(listings(&runner, records).await?);
    rows.extend(archiving()?);
    rows.push(Row::new(
        PART,
        "bytes of an event in the log, generated documents with all meters",
        Figure::Count(per(&loaded, "bytes", "records")),
    ));
    Ok(rows)
}

/// Times of each side, in turns.
struct Samples {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// Events in our last answer.
    events: u64,
}

/// Fails if an answer did not count all loaded events.
fn check_count(samples: &Samples, loaded: &Value) -> Result<()> {
    let records = loaded.get("records").and_then(Value::as_u64);
    match records == Some(samples.events) {
        true => Ok(()),
        false => Err(format!("{} events of {records:?} are counted", samples.events).into()),
    }
}

async fn aggregate(runner: &Runner, plain: &mut PlainDuckDb, files: &[PathBuf]) -> Result<Samples> {
    let (from, to) = (day(-31), day(0));
    let request = json!({
        "from": from, "to": to,
        "filter": { "actions": ["document_processed"] },
        "groupBy": [{ "dimension": "time", "resolution": "day" }],
        "metrics": [
            { "id": "events", "operation": "count" },
            { "id": "pages", "operation": "sum_meter", "meterCategory": "processing", "meterType": "pages" },
        ],
    });
    let quoted: Vec<_> = files.iter().map(|file| format!("'{}'", file.display())).collect();
    let sql = format!(
        "SELECT epoch_ms(\"timestamp\") // 86400000, count(*), sum(processing_pages) FROM read_parquet([{}]) \
         WHERE \"timestamp\" BETWEEN '{from}' AND '{to}' AND action = 'document_processed' GROUP BY 1 ORDER BY 1",
        quoted.join(", ")
    );
    let mut samples = Samples {
        ours: Vec::new(),
        theirs: Vec::new(),
        events: 0,
    };
    for turn in 0..WARM_UP + TIMES {
        let began = Instant::now();
        let answered = answer(runner.post("/audit-trail/aggregate", &request)).await?;
        let ours = began.elapsed().as_secs_f64() * 1e3;
        let theirs = plain.query(&sql, false)?.ms;
        if turn >= WARM_UP {
            samples.ours.push(ours);
            samples.theirs.push(theirs);
        }
        let answered: Value = serde_json::from_slice(&answered)?;
        let rows = answered
            .get("rows")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let events = rows.filter_map(|row| row.pointer("/metrics/events")?.as_u64());
        samples.events = events.sum();
    }
    Ok(samples)
}

/// Returns the time from the answer to each posted event to the next answer that counts it. Fails if an event
/// is not counted at once.
async fn accepted(runner: &Runner) -> Result<Vec<f64>> {
    let channel =
        json_of(runner.post("/events/channels", &json!({ "name": "Bench", "source": "bench" }))).await?;
    let text = |field: &str| channel.get(field).and_then(Value::as_str).unwrap_or_default();
    let origin = runner.base_url().trim_end_matches("/api/v1");
    let url = format!("{origin}/ingest/webhooks/events/acme/demo/{}", text("id"));
    let http = Client::builder().no_proxy().build()?;
    let count = json!({
        "filter": { "actions": ["bench"] },
        "metrics": [{ "id": "events", "operation": "count" }],
    });
    let mut took = Vec::new();
    for number in 1..=POSTED {
        let post = http.post(&url).bearer_auth(text("ingest_token"));
        answer(post.json(&json!({ "action": "bench", "n": number }))).await?;
        let began = Instant::now();
        let response = json_of(runner.post("/audit-trail/aggregate", &count)).await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
        let events = response.pointer("/rows/0/metrics/events").and_then(Value::as_u64);
        if events != Some(number) {
            return Err(format!("of {number} accepted events {events:?} are counted").into());
        }
    }
    Ok(took)
}

/// Measures pages of the audit listing at several offsets, and a filter that matches nothing.
async fn listings(runner: &Runner, records: u64) -> Result<Vec<Row>> {
    let page = async |query: &str| {
        let mut took = Vec::new();
        for turn in 0..WARM_UP + TIMES {
            let request: RequestBuilder = runner.get(&format!("/audit-trail?limit=50{query}"));
            let began = Instant::now();
            answer(request).await?;
            if turn >= WARM_UP {
                took.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        Ok::<_, crate::Error>(took)
    };
    let first = page("").await?;
    let mut rows = vec![timed(&format!("audit page at offset 0 of {records}"), &first)];
    for offset in [records / 100, records] {
        let took = page(&format!("&offset={offset}")).await?;
        rows.push(timed(&format!("audit page at offset {offset}"), &took).beside(
            "at offset 0",
            Figure::Milliseconds(median(&first)),
            Comparison::times(median(&took), median(&first)),
        ));
    }
    let nothing = page("&resourceId=there-is-none").await?;
    let what = format!("audit page of a filter that nothing matches, {records} records");
    rows.push(timed(&what, &nothing));
    Ok(rows)
}

/// Measures the cost of an event with and without the log, and the speed of a pass.
fn archiving() -> Result<Vec<Row>> {
    let report = programs::report("run_costs")?;
    let figure = |name: &str| {
        let figure = report.pointer(&format!("/log/{name}")).and_then(Value::as_f64);
        figure.ok_or_else(|| format!("run_costs says no '{name}' of the log"))
    };
    let without = figure("write_units_without_log")?;
    let accepted = figure("write_units_accepted")?;
    let whole = accepted + figure("write_units_archived")?;
    let row = |what: &str, figure: Figure| Row::new(PART, what, figure);
    Ok(vec![
        row(
            "an event accepted and matched: write units",
            Figure::Count(rounded(accepted)),
        )
        .beside(
            "without the log",
            Figure::Count(rounded(without)),
            Comparison::Sizes(accepted / without),
        ),
        row(
            "the same with its archiving: write units",
            Figure::Count(rounded(whole)),
        )
        .beside(
            "without the log",
            Figure::Count(rounded(without)),
            Comparison::Sizes(whole / without),
        ),
        row(
            "archiving an event: read units",
            Figure::Count(rounded(figure("read_units_archived")?)),
        ),
        row(
            "archiving, one pass: events/s",
            Figure::PerSecond(figure("events_per_second")?),
        ),
        row(
            "bytes of an event in the log, one pass",
            Figure::Count(figure("bytes")?.round()),
        ),
    ])
}

fn rounded(units: f64) -> f64 {
    (units * 100.0).round() / 100.0
}

fn timed(what: &str, took: &[f64]) -> Row {
    Row::new(PART, format!("{what}: p50"), Figure::Milliseconds(median(took)))
        .unlucky("p99", Figure::Milliseconds(percentile(took, 0.99)))
}

/// Fills the log of a project. Returns the loader's report.
fn load(runner: &Runner, project: &str, kind: &str, records: u64) -> Result<Value> {
    say(&format!("filling the log of {project} with {records} {kind}"));
    let output = programs::command(&programs::binary("log_load")?)
        .arg("--data-dir")
        .arg(runner.data_dir())
        .args([
            "--project",
            project,
            "--kind",
            kind,
            "--records",
            &records.to_string(),
        ])
        .output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("log_load: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Returns the files of events below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for day in std::fs::read_dir(folder)? {
        let events = day?.path().join("events");
        if !events.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(events)? {
            let path = file?.path();
            if path.extension().is_some_and(|ending| ending == "parquet") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

fn per(report: &Value, figure: &str, of: &str) -> f64 {
    let number = |name: &str| report.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    (number(figure) / number(of)).round()
}

/// Returns a time some days from now.
#[expect(
    clippy::disallowed_methods,
    reason = "the runner's days are those of this machine"
)]
fn day(days: i64) -> String {
    let time = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
    time.to_string()
}
