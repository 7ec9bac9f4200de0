//! Provides AWS to functions at one address: emulators of DynamoDB and S3, and the queues of a local service
//! over these.
//!
//! One address serves all, because a function has one `AWS_ENDPOINT_URL`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use parking_lot::{Mutex, MutexGuard};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::emulators::Emulators;

pub struct Aws {
    address: SocketAddr,
    calls: Calls,
    connections: Arc<Mutex<JoinSet<()>>>,
    keys: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug)]
pub struct Call {
    /// `DynamoDB_20120810.GetItem`, or `s3:GET` and the path.
    pub name: String,
    /// Time at which its answer was sent. None while it is open.
    pub answered: Option<Instant>,
}

type Calls = Arc<Mutex<Vec<Call>>>;

#[derive(Clone)]
struct Behind {
    emulators: String,
    /// Queues of a runner, which take messages in a form of their own.
    queues: String,
    queue_secret: String,
    client: Client,
    calls: Calls,
}

impl Aws {
    /// Starts the services over the emulators and over the queues of the runner that has `data_dir` open.
    pub async fn over(emulators: &Emulators, data_dir: &Path) -> Self {
        let text = |name: &str| std::fs::read_to_string(data_dir.join(name)).expect("the runner wrote it");
        let queues: Value = serde_json::from_str(&text("queues.json")).expect("it is JSON");
        let calls = Calls::default();
        let behind = Behind {
            emulators: emulators.endpoint.clone(),
            queues: queues["endpoint"].as_str().expect("an endpoint").to_owned(),
            queue_secret: text("keys/services"),
            client: Client::builder().no_proxy().build().expect("a client"),
            calls: Arc::clone(&calls),
        };
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(behind);
        let (inner, outer) = (listener().await, listener().await);
        let (server, address) = (local(&inner), local(&outer));
        tokio::spawn(async move { axum::serve(inner, router).await });
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        tokio::spawn(relay(outer, server, Arc::clone(&connections)));
        Self {
            address,
            calls,
            connections,
            keys: emulators.keys().into_iter().collect(),
        }
    }

    /// Returns the variables that a function needs.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let endpoint = ("AWS_ENDPOINT_URL", format!("http://{}", self.address));
        self.keys.clone().into_iter().chain([endpoint])
    }

    /// Returns the calls so far, without the first `known`.
    pub fn calls_after(&self, count: usize) -> Vec<Call> {
        locked(&self.calls).get(count..).unwrap_or_default().to_vec()
    }

    /// Closes all connections, as AWS closes idle ones.
    pub async fn close_connections(&self) {
        let mut open = std::mem::take(&mut *locked(&self.connections));
        open.shutdown().await;
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port is free")
}

fn local(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().expect("it has an address")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Relays connections between the functions and the server, so that they can be closed on demand.
async fn relay(listener: TcpListener, server: SocketAddr, connections: Arc<Mutex<JoinSet<()>>>) {
    while let Ok((mut caller, _)) = listener.accept().await {
        locked(&connections).spawn(async move {
            if let Ok(mut server) = TcpStream::connect(server).await {
                let _ = caller.set_nodelay(true);
                let _ = server.set_nodelay(true);
                let _ = tokio::io::copy_bidirectional(&mut caller, &mut server).await;
            }
        });
    }
}

async fn answer(
    State(behind): State<Behind>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok());
    let call = target.map_or_else(|| format!("s3:{method} {}", uri.path()), str::to_owned);
    let number = begun(&behind.calls, call);
    let (service, operation) = target
        .and_then(|target| target.split_once('.'))
        .unwrap_or_default();
    let answer = match service {
        "AWSEvents" => took_events(&body),
        "TrentService" => sealed(operation, &body),
        "AmazonSQS" => queued(&behind, &body).await,
        _ => forward(&behind, method, &uri, headers, body).await,
    };
    if let Some(call) = locked(&behind.calls).get_mut(number) {
        call.answered = Some(Instant::now());
    }
    answer
}

fn begun(calls: &Calls, name: String) -> usize {
    let mut calls = locked(calls);
    calls.push(Call { name, answered: None });
    calls.len() - 1
}

/// Accepts every event and delivers none.
fn took_events(body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let count = request["Entries"].as_array().map_or(0, Vec::len);
    amz_json(&json!({ "FailedEntryCount": 0, "Entries": vec![json!({ "EventId": "1" }); count] }))
}

/// Encrypts and decrypts to the same text.
fn sealed(operation: &str, body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = &request[if operation == "Encrypt" {
        "Plaintext"
    } else {
        "CiphertextBlob"
    }];
    amz_json(&json!({ "KeyId": "key", "Plaintext": text, "CiphertextBlob": text }))
}

fn amz_json(body: &Value) -> Response {
    (
        [(header::CONTENT_TYPE, "application/x-amz-json-1.1")],
        body.to_string(),
    )
        .into_response()
}

/// Sends a message to the queue of the runner that its URL ends in.
async fn queued(behind: &Behind, body: &[u8]) -> Response {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let queue = request["QueueUrl"].as_str().unwrap_or_default();
    let queue = queue.rsplit('/').next().unwrap_or_default();
    let delay_ms = request["DelaySeconds"].as_u64().unwrap_or_default() * 1_000;
    let result = behind
        .client
        .post(format!("{}/queues/{queue}", behind.queues))
        .bearer_auth(&behind.queue_secret)
        .json(&json!({ "body": request["MessageBody"], "delay_ms": delay_ms }))
        .send()
        .await;
    match result.is_ok_and(|answer| answer.status().is_success()) {
        true => amz_json(&json!({ "MessageId": "1" })),
        false => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn forward(
    behind: &Behind,
    method: Method,
    uri: &Uri,
    mut headers: HeaderMap,
    body: Bytes,
) -> Response {
    headers.remove(header::TRANSFER_ENCODING);
    headers.remove(header::CONNECTION);
    let emulators = &behind.emulators;
    let url = format!(
        "{emulators}{}",
        uri.path_and_query().map_or("/", |path| path.as_str())
    );
    let is_head = method == Method::HEAD;
    let result = behind
        .client
        .request(method, url)
        .headers(headers)
        .body(body)
        .send()
        .await;
    let Ok(answer) = result else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove(header::TRANSFER_ENCODING);
    if !is_head {
        headers.remove(header::CONTENT_LENGTH);
    }
    let body = answer.bytes().await.unwrap_or_default();
    (status, headers, Body::from(body)).into_response()
}
