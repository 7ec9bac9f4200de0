//! Listens to other processes of the data directory's owner: the operator command sends its hints to the
//! queues of the runner that has the directory open, and another runner asks it to stop. The service's own
//! runs call the API here.
//!
//! The queues offer only sending, because no other process reads them.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode, header};
use axum::routing::post;
use axum::{Json, Router};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use platform::config::Secret;
use platform::http::service::normalized;
use platform::queue::{Delivery, MAX_DELAY, Queue};
use platform::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::guard;
use crate::queue::LocalQueue;
use crate::server::{self, Limits};

/// Maximum time that the other process takes to answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Served {
    queues: Arc<BTreeMap<&'static str, Arc<LocalQueue>>>,
    stop: Arc<Notify>,
}

#[derive(Serialize, Deserialize)]
struct Message {
    body: String,
    delay_ms: u64,
}

/// Serves these queues by name to callers with the secret, who can also have `stop` notified, and the API to
/// all.
pub fn serve(
    listener: TcpListener,
    queues: Arc<BTreeMap<&'static str, Arc<LocalQueue>>>,
    stop: Arc<Notify>,
    secret: &Secret,
    api: Router,
) {
    let router = Router::new()
        .route("/queues/{queue}", post(take))
        .route("/stop", post(end))
        .with_state(Served { queues, stop });
    let router = guard::for_holders_of(secret.clone(), router)
        .fallback_service(normalized(guard::without_browsers(api)));
    tokio::spawn(server::serve(listener, router, Limits::internal(), pending()));
}

async fn end(State(served): State<Served>) -> StatusCode {
    served.stop.notify_one();
    StatusCode::NO_CONTENT
}

async fn take(
    State(served): State<Served>,
    Path(name): Path<String>,
    Json(message): Json<Message>,
) -> StatusCode {
    let Some(queue) = served.queues.get(name.as_str()) else {
        return StatusCode::NOT_FOUND;
    };
    let delivery = Delivery {
        delay: Duration::from_millis(message.delay_ms).min(MAX_DELAY),
        ..Delivery::default()
    };
    match queue.send_as(&message.body, delivery).await {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The runner that has the data directory open.
pub(crate) struct OtherRunner {
    client: Client<HttpConnector, Body>,
    endpoint: String,
    secret: Secret,
}

impl OtherRunner {
    pub(crate) fn new(endpoint: &str, secret: &Secret) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            endpoint: endpoint.to_owned(),
            secret: secret.clone(),
        }
    }

    /// Asks it to stop. It ends later.
    pub(crate) async fn stop(&self) -> Result<()> {
        self.post("stop", &Value::Null).await
    }

    async fn post(&self, path: &str, body: &impl Serialize) -> Result<()> {
        let body = serde_json::to_vec(body).map_err(Error::internal)?;
        let request = Request::post(format!("{}/{path}", self.endpoint))
            .header(header::AUTHORIZATION, guard::authorization(&self.secret))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(Bytes::from(body)))
            .map_err(Error::internal)?;
        let away = |_| Error::unavailable("The runner that has the data directory open does not answer.");
        let answered = timeout(PATIENCE, self.client.request(request));
        let response = answered.await.map_err(|_| away(()))?.map_err(|_| away(()))?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(()),
            status => Err(Error::internal(format!(
                "the other runner answered with {status}"
            ))),
        }
    }
}

/// A queue of another runner.
pub(crate) struct RemoteQueue {
    pub(crate) runner: OtherRunner,
    pub(crate) name: String,
}

#[async_trait]
impl Queue for RemoteQueue {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        let message = Message {
            body: body.to_owned(),
            delay_ms: u64::try_from(delivery.delay.as_millis()).unwrap_or(u64::MAX),
        };
        let path = format!("queues/{}", self.name);
        self.runner.post(&path, &message).await
    }
}
