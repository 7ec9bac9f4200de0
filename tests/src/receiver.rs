//! Receives webhooks: checks their signatures, records them, and behaves as its path requests.
//!
//! | path | behaviour |
//! |---|---|
//! | `/status/<code>` | answers with this status; `?retry_after=<text>` sets `Retry-After` |
//! | `/flaky/<percent>` | answers this percentage of requests with 500, at most two of a delivery, because the fourth attempt comes after minutes |
//! | `/hang` | never answers |
//! | `/drip` | answers with 200 and a byte a second, without end |
//! | `/endless` | answers with 200 and a body without end |
//! | `/redirect` | answers with 307 and a `Location` of `?to=<url>` |
//! | any other | answers with 200 |
//!
//! `GET /received` lists the recorded requests, newest last; `DELETE /received` clears them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::stream;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpListener;

/// Largest age of a signed request, in seconds: the replay window of the contract.
const REPLAY_WINDOW_SECONDS: i64 = 900;
/// Maximum number of requests of a delivery that `/flaky` answers with 500.
const MAX_FAILURES: u32 = 2;

#[derive(Clone, Debug, Serialize)]
pub struct Received {
    pub path: String,
    /// Headers, by lower-case name.
    pub headers: std::collections::BTreeMap<String, String>,
    pub body: String,
    /// Whether one of the secrets signed it: `verified`, `wrong`, or `unsigned`.
    pub signature: &'static str,
    /// Status of the answer; 0 where there is none.
    pub answered: u16,
    /// Time at which it came.
    #[serde(skip)]
    pub at: Instant,
}

impl Received {
    /// Returns a header; empty where it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub fn delivery_id(&self) -> &str {
        self.header("x-service-delivery-id")
    }
}

#[derive(Default)]
struct Shared {
    received: Vec<Received>,
    secrets: Vec<String>,
    /// Number of requests, by delivery, that `/flaky` answered with 500.
    failed: HashMap<String, u32>,
}

#[derive(Clone)]
pub struct Receiver {
    /// Such as `http://127.0.0.1:40000`.
    pub origin: String,
    shared: Arc<Mutex<Shared>>,
}

impl Receiver {
    /// Starts a receiver on a free port.
    pub async fn start() -> Self {
        let (receiver, serving) = Self::bind(0, Vec::new()).await.expect("a free port");
        tokio::spawn(serving);
        receiver
    }

    /// Returns a receiver on a port of this machine, and the future that serves it.
    pub async fn bind(
        port: u16,
        secrets: Vec<String>,
    ) -> std::io::Result<(Self, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        let receiver = Self {
            origin: format!("http://127.0.0.1:{port}"),
            shared: Arc::new(Mutex::new(Shared {
                secrets,
                ..Shared::default()
            })),
        };
        let router = Router::new().fallback(answer).with_state(receiver.clone());
        let serving = async move {
            let _ = axum::serve(listener, router).await;
        };
        Ok((receiver, serving))
    }

    /// Accepts requests that this secret signed from now on.
    pub fn accept(&self, secret: &str) {
        self.shared().secrets.push(secret.to_owned());
    }

    /// Returns the number of requests so far.
    pub fn count(&self) -> usize {
        self.shared().received.len()
    }

    /// Returns the requests so far, newest last.
    pub fn received(&self) -> Vec<Received> {
        self.shared().received.clone()
    }

    /// Returns the requests to a path so far, newest last.
    pub fn received_at(&self, path: &str) -> Vec<Received> {
        let mut received = self.received();
        received.retain(|received| received.path == path);
        received
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("not poisoned")
    }
}

#[derive(Deserialize)]
struct Wishes {
    retry_after: Option<String>,
    to: Option<String>,
}

async fn answer(
    State(receiver): State<Receiver>,
    method: Method,
    uri: Uri,
    Query(wishes): Query<Wishes>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    if path == "/received" {
        let mut state = receiver.shared();
        if method == Method::DELETE {
            state.received.clear();
        }
        return axum::Json(state.received.clone()).into_response();
    }
    let mut status = status(&path);
    if path.starts_with("/flaky/") && status == Some(StatusCode::INTERNAL_SERVER_ERROR) {
        let id = headers.get("x-service-delivery-id");
        let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        let mut state = receiver.shared();
        let failed = state.failed.entry(id).or_default();
        if *failed == MAX_FAILURES {
            status = Some(StatusCode::OK);
        } else {
            *failed += 1;
        }
    }
    let pairs = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let mut received = Received {
        path: path.clone(),
        headers: pairs.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
        signature: "unsigned",
        answered: status.map_or(0, |status| status.as_u16()),
        at: Instant::now(),
    };
    received.signature = signature(&received, &body, &receiver.shared().secrets);
    receiver.shared().received.push(received);
    let Some(status) = status else {
        return std::future::pending().await;
    };
    let mut response = match path.as_str() {
        "/drip" => endless(b"x", Duration::from_secs(1)).into_response(),
        "/endless" => endless(&[b'x'; 65_536], Duration::ZERO).into_response(),
        _ => "ok".into_response(),
    };
    *response.status_mut() = status;
    for (name, value) in [
        (header::RETRY_AFTER, wishes.retry_after),
        (header::LOCATION, wishes.to),
    ] {
        if let Some(value) = value.and_then(|value| value.parse().ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Returns the status for a path; None where there is no answer.
fn status(path: &str) -> Option<StatusCode> {
    let mut parts = path.trim_start_matches('/').split('/');
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u16>().ok()).unwrap_or_default();
    let code = match parts.next() {
        Some("hang") => return None,
        Some("status") => number(parts.next()),
        Some("flaky") if rand::random::<f64>() * 100.0 < f64::from(number(parts.next())) => 500,
        Some("redirect") => 307,
        _ => 200,
    };
    Some(StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST))
}

fn endless(part: &'static [u8], pause: Duration) -> Body {
    Body::from_stream(stream::unfold((), move |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(part)), ()))
    }))
}

/// Verifies both of a request's signatures: that of the contract, and that of Standard Webhooks.
fn signature(received: &Received, body: &[u8], secrets: &[String]) -> &'static str {
    let signatures = received.header("x-service-signature");
    if signatures.is_empty() {
        return "unsigned";
    }
    let (id, timestamp) = (received.delivery_id(), received.header("x-service-timestamp"));
    let now = now_seconds();
    let is_young = timestamp
        .parse::<i64>()
        .is_ok_and(|at| (now - at).abs() <= REPLAY_WINDOW_SECONDS);
    let signed = |secret: &String| {
        let ours = mac(secret.as_bytes(), &[timestamp, ".", id, "."], body);
        let ours = format!("v1={}", hex::encode(ours));
        let key = BASE64
            .decode(secret.trim_start_matches("whsec_"))
            .unwrap_or_default();
        let standard_id = received.header("webhook-id");
        let standard_time = received.header("webhook-timestamp");
        let standard = mac(&key, &[standard_id, ".", standard_time, "."], body);
        let standard = format!("v1,{}", BASE64.encode(standard));
        signatures.split(',').any(|one| one == ours)
            && received
                .header("webhook-signature")
                .split(' ')
                .any(|one| one == standard)
    };
    match is_young && secrets.iter().any(signed) {
        true => "verified",
        false => "wrong",
    }
}

#[expect(clippy::disallowed_methods, reason = "a receiver has a clock of its own")]
fn now_seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn mac(key: &[u8], head: &[&str], body: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    for part in head {
        mac.update(part.as_bytes());
    }
    mac.update(body);
    mac.finalize().into_bytes().to_vec()
}
