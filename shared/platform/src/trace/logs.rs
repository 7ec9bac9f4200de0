//! Exports log events as OTLP log records, with the position of their span.

use std::fmt::Debug;

use tracing::field::{Field, Visit};
use tracing::span::{self, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::TRACER;
use super::exporter::is_exporter;
use super::otlp::{self, Attributes, LogFields, Value};
use crate::clock::Clock;

/// Layer of the log. It must be behind the same filter as the lines on standard error, which holds back what
/// libraries log about whole requests.
pub(crate) struct OtlpLogs;

/// Fields of a span of the log; they are attributes of each record within it.
struct SpanFields(Attributes);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OtlpLogs {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields.attributes));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(SpanFields(known)) = span.extensions_mut().get_mut()
        {
            known.append(fields.attributes);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(tracer) = TRACER.get().filter(|_| !is_exporter()) else {
            return;
        };
        let mut fields = Fields::default();
        event.record(&mut fields);
        fields
            .attributes
            .push("code.namespace", event.metadata().target());
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(SpanFields(known)) = span.extensions().get() {
                fields.attributes.append(known.clone());
            }
        }
        let level = *event.metadata().level();
        let current = super::current();
        tracer.exporter.add(otlp::log(LogFields {
            time_ns: Clock::system_ns(),
            severity: severity(level),
            severity_text: level.as_str(),
            message: &fields.message,
            attributes: fields.attributes,
            context: current.as_ref(),
        }));
    }
}

/// Returns the number that OTLP gives a level.
fn severity(level: Level) -> i32 {
    match level {
        Level::TRACE => 1,
        Level::DEBUG => 5,
        Level::INFO => 9,
        Level::WARN => 13,
        Level::ERROR => 17,
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    attributes: Attributes,
}

impl Fields {
    fn push(&mut self, field: &Field, value: Value<'_>) {
        match (field.name(), value) {
            ("message", Value::Text(text)) => text.clone_into(&mut self.message),
            (name, value) => self.attributes.push(name, value),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, Value::Double(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, Value::Text(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.push(field, Value::Text(&format!("{value:?}")));
    }
}
