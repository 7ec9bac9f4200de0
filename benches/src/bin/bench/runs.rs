//! Measures workflow runs on the local runner: three activities in sequence, by 1 and by 32 clients, next to
//! the Restate server with the same steps, and next to the same calls on the emulator of DynamoDB alone; the
//! records that a run costs; a query on a long history; a thousand streams.
//!
//! Both sides write durably. A client starts a run and waits for the notification of its end: here through
//! the run's stream, there as the answer of the call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::memory::resident_kib;
use crate::report::{Comparison, Figure, Row};
use crate::restate::Restate;
use crate::runner::{Runner, answer, json as json_of};
use crate::statistics::{median, percentile};
use crate::{Result, programs, say};

const PART: &str = "runs";
/// Activities of a run.
const STEPS: u32 = 3;
/// Number of clients, and of the runs that they start in one turn.
const LOADS: [(u32, u64); 2] = [(1, 300), (32, 3_000)];
/// Turns of each side.
const TURNS: usize = 3;
/// Activities of the long run; its history has 6,002 events.
const LONG: u32 = 2_000;
/// Queries of the long run.
const QUERIES: usize = 51;
/// Concurrent streams.
const STREAMS: usize = 1_000;
/// Longest wait for any result.
const PATIENCE: Duration = Duration::from_secs(300);

pub async fn measure() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let restate = Arc::new(Restate::start(&folder.path().join("restate")).await?);
    let runner = Runner::start(&folder.path().join("data"))?;
    let mut rows = Vec::new();
    for (clients, runs) in LOADS {
        let (mut ours, mut theirs) = (Side::default(), Side::default());
        for turn in 0..=TURNS {
            let of_turn = (
                load(&runner, clients, runs)?,
                restate.load(clients, runs, STEPS).await?,
            );
            // The first turn warms all sides up.
            if turn > 0 {
                ours.add(of_turn.0);
                theirs.add(of_turn.1);
            }
        }
        let what = format!("run of {STEPS} activities, {clients} clients");
        rows.extend(ours.rows(&what, "Restate", &theirs));
    }
    drop(restate);
    rows.extend(profiles(&runner, &folder.path().join("local"))?);
    rows.push(queries(&runner).await?);
    drop(runner);
    rows.extend(costs()?);
    let runner = Runner::start(&folder.path().join("streams"))?;
    rows.extend(streams(&runner).await?);
    Ok(rows)
}

/// Compares what `make run` serves with a release build.
fn profiles(release: &Runner, data_dir: &Path) -> Result<[Row; 3]> {
    let program = programs::of_profile("debug", "millrace")?;
    let local = Runner::start_program(&program, data_dir, [])?;
    let [_, (clients, runs)] = LOADS;
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    for turn in 0..=TURNS {
        let of_turn = (load(&local, clients, runs)?, load(release, clients, runs)?);
        if turn > 0 {
            ours.add(of_turn.0);
            theirs.add(of_turn.1);
        }
    }
    Ok(ours.rows("what `make run` serves, 32 clients", "release", &theirs))
}

/// Measurements of one side.
#[derive(Default)]
struct Side {
    took: Vec<f64>,
    seconds: f64,
}

impl Side {
    fn add(&mut self, (took, seconds): (Vec<f64>, f64)) {
        self.took.extend(took);
        self.seconds += seconds;
    }

    fn p50(&self) -> f64 {
        median(&self.took)
    }

    fn p99(&self) -> f64 {
        percentile(&self.took, 0.99)
    }

    fn rate(&self) -> f64 {
        self.took.len() as f64 / self.seconds
    }

    fn rows(&self, what: &str, name: &'static str, other: &Self) -> [Row; 3] {
        let time = |which: &str, ours: f64, theirs: f64| {
            Row::new(PART, format!("{what}: {which}"), Figure::Milliseconds(ours)).beside(
                name,
                Figure::Milliseconds(theirs),
                Comparison::times(ours, theirs),
            )
        };
        let rate = Row::new(PART, format!("{what}: runs"), Figure::PerSecond(self.rate()));
        [
            time("p50", self.p50(), other.p50()),
            time("p99", self.p99(), other.p99()),
            rate.beside(
                name,
                Figure::PerSecond(other.rate()),
                Comparison::Rates(self.rate() / other.rate()),
            ),
        ]
    }
}

