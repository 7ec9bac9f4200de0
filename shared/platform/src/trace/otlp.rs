//! Builds the messages of OTLP: spans, log records, and the requests that export them.

use opentelemetry_proto::tonic::common::v1::any_value::Value as ProtoValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, LogsData, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message as _;

use super::context::TraceContext;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Text(&'a str),
    Bool(bool),
    Integer(i64),
    Double(f64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u16> for Value<'_> {
    fn from(value: u16) -> Self {
        Self::Integer(value.into())
    }
}

impl From<usize> for Value<'_> {
    fn from(value: usize) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Internal,
    Server,
    Client,
    Consumer,
}

impl From<Kind> for SpanKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Internal => Self::Internal,
            Kind::Server => Self::Server,
            Kind::Client => Self::Client,
            Kind::Consumer => Self::Consumer,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub fn push<'a>(&mut self, key: &str, value: impl Into<Value<'a>>) {
        self.0.push(KeyValue {
            key: key.to_owned(),
            value: Some(value.into().into()),
            ..KeyValue::default()
        });
    }

    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }
}

impl From<Value<'_>> for AnyValue {
    fn from(value: Value<'_>) -> Self {
        let value = match value {
            Value::Text(text) => ProtoValue::StringValue(text.to_owned()),
            Value::Bool(value) => ProtoValue::BoolValue(value),
            Value::Integer(value) => ProtoValue::IntValue(value),
            Value::Double(value) => ProtoValue::DoubleValue(value),
        };
        Self { value: Some(value) }
    }
}

pub(super) struct SpanFields<'a> {
    pub context: &'a TraceContext,
    pub parent: Option<[u8; 8]>,
    pub name: String,
    pub kind: Kind,
    pub started_ns: u64,
    pub ended_ns: u64,
    pub attributes: Attributes,
    pub is_error: bool,
}

pub(super) fn span(fields: SpanFields<'_>) -> Span {
    Span {
        trace_id: fields.context.trace_id.to_vec(),
        span_id: fields.context.span_id.to_vec(),
        trace_state: fields.context.state.as_deref().unwrap_or_default().to_owned(),
        parent_span_id: fields.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        name: fields.name,
        kind: SpanKind::from(fields.kind).into(),
        start_time_unix_nano: fields.started_ns,
        end_time_unix_nano: fields.ended_ns.max(fields.started_ns),
        attributes: fields.attributes.0,
        status: fields.is_error.then(|| Status {
            code: StatusCode::Error.into(),
            ..Status::default()
        }),
        flags: u32::from(fields.context.is_sampled),
        ..Span::default()
    }
}

pub(super) struct LogFields<'a> {
    pub time_ns: u64,
    /// Number that OTLP gives the level.
    pub severity: i32,
    pub severity_text: &'a str,
    pub message: &'a str,
    pub attributes: Attributes,
    pub context: Option<&'a TraceContext>,
}

pub(super) fn log(fields: LogFields<'_>) -> LogRecord {
    let context = fields.context;
    LogRecord {
        time_unix_nano: fields.time_ns,
        observed_time_unix_nano: fields.time_ns,
        severity_number: fields.severity,
        severity_text: fields.severity_text.to_owned(),
        body: Some(Value::Text(fields.message).into()),
        attributes: fields.attributes.0,
        flags: context.map_or(0, |context| u32::from(context.is_sampled)),
        trace_id: context
            .map(|context| context.trace_id.to_vec())
            .unwrap_or_default(),
        span_id: context
            .map(|context| context.span_id.to_vec())
            .unwrap_or_default(),
        ..LogRecord::default()
    }
}

pub(super) struct Source {
    resource: Resource,
    scope: InstrumentationScope,
}

impl Source {
    pub(super) fn new(attributes: &[(String, String)], version: &str) -> Self {
        let mut resource = Attributes::default();
        for (key, value) in attributes {
            resource.push(key, value);
        }
        Self {
            resource: Resource {
                attributes: resource.0,
                ..Resource::default()
            },
            scope: InstrumentationScope {
                name: "millrace".to_owned(),
                version: version.to_owned(),
                ..InstrumentationScope::default()
            },
        }
    }
}

/// Returns the body of the request that exports spans.
pub(super) fn trace_request(source: &Source, spans: &[Span]) -> Vec<u8> {
    let of_scope = ScopeSpans {
        scope: Some(source.scope.clone()),
        spans: spans.to_vec(),
        ..ScopeSpans::default()
    };
    let of_resource = ResourceSpans {
        resource: Some(source.resource.clone()),
        scope_spans: vec![of_scope],
        ..ResourceSpans::default()
    };
    TracesData {
        resource_spans: vec![of_resource],
    }
    .encode_to_vec()
}

/// Returns the body of the request that exports log records.
pub(super) fn log_request(source: &Source, records: &[LogRecord]) -> Vec<u8> {
    let of_scope = ScopeLogs {
        scope: Some(source.scope.clone()),
        log_records: records.to_vec(),
        ..ScopeLogs::default()
    };
    let of_resource = ResourceLogs {
        resource: Some(source.resource.clone()),
        scope_logs: vec![of_scope],
        ..ResourceLogs::default()
    };
    LogsData {
        resource_logs: vec![of_resource],
    }
    .encode_to_vec()
}
