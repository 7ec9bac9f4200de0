//! Encodes spans and log records as OTLP in protobuf.
//!
//! Each is encoded once, when it ends, and a request is their concatenation: in protobuf, elements of a list
//! are fields that follow each other. So what waits for the export has an exact size, and the thread that
//! exports does nearly nothing. Field numbers are those of opentelemetry-proto 1.x, whose fields never change.

use super::context::TraceContext;

/// Value of an attribute.
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

/// Role of a span, with its number in OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Consumer = 5,
}

/// Status of a span that failed, in OTLP.
const ERROR: u64 = 2;

pub(super) struct SpanFields<'a> {
    pub context: &'a TraceContext,
    pub parent: Option<[u8; 8]>,
    pub name: &'a str,
    pub kind: Kind,
    pub started_ns: u64,
    pub ended_ns: u64,
    /// Encoded attributes.
    pub attributes: &'a Attributes,
    pub is_error: bool,
}

/// Encoded attributes, each a field `attributes` of a span.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Number of the field in a span; log records have another.
    const FIELD: u32 = 9;

    pub fn push<'a>(&mut self, key: &str, value: impl Into<Value<'a>>) {
        key_value(&mut self.0, Self::FIELD, key, value.into());
    }
}

/// Adds a span to the spans of a request.
pub(super) fn span(into: &mut Vec<u8>, span: &SpanFields<'_>) {
    let mut body = Vec::with_capacity(160 + span.attributes.0.len());
    bytes(&mut body, 1, &span.context.trace_id);
    bytes(&mut body, 2, &span.context.span_id);
    if let Some(state) = &span.context.state {
        bytes(&mut body, 3, state.as_bytes());
    }
    if let Some(parent) = &span.parent {
        bytes(&mut body, 4, parent);
    }
    bytes(&mut body, 5, span.name.as_bytes());
    number(&mut body, 6, span.kind as u64);
    fixed64(&mut body, 7, span.started_ns);
    fixed64(&mut body, 8, span.ended_ns.max(span.started_ns));
    body.extend_from_slice(&span.attributes.0);
    if span.is_error {
        let mut status = Vec::with_capacity(2);
        number(&mut status, 3, ERROR);
        bytes(&mut body, 15, &status);
    }
    fixed32(&mut body, 16, u32::from(span.context.is_sampled));
    bytes(into, 2, &body);
}

pub(super) struct LogFields<'a> {
    pub time_ns: u64,
    pub severity: u64,
    pub severity_text: &'a str,
    pub message: &'a str,
    /// Encoded by [`log_attribute`].
    pub attributes: &'a [&'a [u8]],
    pub context: Option<&'a TraceContext>,
}

/// Adds an attribute of a log record.
pub(super) fn log_attribute(into: &mut Vec<u8>, key: &str, value: Value<'_>) {
    key_value(into, 6, key, value);
}

/// Adds a log record to the log records of a request.
pub(super) fn log(into: &mut Vec<u8>, log: &LogFields<'_>) {
    let mut body = Vec::with_capacity(192 + log.message.len());
    fixed64(&mut body, 1, log.time_ns);
    number(&mut body, 2, log.severity);
    bytes(&mut body, 3, log.severity_text.as_bytes());
    any_value(&mut body, 5, Value::Text(log.message));
    for attributes in log.attributes {
        body.extend_from_slice(attributes);
    }
    if let Some(context) = log.context {
        fixed32(&mut body, 8, u32::from(context.is_sampled));
        bytes(&mut body, 9, &context.trace_id);
        bytes(&mut body, 10, &context.span_id);
    }
    fixed64(&mut body, 11, log.time_ns);
    bytes(into, 2, &body);
}

/// Returns the request that exports spans or log records: both have the same shape.
pub(super) fn request(resource: &Resource, items: &[u8]) -> Vec<u8> {
    let scope_size = resource.scope.len() + items.len();
    let mut of_resource = Vec::with_capacity(resource.attributes.len() + scope_size + 16);
    of_resource.extend_from_slice(&resource.attributes);
    tag(&mut of_resource, 2, 2);
    varint(&mut of_resource, scope_size as u64);
    of_resource.extend_from_slice(&resource.scope);
    of_resource.extend_from_slice(items);
    let mut request = Vec::with_capacity(of_resource.len() + 8);
    bytes(&mut request, 1, &of_resource);
    request
}

/// Encoded description of this process.
pub(super) struct Resource {
    attributes: Vec<u8>,
    scope: Vec<u8>,
}

impl Resource {
    pub(super) fn new(attributes: &[(String, String)], version: &str) -> Self {
        let mut resource = Vec::new();
        for (key, value) in attributes {
            key_value(&mut resource, 1, key, Value::Text(value));
        }
        let mut name = Vec::new();
        bytes(&mut name, 1, b"millrace");
        bytes(&mut name, 2, version.as_bytes());
        let (mut attributes, mut scope) = (Vec::new(), Vec::new());
        bytes(&mut attributes, 1, &resource);
        bytes(&mut scope, 1, &name);
        Self { attributes, scope }
    }
}

fn key_value(into: &mut Vec<u8>, field: u32, key: &str, value: Value<'_>) {
    let mut pair = Vec::with_capacity(key.len() + 24);
    bytes(&mut pair, 1, key.as_bytes());
    any_value(&mut pair, 2, value);
    bytes(into, field, &pair);
}

fn any_value(into: &mut Vec<u8>, field: u32, value: Value<'_>) {
    let text_size = if let Value::Text(text) = value {
        text.len()
    } else {
        0
    };
    let mut any = Vec::with_capacity(text_size + 12);
    match value {
        Value::Text(text) => bytes(&mut any, 1, text.as_bytes()),
        Value::Bool(value) => number(&mut any, 2, u64::from(value)),
        Value::Integer(value) => number(&mut any, 3, value.cast_unsigned()),
        Value::Double(value) => fixed64(&mut any, 4, value.to_bits()),
    }
    bytes(into, field, &any);
}

fn tag(into: &mut Vec<u8>, field: u32, wire: u32) {
    varint(into, u64::from(field << 3 | wire));
}

fn number(into: &mut Vec<u8>, field: u32, value: u64) {
    tag(into, field, 0);
    varint(into, value);
}

fn fixed64(into: &mut Vec<u8>, field: u32, value: u64) {
    tag(into, field, 1);
    into.extend_from_slice(&value.to_le_bytes());
}

fn fixed32(into: &mut Vec<u8>, field: u32, value: u32) {
    tag(into, field, 5);
    into.extend_from_slice(&value.to_le_bytes());
}

fn bytes(into: &mut Vec<u8>, field: u32, value: &[u8]) {
    tag(into, field, 2);
    varint(into, value.len() as u64);
    into.extend_from_slice(value);
}

fn varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    into.push(value.to_le_bytes()[0]);
}
