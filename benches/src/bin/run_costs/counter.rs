//! Sums the capacity that each call takes: a proxy before the record store, and also the queue and the bus.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use platform::archive_hints::ArchiveHint;
use platform::bus::Bus;
use platform::queue::{Delivery, Queue};
use serde_json::{Value, json};

use crate::Error;

/// Capacity and messages that were counted.
#[derive(Default)]
pub struct Usage {
    /// Calls by operation.
    pub calls: BTreeMap<String, u64>,
    pub read_units: f64,
    pub write_units: f64,
    /// Write units by table or `table.index`.
    pub write_units_by_place: BTreeMap<String, f64>,
    /// Messages that were sent to the queue.
    pub messages: Vec<String>,
    /// Messages that were put on the bus.
    pub events: Vec<String>,
}

/// Proxy before the record store; also the queue and the bus.
#[derive(Clone)]
pub struct Counter {
    backend: String,
    http: reqwest::Client,
    usage: Arc<Mutex<Usage>>,
}

impl Counter {
    /// Starts the proxy before the record store at an endpoint. Returns the proxy and its own endpoint.
    pub async fn before(backend: &str) -> Result<(Self, String), Error> {
        let counter = Self {
            backend: backend.to_owned(),
            http: reqwest::Client::builder().no_proxy().build()?,
            usage: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let answer = |State(counter): State<Self>, headers: HeaderMap, body: Bytes| async move {
            match counter.pass(headers, body).await {
                Ok(answer) => answer,
                Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
            }
        };
        let router = Router::new().fallback(answer).with_state(counter.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((counter, endpoint))
    }

    pub fn usage(&self) -> parking_lot::MutexGuard<'_, Usage> {
        self.usage.lock()
    }

    async fn pass(&self, mut headers: HeaderMap, body: Bytes) -> Result<Response, Error> {
        let target = headers.get("x-amz-target").ok_or("no target")?.to_str()?;
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut request: Value = serde_json::from_slice(&body)?;
        if let Some(request) = request.as_object_mut() {
            request.insert("ReturnConsumedCapacity".to_owned(), json!("INDEXES"));
        }
        headers.remove("content-length");
        let backend_request = self.http.post(&self.backend).headers(headers);
        let answer = backend_request.body(request.to_string()).send().await?;
        let status = answer.status();
        let bytes = answer.bytes().await?;
        let answer: Value = serde_json::from_slice(&bytes)?;
        let consumed = match answer.get("ConsumedCapacity") {
            Some(Value::Array(each)) => each.clone(),
            Some(one) => vec![one.clone()],
            // A refused condition has no consumed capacity in its response.
            None if status.is_client_error() => Vec::new(),
            None => return Err(format!("{operation} does not say what it takes: {answer}").into()),
        };
        let units = consumed
            .iter()
            .filter_map(|each| each.get("CapacityUnits")?.as_f64())
            .sum::<f64>();
        let mut usage = self.usage();
        if ["BatchGetItem", "GetItem", "Query"].contains(&operation.as_str()) {
            usage.read_units += units;
        } else {
            usage.write_units += units;
            for each in &consumed {
                for (place, units) in places(each) {
                    *usage.write_units_by_place.entry(place).or_default() += units;
                }
            }
        }
        *usage.calls.entry(operation).or_default() += 1;
        let headers = [("content-type", "application/x-amz-json-1.0")];
        Ok((status, headers, bytes).into_response())
    }
}

/// Returns the units of a table and of each of its indexes, by `table` and `table.index`.
fn places(consumed: &Value) -> Vec<(String, f64)> {
    let table = consumed["TableName"].as_str().unwrap_or_default();
    let units = |place: &Value| place["CapacityUnits"].as_f64().unwrap_or_default();
    let indexes = consumed["GlobalSecondaryIndexes"].as_object();
    let indexes = indexes.into_iter().flatten();
    let mut places: Vec<_> = indexes
        .map(|(index, place)| (format!("{table}.{index}"), units(place)))
        .collect();
    places.push((table.to_owned(), units(&consumed["Table"])));
    places
}

#[async_trait]
impl Queue for Counter {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> platform::Result<()> {
        // Do not count hints at logs: there is one per minute, whatever the load.
        if serde_json::from_str::<ArchiveHint>(body).is_err() {
            self.usage().messages.push(body.to_owned());
        }
        Ok(())
    }
}

#[async_trait]
impl Bus for Counter {
    async fn publish(&self, detail: &str) -> platform::Result<()> {
        self.usage().events.push(detail.to_owned());
        Ok(())
    }
}
