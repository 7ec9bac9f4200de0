//! What workflow runs ask of the records and of the queue: calls, capacity units and messages for a run of one activity and for one
//! of three, for the benchmarks. It prints one JSON object.
//!
//! The engine speaks to the twin of DynamoDB through a proxy, which asks for the capacity that each call takes and adds it up; the
//! units are DynamoDB's own, those of the indexes included.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use local::data_dir::DataDir;
use local::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, Services};
use platform::bus::Bus;
use platform::objects::Objects;
use platform::queue::{BoxFuture, Delivery, Queue};
use platform::records::Table;
use platform::records::runs::Runs;
use platform::{Clock, Tenant, aws};
use serde_json::{Value, json};
use workflow::engine::{Hint, StartRun};
use workflow::wiring::Wiring;
use workflow::{Context, Failure, Payload, Registry};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Activities of the runs.
const ACTIVITIES: [u32; 2] = [1, 3];

#[derive(Default)]
struct Taken {
    calls: BTreeMap<String, u64>,
    read_units: f64,
    write_units: f64,
    messages: Vec<String>,
}

/// Stands before the record store, and is the queue and the bus.
#[derive(Clone)]
struct Counter {
    backend: String,
    http: reqwest::Client,
    taken: Arc<Mutex<Taken>>,
}

impl Counter {
    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(&self, mut headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
        let target = headers.get("x-amz-target").ok_or("no target")?.to_str()?;
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut request: Value = serde_json::from_slice(&body)?;
        if let Some(request) = request.as_object_mut() {
            request.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
        }
        headers.remove("content-length");
        let sent = self.http.post(&self.backend).headers(headers);
        let answer = sent.body(request.to_string()).send().await?;
        let status = answer.status();
        let bytes = answer.bytes().await?;
        let answer: Value = serde_json::from_slice(&bytes)?;
        let consumed = match answer.get("ConsumedCapacity") {
            Some(Value::Array(each)) => each.clone(),
            Some(one) => vec![one.clone()],
            None => return Err(format!("{operation} does not say what it takes: {answer}").into()),
        };
        let units = consumed
            .iter()
            .filter_map(|each| each.get("CapacityUnits")?.as_f64())
            .sum::<f64>();
        let mut taken = self.taken();
        if ["GetItem", "Query"].contains(&operation.as_str()) {
            taken.read_units += units;
        } else {
            taken.write_units += units;
        }
        *taken.calls.entry(operation).or_default() += 1;
        let headers = [("content-type", "application/x-amz-json-1.0")];
        Ok((status, headers, bytes).into_response())
    }
}

impl Queue for Counter {
    fn send_as<'a>(&'a self, body: &'a str, _: Delivery<'a>) -> BoxFuture<'a, platform::Result<()>> {
        self.taken().messages.push(body.to_owned());
        Box::pin(async { Ok(()) })
    }
}

impl Bus for Counter {
    fn publish<'a>(&'a self, _: &'a str) -> BoxFuture<'a, platform::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let data = DataDir::open(&folder.path().join("data"))?;
    let services = Services::open(&data).await?;
    let counter = Counter {
        backend: services
            .records
            .endpoint_url()
            .ok_or("the records have no endpoint")?
            .to_owned(),
        http: reqwest::Client::builder().no_proxy().build()?,
        taken: Arc::default(),
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    let counted = aws::sdk_config_for(&format!("http://{}", listener.local_addr()?), "local", "local");
    let answer = |State(counter): State<Counter>, headers: HeaderMap, body: Bytes| async move {
        match counter.pass(headers, body).await {
            Ok(answer) => answer,
            Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        }
    };
    let router = Router::new().fallback(answer).with_state(counter.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let events = Table::connect(&counted, EVENTS_TABLE);
    let wiring = Wiring {
        runs: Runs::new(Table::connect(&counted, RUNS_TABLE), events),
        objects: Objects::connect(&services.objects, DATA_BUCKET),
        queue: Arc::new(counter.clone()),
        bus: Arc::new(counter.clone()),
        clock: Clock::System,
        listener: None,
    };
    let engine = wiring.engine(registry());
    let tenant = Tenant::new("acme", "demo")?;
    let mut report = Vec::new();
    for activities in ACTIVITIES {
        *counter.taken() = Taken::default();
        let start = StartRun::new("Steps", &format!("of-{activities}"), Payload::of(&activities)?);
        let started = engine.start(&tenant, &start).await?;
        let mut messages = 0;
        // As a queue does it: until there is nothing more to follow.
        loop {
            let waiting = std::mem::take(&mut counter.taken().messages);
            if waiting.is_empty() {
                break;
            }
            messages += waiting.len();
            for body in waiting {
                let hint: Hint = serde_json::from_str(&body)?;
                engine.drive(&hint.tenant()?, &hint.run_id).await?;
            }
        }
        let taken = std::mem::take(&mut *counter.taken());
        let state = engine.get(&tenant, &started.run_id).await?;
        if state.status != workflow::status::RunStatus::Completed {
            return Err(format!("the run is {}", state.status.as_str()).into());
        }
        report.push(json!({
            "activities": activities,
            "messages": messages,
            "calls": taken.calls,
            "read_units": taken.read_units,
            "write_units": taken.write_units,
        }));
    }
    writeln!(std::io::stdout(), "{}", Value::from(report))?;
    Ok(())
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
