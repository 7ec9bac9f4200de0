//! Measures the cost of workflow runs and deliveries, for the benchmarks: calls, capacity units and messages
//! for a run of one activity, for a run of three, for an event that one webhook receives, and for an event in
//! the log. Prints one JSON object.
//!
//! The engine calls an emulator of DynamoDB through a proxy. The units are those that DynamoDB reports,
//! indexes included.

mod counter;
mod log;
mod webhook;

use std::io::Write as _;
use std::sync::Arc;

use aws::Aws;
use counter::{Counter, Usage};
use emulators::Emulators;
use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, TABLES};
use platform::{Clock, Tenant};
use serde_json::{Value, json};
use workflow::engine::{Engine, Hint, StartRun};
use workflow::records::Runs;
use workflow::wiring::Wiring;
use workflow::{Context, Failure, Payload, Registry};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Number of activities of each measured run.
const ACTIVITIES: [u32; 2] = [1, 3];

fn main() -> Result<(), Error> {
    lake::run_if_child();
    count()
}

#[tokio::main]
async fn count() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let data = DataDir::open(&folder.path().join("data"))?;
    let emulators = Emulators::start(&folder.path().join("aws"), &TABLES).await?;
    let (counter, endpoint) = Counter::before(&emulators.endpoint).await?;
    let sdk = emulators.sdk().to_builder().endpoint_url(&endpoint).build();
    let aws = Aws::new(sdk);
    let table = |name| aws.table(name);
    let wiring = Wiring {
        runs: Runs::new(table(RUNS_TABLE), table(EVENTS_TABLE)),
        objects: Aws::new(emulators.sdk()).bucket(DATA_BUCKET),
        queue: Arc::new(counter.clone()),
        bus: Arc::new(counter.clone()),
        clock: Clock::System,
        listener: None,
        api: None,
    };
    let report = json!({
        "runs": runs(&wiring.engine(registry())?, &counter).await?,
        "webhook": webhook::costs(&data, &wiring, &aws, &counter).await?,
        "log": log::costs(&data, wiring.objects.clone(), &aws, &counter).await?,
    });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

async fn runs(engine: &Engine, counter: &Counter) -> Result<Value, Error> {
    let tenant = Tenant::new("acme", "demo")?;
    let mut report = Vec::new();
    for activities in ACTIVITIES {
        *counter.usage() = Usage::default();
        let start = StartRun::new(
            "Steps",
            &format!("of-{activities}"),
            Payload::from_value(&activities)?,
        );
        let started = engine.start(&tenant, &start).await?;
        let messages = follow(engine, counter).await?;
        let usage = std::mem::take(&mut *counter.usage());
        let state = engine.get(&tenant, &started.run_id).await?;
        if state.status != workflow::status::RunStatus::Completed {
            return Err(format!("the run is {}", state.status.as_str()).into());
        }
        report.push(json!({
            "activities": activities,
            "messages": messages,
            "calls": usage.calls,
            "read_units": usage.read_units,
            "write_units": usage.write_units,
            "written": usage.write_units_by_place,
        }));
    }
    Ok(Value::from(report))
}

/// Follows hints, as the queue's consumer does, until none is left. Returns the number of hints.
async fn follow(engine: &Engine, counter: &Counter) -> Result<usize, Error> {
    let mut messages = 0;
    loop {
        let waiting = std::mem::take(&mut counter.usage().messages);
        if waiting.is_empty() {
            return Ok(messages);
        }
        messages += waiting.len();
        for body in waiting {
            let hint: Hint = serde_json::from_str(&body)?;
            engine.drive(&hint.tenant, &hint.run_id).await?;
        }
    }
}

fn registry() -> Registry {
    Registry::new()
        .workflow("Steps", |context: Context, steps: u32| async move {
            for step in 0..steps {
                context.activity::<u32>("step", &step).await?;
            }
            Ok::<_, Failure>(steps)
        })
        .activity("step", |_, step: u32| async move { Ok(step) })
}
