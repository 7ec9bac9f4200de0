//! Stands in for an OpenTelemetry collector: takes OTLP over HTTP, decodes it with the messages of
//! OpenTelemetry itself, and behaves as a test asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
pub use opentelemetry_proto::tonic::logs::v1::LogRecord;
pub use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message as _;
use tokio::net::TcpListener;

use crate::runs::{PAUSE, WITHIN};

/// What a collector does with a request.
#[derive(Clone, Copy, Debug, Default)]
pub enum Behaviour {
    #[default]
    Takes,
    Answers(StatusCode),
    /// Answers 200 with what is no protobuf.
    Garbage,
    /// Never answers.
    Hangs,
}

#[derive(Default)]
struct Shared {
    behaviour: Behaviour,
    requests: usize,
    bytes: Vec<u8>,
    headers: HeaderMap,
    resource: Vec<KeyValue>,
    spans: Vec<Span>,
    logs: Vec<LogRecord>,
}

#[derive(Clone)]
pub struct Collector {
    /// Such as `http://127.0.0.1:40000`.
    pub endpoint: String,
    shared: Arc<Mutex<Shared>>,
}

impl Collector {
    /// Starts a collector on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let collector = Self {
            endpoint: format!("http://127.0.0.1:{port}"),
            shared: Arc::default(),
        };
        let router = Router::new().fallback(take).with_state(collector.clone());
        tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        collector
    }

    pub fn behave(&self, behaviour: Behaviour) {
        self.shared.lock().behaviour = behaviour;
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> usize {
        self.shared.lock().requests
    }

    /// Returns the bodies so far, one after another.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.lock().bytes.clone()
    }

    /// Returns a header of the last request; empty where it is missing.
    pub fn header(&self, name: &str) -> String {
        let shared = self.shared.lock();
        let value = shared.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    /// Returns an attribute of the last sender; empty where it is missing.
    pub fn resource(&self, key: &str) -> String {
        attribute_of(&self.shared.lock().resource, key)
    }

    pub fn spans(&self) -> Vec<Span> {
        self.shared.lock().spans.clone()
    }

    pub fn logs(&self) -> Vec<LogRecord> {
        self.shared.lock().logs.clone()
    }

    /// Waits until the collector has `count` spans for which `is_wanted` is true, and returns them.
    pub async fn wait_for(&self, count: usize, is_wanted: impl Fn(&Span) -> bool) -> Vec<Span> {
        let deadline = Instant::now() + WITHIN;
        loop {
            let mut spans = self.spans();
            spans.retain(&is_wanted);
            if spans.len() >= count {
                return spans;
            }
            let names: Vec<_> = self.spans().into_iter().map(|span| span.name).collect();
            assert!(
                Instant::now() < deadline,
                "{} of {count} spans, of {names:?}",
                spans.len()
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for a number of spans with a name.
    pub async fn named(&self, count: usize, name: &str) -> Vec<Span> {
        self.wait_for(count, |span| span.name == name).await
    }

    /// Waits until two exports came without new spans: what was recorded has arrived.
    pub async fn settle(&self) {
        let mut before = usize::MAX;
        while self.spans().len() != before {
            before = self.spans().len();
            tokio::time::sleep(Duration::from_millis(2_500)).await;
        }
    }
}

async fn take(State(collector): State<Collector>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let behaviour = {
        let mut shared = collector.shared.lock();
        shared.requests += 1;
        shared.bytes.extend_from_slice(&body);
        shared.headers = headers;
        let behaviour = shared.behaviour;
        if matches!(behaviour, Behaviour::Takes) {
            decode(&mut shared, uri.path(), body);
        }
        behaviour
    };
    match behaviour {
        Behaviour::Takes => StatusCode::OK.into_response(),
        Behaviour::Answers(status) => status.into_response(),
        Behaviour::Garbage => "\u{1}garbage".into_response(),
        Behaviour::Hangs => std::future::pending().await,
    }
}

fn decode(shared: &mut Shared, path: &str, body: Bytes) {
    if path.ends_with("/v1/traces") {
        let request = ExportTraceServiceRequest::decode(body).expect("it is a request of traces");
        for of_resource in request.resource_spans {
            shared.resource = of_resource.resource.unwrap_or_default().attributes;
            for of_scope in of_resource.scope_spans {
                assert_eq!(of_scope.scope.unwrap_or_default().name, "millrace");
                shared.spans.extend(of_scope.spans);
            }
        }
    } else {
        assert!(path.ends_with("/v1/logs"), "{path}");
        let request = ExportLogsServiceRequest::decode(body).expect("it is a request of logs");
        for of_resource in request.resource_logs {
            shared.resource = of_resource.resource.unwrap_or_default().attributes;
            for of_scope in of_resource.scope_logs {
                shared.logs.extend(of_scope.log_records);
            }
        }
    }
}

/// Returns an attribute as text; empty where it is missing.
pub fn attribute_of(attributes: &[KeyValue], key: &str) -> String {
    let mut matching = attributes.iter().filter(|attribute| attribute.key == key);
    let text = matching.next().map(|attribute| text_of(attribute.value.as_ref()));
    assert!(matching.next().is_none(), "two attributes '{key}'");
    text.unwrap_or_default()
}

/// Returns a value as text.
pub fn text_of(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(value)) => value.to_string(),
        Some(Any::BoolValue(value)) => value.to_string(),
        Some(Any::DoubleValue(value)) => value.to_string(),
        other => format!("{other:?}"),
    }
}

/// Returns the header `traceparent` that names a span.
pub fn traceparent_of(span: &Span) -> String {
    format!(
        "00-{}-{}-01",
        hex::encode(&span.trace_id),
        hex::encode(&span.span_id)
    )
}
