//! Implements Lambda's runtime API, from which a function gets work and to which it sends answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

#[derive(Debug)]
pub enum FunctionMessage {
    /// The function waits for work: Lambda freezes it here.
    Waits(Instant),
    Answers(Instant, Bytes),
    Fails(String),
}

pub struct RuntimeApi {
    address: SocketAddr,
    work: mpsc::UnboundedSender<Work>,
    messages: mpsc::UnboundedReceiver<FunctionMessage>,
}

struct Work {
    id: String,
    event: Value,
    deadline: SystemTime,
}

#[derive(Clone)]
struct Shared {
    work: Arc<Mutex<mpsc::UnboundedReceiver<Work>>>,
    messages: mpsc::UnboundedSender<FunctionMessage>,
}

impl RuntimeApi {
    pub async fn start() -> Self {
        let (work, tasks) = mpsc::unbounded_channel();
        let (says, messages) = mpsc::unbounded_channel();
        let shared = Shared {
            work: Arc::new(Mutex::new(tasks)),
            messages: says,
        };
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(error))
            .with_state(shared);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            work,
            messages,
        }
    }

    /// Returns the value of `AWS_LAMBDA_RUNTIME_API`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Gives an event to the function that waits, or to the next function that waits.
    #[expect(
        clippy::disallowed_methods,
        reason = "a deadline of Lambda is a time of the day"
    )]
    pub fn give(&self, id: &str, event: Value, within: Duration) {
        let work = Work {
            id: id.to_owned(),
            event,
            deadline: SystemTime::now() + within,
        };
        self.work.send(work).expect("the server runs");
    }

    /// Returns the next message of the function. None after `patience` without one.
    pub async fn next_message(&mut self, patience: Duration) -> Option<FunctionMessage> {
        tokio::time::timeout(patience, self.messages.recv())
            .await
            .ok()
            .flatten()
    }
}

async fn next(State(shared): State<Shared>) -> Response {
    let _ = shared.messages.send(FunctionMessage::Waits(Instant::now()));
    let Some(work) = shared.work.lock().await.recv().await else {
        return StatusCode::GONE.into_response();
    };
    let deadline = work.deadline.duration_since(SystemTime::UNIX_EPOCH);
    let deadline = deadline.unwrap_or_default().as_millis().to_string();
    let arn = "arn:aws:lambda:us-east-1:000000000000:function:tests";
    let headers = [
        ("lambda-runtime-aws-request-id", work.id.as_str()),
        ("lambda-runtime-deadline-ms", deadline.as_str()),
        ("lambda-runtime-invoked-function-arn", arn),
    ];
    (headers, work.event.to_string()).into_response()
}

async fn response(State(shared): State<Shared>, Path(_id): Path<String>, body: Bytes) -> StatusCode {
    let _ = shared
        .messages
        .send(FunctionMessage::Answers(Instant::now(), body));
    StatusCode::ACCEPTED
}

async fn error(State(shared): State<Shared>, body: String) -> StatusCode {
    let _ = shared.messages.send(FunctionMessage::Fails(body));
    StatusCode::ACCEPTED
}