/// Reports the cost of runs in records and messages.
fn costs() -> Result<Vec<Row>> {
    let report = programs::report("run_costs")?;
    let mut rows = Vec::new();
    for of in report.get("runs").and_then(Value::as_array).into_iter().flatten() {
        let number = |field: &str| of.get(field).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let calls = of.get("calls").and_then(Value::as_object);
        let all: f64 = calls
            .into_iter()
            .flatten()
            .filter_map(|(_, count)| count.as_f64())
            .sum();
        let what = format!("run of {} activities", number("activities"));
        for (which, count) in [
            ("calls of DynamoDB", all),
            ("write units", number("write_units")),
            ("read units", number("read_units")),
            ("messages", number("messages")),
        ] {
            rows.push(Row::new(PART, format!("{what}: {which}"), Figure::Count(count)));
        }
    }
    Ok(rows)
}

/// Starts runs with concurrent clients. Returns each run's time in milliseconds, and the total in seconds.
fn load(runner: &Runner, clients: u32, runs: u64) -> Result<(Vec<f64>, f64)> {
    let output = programs::command(&programs::binary("run_load")?)
        .arg("--data-dir")
        .arg(runner.data_dir())
        .args(["--base-url", runner.base_url(), "--token", runner.token()])
        .args(["--clients", &clients.to_string(), "--runs", &runs.to_string()])
        .args(["--steps", &STEPS.to_string()])
        .output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("The load failed: {}", stderr.trim()).into());
    }
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let took = report.get("run_ms").and_then(Value::as_array);
    let took = took.into_iter().flatten().filter_map(Value::as_f64).collect();
    let seconds = report.get("seconds").and_then(Value::as_f64);
    Ok((took, seconds.ok_or("the load told no time")?))
}

/// Starts a run with the operator command. Returns its path in the API.
pub fn start(runner: &Runner, workflow_type: &str, id: &str, input: &Value) -> Result<String> {
    let output = runner
        .ops()?
        .args(["--json", "run", "start", workflow_type, "--id", id])
        .args(["--input", &input.to_string()])
        .output()?;
    let started: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("no run: {}", String::from_utf8_lossy(&output.stderr)))?;
    let run = started.get("run_id").and_then(Value::as_str).ok_or("no run id")?;
    Ok(format!("/workflows/runs/{id}/{run}"))
}

pub async fn ended(runner: &Runner, path: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let run = json_of(runner.get(path)).await?;
        if run.get("status").and_then(Value::as_str) == Some("COMPLETED") {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("The run {path} does not end.").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Measures a query on a closed run of 6,002 events.
async fn queries(runner: &Runner) -> Result<Row> {
    let path = start(runner, "Steps", "long", &json!({ "steps": LONG }))?;
    say("a run of 6,002 events");
    ended(runner, &path).await?;
    let mut took = Vec::new();
    for _ in 0..QUERIES {
        let began = Instant::now();
        answer(runner.get(&format!("{path}/query/__stack"))).await?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let row = Row::new(
        PART,
        "query on a closed run of 6,002 events",
        Figure::Milliseconds(median(&took)),
    );
    Ok(row.unlucky("p99", Figure::Milliseconds(percentile(&took, 0.99))))
}

/// Measures a thousand streams of one run: the memory of each, and the time until all have an update.
async fn streams(runner: &Runner) -> Result<Vec<Row>> {
    let path = start(runner, "Approval", "streams", &json!({ "title": "streams" }))?;
    let before = resident_kib(runner.process_id());
    let mut open = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = runner
            .get(&format!("{path}/stream"))
            .send()
            .await?
            .error_for_status()?;
        // Skip the opening comment.
        stream.chunk().await?;
        open.push(stream);
    }
    let after = resident_kib(runner.process_id());
    let began = Instant::now();
    let heard = open.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let mut heard = String::new();
            while !heard.contains("to everybody") {
                match stream.chunk().await? {
                    Some(bytes) => heard.push_str(&String::from_utf8_lossy(&bytes)),
                    None => return Err("a stream ended".into()),
                }
            }
            Ok::<_, crate::Error>(())
        })
    });
    let heard: Vec<_> = heard.collect();
    let run = path.rsplit('/').next().unwrap_or_default();
    let update = json!({ "message": "to everybody" });
    answer(runner.post(&format!("/workflows/runs/{run}/updates"), &update)).await?;
    for stream in heard {
        stream.await??;
    }
    let all_ms = began.elapsed().as_secs_f64() * 1e3;
    let megabytes = after.saturating_sub(before) as f64 * 1_024.0 / 1e6;
    Ok(vec![
        Row::new(
            PART,
            format!("memory of each of {STREAMS} idle streams"),
            Figure::Megabytes(megabytes / STREAMS as f64),
        ),
        Row::new(
            PART,
            format!("one update to {STREAMS} streams"),
            Figure::Milliseconds(all_ms),
        ),
    ])
}
