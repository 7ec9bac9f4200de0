//! Starts workflow runs on a running local runner, with a number of concurrent clients, and waits for the end
//! of each run. For the benchmarks: prints one JSON object with the runs and the time of each, from its start
//! to the notification of its end.
//!
//! A start writes a record and sends a message to the queue, as every start does. The stream of the run
//! reports its end.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use clap::Parser;
use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, Services};
use platform::bus::Bus;
use platform::config::variables;
use platform::{Clock, Tenant};
use serde_json::json;
use workflow::engine::{Engine, StartRun};
use workflow::records::Runs;
use workflow::wiring::Wiring;
use workflow::{Payload, Registry};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Starts workflow runs and waits for them.
#[derive(Parser)]
struct Arguments {
    /// Data directory of the runner.
    #[arg(long)]
    data_dir: PathBuf,
    /// Root of the runner's API.
    #[arg(long)]
    base_url: String,
    /// Access token of account `acme`, project `demo`.
    #[arg(long)]
    token: String,
    /// Number of concurrent runs.
    #[arg(long)]
    clients: u32,
    /// Total number of runs.
    #[arg(long)]
    runs: u64,
    /// Activities of each run, in sequence.
    #[arg(long)]
    steps: u32,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments = Arc::new(Arguments::parse());
    let data = DataDir::open(&arguments.data_dir)?;
    let services = Services::open(&data)?;
    let engine = engine(&services)?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let clients: Vec<_> = (0..arguments.clients)
        .map(|_| {
            let (arguments, engine, http) = (Arc::clone(&arguments), engine.clone(), http.clone());
            let next = Arc::clone(&next);
            tokio::spawn(async move {
                let mut took = Vec::new();
                while next.fetch_add(1, Ordering::Relaxed) < arguments.runs {
                    took.push(one(&arguments, &engine, &http).await?);
                }
                Ok::<_, Error>(took)
            })
        })
        .collect();
    let mut took = Vec::new();
    for client in clients {
        took.extend(client.await??);
    }
    let report = json!({ "seconds": began.elapsed().as_secs_f64(), "run_ms": took });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

/// Measures one run from its start to the notification of its end, in milliseconds.
async fn one(arguments: &Arguments, engine: &Engine, http: &reqwest::Client) -> Result<f64, Error> {
    let began = Instant::now();
    let tenant = Tenant::new("acme", "demo")?;
    let id = platform::ids::new_id(Clock::System.now());
    let input = Payload::from_value(&json!({ "steps": arguments.steps }))?;
    let started = engine.start(&tenant, &StartRun::new("Steps", &id, input)).await?;
    let url = format!(
        "{}/workflows/runs/{id}/{}/stream",
        arguments.base_url, started.run_id
    );
    let mut answer = http
        .get(url)
        .bearer_auth(&arguments.token)
        .send()
        .await?
        .error_for_status()?;
    let mut heard = Vec::new();
    while let Some(bytes) = answer.chunk().await? {
        heard.extend_from_slice(&bytes);
    }
    let heard = String::from_utf8(heard)?;
    if !heard.contains("The run is COMPLETED.") {
        return Err(format!("the run {} ended otherwise: {heard}", started.run_id).into());
    }
    Ok(began.elapsed().as_secs_f64() * 1_000.0)
}

/// Returns an engine that only starts runs.
fn engine(services: &Services) -> Result<Engine, Error> {
    let events = services.table(EVENTS_TABLE);
    let queue = services.deployment().queue(variables::TASK_QUEUE)?;
    let wiring = Wiring {
        runs: Runs::new(services.table(RUNS_TABLE), events),
        objects: services.bucket(DATA_BUCKET),
        queue,
        bus: Arc::new(Nowhere),
        clock: Clock::System,
        listener: None,
        api: None,
    };
    let types = Registry::new().workflow("Steps", |_, _: serde_json::Value| async { Ok(()) });
    Ok(wiring.engine(types)?)
}

struct Nowhere;

#[async_trait]
impl Bus for Nowhere {
    async fn publish(&self, _: &str) -> platform::Result<()> {
        Err(platform::Error::unavailable("nothing is published here"))
    }
}
