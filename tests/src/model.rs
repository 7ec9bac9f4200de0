//! Serves a stand-in for a language model: an OpenAI-compatible chat endpoint whose answers the test sets.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures::StreamExt as _;
use futures::stream;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::runs::{PAUSE, WITHIN};

const MODEL: &str = "stand-in";

#[derive(Clone, Debug)]
pub enum Reply {
    /// A text; structured output is a JSON text.
    Text(String),
    /// Calls of tools: name and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// An error with this status.
    Status(u16),
    /// Status 429 with a `Retry-After` in seconds.
    Throttled(u64),
    /// The connection stays open without an answer.
    Hangs,
    /// A stream: a text at once, and the rest when the test releases it.
    Streams(&'static str, Arc<Notify>, &'static str),
    /// This answer, when the test releases it.
    Held(Arc<Notify>, Box<Reply>),
}

impl Reply {
    pub fn output(value: &Value) -> Self {
        Self::Text(value.to_string())
    }

    /// Returns a verdict on a semantic condition.
    pub fn verdict(matched: bool, rationale: &str) -> Self {
        Self::output(&json!({ "matched": matched, "rationale": rationale }))
    }
}

type Behaviour = Arc<dyn Fn(&ModelRequest) -> Reply + Send + Sync>;

struct Shared {
    behaviour: Behaviour,
    requests: Vec<ModelRequest>,
}

/// Request that the model received.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub body: Value,
    /// Number of the request, from 1.
    pub number: usize,
}

impl ModelRequest {
    pub fn system(&self) -> String {
        self.texts("system")
    }

    /// Returns the texts of the user, joined.
    pub fn user(&self) -> String {
        self.texts("user")
    }

    /// Returns the texts of a role, joined.
    pub fn texts(&self, role: &str) -> String {
        let messages = self.body["messages"].as_array();
        let of_role = messages
            .into_iter()
            .flatten()
            .filter(|message| message["role"] == role);
        let texts: Vec<_> = of_role
            .filter_map(|message| message["content"].as_str())
            .collect();
        texts.join("\n")
    }

    /// Returns the names of the tools that the model may call.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array();
        let names = tools.into_iter().flatten().map(|tool| &tool["function"]["name"]);
        names
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect()
    }
}

#[derive(Clone)]
pub struct ModelServer {
    /// Value of `MILLRACE_MODEL_BASE_URL`.
    pub base_url: String,
    shared: Arc<Mutex<Shared>>,
}

impl ModelServer {
    /// Starts a model on a free port. It answers with the status 500 until a test sets its answers.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let behaviour: Behaviour = Arc::new(|_| Reply::Status(500));
        let server = Self {
            base_url: format!("http://127.0.0.1:{port}/v1"),
            shared: Arc::new(Mutex::new(Shared {
                behaviour,
                requests: Vec::new(),
            })),
        };
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(server.clone());
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        server
    }

    /// Returns the variables that make a service use this model.
    pub fn variables(&self) -> [(&'static str, &str); 3] {
        [
            ("MILLRACE_MODEL_PROVIDER", "openai"),
            ("MILLRACE_MODEL", MODEL),
            ("MILLRACE_MODEL_BASE_URL", &self.base_url),
        ]
    }

    /// Sets the answers from now on.
    pub fn answers(&self, behaviour: impl Fn(&ModelRequest) -> Reply + Send + Sync + 'static) {
        self.shared().behaviour = Arc::new(behaviour);
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared().requests.clone()
    }

    /// Waits until there are `count` requests. Returns them.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<ModelRequest> {
        let deadline = Instant::now() + WITHIN;
        loop {
            let requests = self.requests();
            if requests.len() >= count {
                return requests;
            }
            assert!(
                Instant::now() < deadline,
                "the model was asked {} times",
                requests.len()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }
}

async fn answer(State(server): State<ModelServer>, body: Bytes) -> Response {
    let (behaviour, request) = {
        let mut state = server.shared();
        let request = ModelRequest {
            body: serde_json::from_slice(&body).unwrap_or_default(),
            number: state.requests.len() + 1,
        };
        state.requests.push(request.clone());
        (Arc::clone(&state.behaviour), request)
    };
    let mut reply = behaviour(&request);
    while let Reply::Held(gate, then) = reply {
        gate.notified().await;
        reply = *then;
    }
    match reply {
        Reply::Text(text) => whole(&json!({ "role": "assistant", "content": text }), "stop"),
        Reply::Calls(calls) => {
            let calls: Vec<_> = calls
                .iter()
                .enumerate()
                .map(|(index, (name, arguments))| {
                    let function = json!({ "name": name, "arguments": arguments.to_string() });
                    json!({ "id": format!("call-{}-{index}", request.number), "type": "function", "function": function })
                })
                .collect();
            whole(
                &json!({ "role": "assistant", "content": null, "tool_calls": calls }),
                "tool_calls",
            )
        }
        Reply::Streams(begun, gate, rest) => streamed(begun, gate, rest),
        Reply::Status(status) => error(status, &[]),
        Reply::Throttled(seconds) => error(429, &[(header::RETRY_AFTER, seconds.to_string())]),
        Reply::Hangs | Reply::Held(..) => match std::future::pending::<Infallible>().await {},
    }
}

fn whole(message: &Value, reason: &str) -> Response {
    axum::Json(json!({
        "id": "c-1", "object": "chat.completion", "model": MODEL,
        "choices": [{ "index": 0, "finish_reason": reason, "message": message }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    }))
    .into_response()
}

fn streamed(begun: &'static str, gate: Arc<Notify>, rest: &'static str) -> Response {
    let event = |delta: Value, reason: Value| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        let chunk = json!({ "object": "chat.completion.chunk", "model": MODEL, "choices": choices });
        Ok::<_, Infallible>(format!("data: {chunk}\n\n"))
    };
    let first = event(json!({ "role": "assistant", "content": begun }), Value::Null);
    let end = [
        event(json!({ "content": rest }), Value::Null),
        event(json!({}), "stop".into()),
        Ok("data: [DONE]\n\n".to_owned()),
    ];
    let gate_stream = stream::once(async move { gate.notified().await });
    let rest = gate_stream.flat_map(move |()| stream::iter(end.clone()));
    let body = Body::from_stream(stream::iter([first]).chain(rest));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn error(status: u16, headers: &[(HeaderName, String)]) -> Response {
    let body = axum::Json(json!({ "error": { "message": "The stand-in fails.", "code": "stand_in" } }));
    let status = StatusCode::from_u16(status).expect("a status");
    let mut response = (status, body).into_response();
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, value.parse().expect("a header"));
    }
    response
}
