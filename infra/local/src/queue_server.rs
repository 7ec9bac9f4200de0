//! Passes messages from another process to the queues of this one: the operator command sends its hints to a
//! runner that has the data directory open.
//!
//! It offers only sending, because no other process reads the queues.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode, header};
use axum::routing::post;
use axum::{Json, Router};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use platform::config::Secret;
use platform::queue::{BoxFuture, Delivery, MAX_DELAY, Queue};
use platform::{Error, Result};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::guard;
use crate::queue::LocalQueue;
use crate::server::{self, Limits};

/// Maximum time that the other process takes to answer.
const PATIENCE: Duration = Duration::from_secs(10);

type Queues = Arc<BTreeMap<&'static str, Arc<LocalQueue>>>;

#[derive(Serialize, Deserialize)]
struct Message {
    body: String,
    delay_ms: u64,
}

/// Serves these queues by name to callers with the secret.
pub fn serve(listener: TcpListener, queues: BTreeMap<&'static str, Arc<LocalQueue>>, secret: &Secret) {
    let router = Router::new()
        .route("/{queue}", post(take))
        .with_state(Arc::new(queues));
    let router = guard::for_holders_of(secret.clone(), router);
    tokio::spawn(server::serve(listener, router, Limits::internal(), pending()));
}

async fn take(
    State(queues): State<Queues>,
    Path(name): Path<String>,
    Json(message): Json<Message>,
) -> StatusCode {
    let Some(queue) = queues.get(name.as_str()) else {
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

/// A queue of the process that has the data directory open.
pub(crate) struct RemoteQueue {
    client: Client<HttpConnector, Body>,
    url: String,
    secret: Secret,
}

impl RemoteQueue {
    pub(crate) fn new(endpoint: &str, name: &str, secret: &Secret) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            url: format!("{endpoint}/{name}"),
            secret: secret.clone(),
        }
    }

    async fn post(&self, message: &Message) -> Result<()> {
        let body = serde_json::to_vec(message).map_err(Error::internal)?;
        let request = Request::post(&self.url)
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
                "the runner answered a message with {status}"
            ))),
        }
    }
}

impl Queue for RemoteQueue {
    fn send_as<'a>(&'a self, body: &'a str, delivery: Delivery<'a>) -> BoxFuture<'a, Result<()>> {
        let message = Message {
            body: body.to_owned(),
            delay_ms: u64::try_from(delivery.delay.as_millis()).unwrap_or(u64::MAX),
        };
        Box::pin(async move { self.post(&message).await })
    }
}
