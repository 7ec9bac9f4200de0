//! Provides a local service for the calls of tests, and the services of activities.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use conformance::nowhere::Nowhere;
use events::publish::Publisher;
use events::records::events::Events;
use events::records::listeners::Listeners;
use platform::bus::Bus;
use platform::config::{AwsEnvironment, Secret};
use platform::objects::Objects;
use platform::outbound::Outbound;
use platform::records::Table;
use platform::{Clock, Result, Tenant};
use process::expression::Evaluator;
use runs::process::{Definitions, ProcessServices, with_activities};
use runs::records::process_secrets::Holder;
use runs::secrets::{OpenSecret, Secrets, Withheld};
use serde_json::{Value, json};
use workflow::Registry;

use crate::world;

/// A request that the service received.
#[derive(Clone, Debug)]
pub struct Got {
    pub method: String,
    pub uri: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub struct Service {
    pub url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Service {
    pub fn start() -> Self {
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let (told, hears) = mpsc::channel();
        let kept = Arc::clone(&got);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                    .await
                    .unwrap();
                told.send(listener.local_addr().unwrap().port()).unwrap();
                let router = Router::new().fallback(answer).with_state(kept);
                axum::serve(listener, router).await.unwrap();
            });
        });
        Self {
            url: format!("http://127.0.0.1:{}", hears.recv().unwrap()),
            got,
        }
    }

    /// Returns host and port.
    pub fn host(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Returns the received requests in order.
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

async fn answer(
    State(got): State<Arc<Mutex<Vec<Got>>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let came = Got {
        method: method.to_string(),
        uri: uri.to_string(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let host = came.headers["host"].clone();
    let seen = {
        let mut got = got.lock().unwrap();
        got.push(came.clone());
        got.len()
    };
    let path = uri.path().to_owned();
    match path.as_str() {
        "/json" => {
            axum::Json(json!({ "method": came.method, "uri": came.uri, "body": came.body })).into_response()
        }
        "/digits" => (
            [("content-type", "application/json")],
            r#"{"n": 12345678901234567890.50}"#,
        )
            .into_response(),
        "/text" => "plain".into_response(),
        "/bytes" => ([("content-type", "application/octet-stream")], vec![255_u8, 0, 1]).into_response(),
        "/latin1" => (
            [("content-type", "text/plain; charset=ISO-8859-1")],
            b"caf\xe9".to_vec(),
        )
            .into_response(),
        "/bom" => ([("content-type", "application/json")], "\u{feff}{\"a\": 1}").into_response(),
        "/gzip" => gzip(br#"{"zipped": true}"#),
        "/gzip-bomb" => gzip(&vec![b' '; 3_000_000]),
        "/gzip-broken" => ([("content-encoding", "gzip")], "plain").into_response(),
        "/brotli" => ([("content-encoding", "br")], "plain").into_response(),
        "/declined" => declined(r#"{"code": "declined"}"#.to_owned()),
        "/declined-at-length" => declined("x".repeat(100_000)),
        "/empty" => StatusCode::NO_CONTENT.into_response(),
        "/large" => "x".repeat(10_000_000).into_response(),
        "/moved" => (StatusCode::FOUND, [("location", "/json")], "elsewhere").into_response(),
        // The third request succeeds.
        "/flaky" if seen < 3 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        "/flaky" => "at last".into_response(),
        "/openapi.json" => axum::Json(openapi()).into_response(),
        "/swagger.yaml" => swagger(&host).into_response(),
        path if path.starts_with("/status/") => {
            let status: u16 = path.rsplit('/').next().unwrap().parse().unwrap();
            (StatusCode::from_u16(status).unwrap(), "no").into_response()
        }
        _ => axum::Json(json!({ "method": came.method, "uri": came.uri, "body": came.body })).into_response(),
    }
}

fn gzip(text: &[u8]) -> Response {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    (headers, encoder.finish().unwrap()).into_response()
}

fn declined(body: String) -> Response {
    let headers = [("content-type", "application/json"), ("retry-after", "7")];
    (StatusCode::UNPROCESSABLE_ENTITY, headers, body).into_response()
}

fn openapi() -> Value {
    json!({
        "openapi": "3.0.0",
        "servers": [{ "url": "/api/{stage}", "variables": { "stage": { "default": "v1" } } }],
        "paths": { "/pets/{pet id}": {
            "parameters": [{ "name": "pet id", "in": "path", "required": true }],
            "put": { "operationId": "putPet", "parameters": [
                { "$ref": "#/components/parameters/Limit" },
                { "name": "X-Trace", "in": "header" },
                { "name": "session", "in": "cookie" },
            ] },
        }, "/shops/{shop}/toys/{toy}": {
            "get": { "operationId": "getToy", "parameters": [{ "name": "toy", "in": "path" }] },
        }, ".evil.example": { "get": { "operationId": "getHome" } } },
        "components": { "parameters": { "Limit": { "name": "limit", "in": "query" } } },
    })
}

fn swagger(host: &str) -> String {
    format!(
        "swagger: '2.0'
host: {host}
basePath: /v2
schemes: [http]
paths:
  /orders:
    post:
      operationId: placeOrder
      parameters:
        - {{ name: order, in: body, required: true }}
"
    )
}

struct Nothing;

#[async_trait]
impl Definitions for Nothing {
    async fn find(&self, _: &Tenant, _: &str) -> Result<Option<String>> {
        Ok(None)
    }

    async fn digest_of(&self, _: &Tenant, _: &str, _: &str, _: &str) -> Result<Option<String>> {
        Ok(None)
    }

    async fn allows_inline_secrets(&self, _: &Tenant) -> Result<bool> {
        Ok(false)
    }
}

/// Secrets by name, for every process and for these hosts.
struct Given {
    values: BTreeMap<String, String>,
    hosts: Vec<String>,
}

#[async_trait]
impl Secrets for Given {
    async fn open(&self, _: &Tenant, name: &str, _: Holder<'_>) -> Result<Result<OpenSecret, Withheld>> {
        let secret = self.values.get(name).map(|value| OpenSecret {
            json: Secret::new(value.as_str()),
            hosts: self.hosts.clone(),
        });
        Ok(secret.ok_or_else(|| Withheld(format!("The project has no secret '{name}'."))))
    }
}

struct Silent;

#[async_trait]
impl Bus for Silent {
    async fn publish(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

/// Registers the activities without secrets. Calls may go to this machine.
pub fn registry() -> Registry {
    with_outbound(
        &json!({}),
        &[],
        Outbound::local(&AwsEnvironment::default()).unwrap(),
    )
}

/// Registers the activities with secrets for these hosts. Calls may go to this machine.
pub fn with_secrets(secrets: &Value, hosts: &[&str]) -> Registry {
    with_outbound(
        secrets,
        hosts,
        Outbound::local(&AwsEnvironment::default()).unwrap(),
    )
}

pub fn with_outbound(secrets: &Value, hosts: &[&str], outbound: Outbound) -> Registry {
    let values = secrets.as_object().unwrap().iter();
    let secrets = Given {
        values: values
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect(),
        hosts: hosts.iter().map(ToString::to_string).collect(),
    };
    // Nothing is published or stored through these: mocks replace them.
    let table = Table::new(Arc::new(Nowhere), "events");
    let objects = Objects::new(Arc::new(Nowhere), "data");
    let services = ProcessServices {
        definitions: Arc::new(Nothing),
        secrets: Arc::new(secrets),
        listening: Arc::new(Listeners::new(table.clone())),
        evaluator: Evaluator::in_process(),
        outbound,
        publisher: Publisher::new(Events::new(table), objects, Arc::new(Silent)),
        clock: Clock::System,
    };
    with_activities(world::registry(), &services)
}
