//! Writes logs: one JSON object per line in the cloud, readable lines on a laptop.
//!
//! Both contain texts of callers. So every character that could end a line, or that a terminal interprets, is
//! escaped.

use std::io::{self, Write};

use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::config::{AwsEnvironment, ConfigError, Environment, variables};
use crate::metrics;
use crate::trace::{self, TraceContext, logs::OtlpLogs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    Json,
    /// Readable lines.
    Text,
}

/// Starts logging to standard error, at the level in `MILLRACE_LOG`, and starts metrics and traces.
pub fn init(environment: &Environment, format: Format, default_filter: &str) -> Result<(), ConfigError> {
    let filter = environment.optional(variables::LOG).unwrap_or(default_filter);
    let filter: Targets = filter.parse().map_err(|error| {
        ConfigError::new(format!(
            "The variable MILLRACE_LOG is not a log filter ({error}). Set it to `info`, for example."
        ))
    })?;
    let machine = AwsEnvironment::read();
    let exports_logs = trace::init(environment, &machine)?;
    let exported = exports_logs.then(|| OtlpLogs.with_filter(filter.clone().and(below_secrets())));
    let lines = fmt::layer()
        .with_writer(Escaping {
            inner: io::stderr,
            format,
        })
        .with_target(false)
        .with_ansi(false);
    let lines = match format {
        Format::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed(),
        Format::Text => lines.compact().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter.and(below_secrets())))
        .with(exported)
        .init();
    metrics::init(environment, &machine)
}

/// Writes metrics, and sends spans and log records, before Lambda freezes the function.
pub async fn flush() {
    metrics::flush();
    trace::flush().await;
}

/// At the level `trace` the SDK, its HTTP client and Lambda's runtime log whole requests and answers,
/// including tokens and records with secrets.
fn below_secrets() -> Targets {
    let targets = ["aws_", "h2", "hyper", "lambda_", "rustls"].map(|target| (target, LevelFilter::DEBUG));
    Targets::new()
        .with_default(LevelFilter::TRACE)
        .with_targets(targets)
        // It quotes answers of MCP servers, which may echo the secrets sent to them.
        .with_target("rmcp", LevelFilter::OFF)
}

/// Creates escaping writers.
struct Escaping<M> {
    inner: M,
    format: Format,
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Escaping<M> {
    type Writer = EscapingWriter<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        EscapingWriter {
            inner: self.inner.make_writer(),
            format: self.format,
        }
    }
}

/// Each write must be one whole event, including its line end.
struct EscapingWriter<W> {
    inner: W,
    format: Format,
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let mut line = escaped(&String::from_utf8_lossy(event));
        if let Some(context) = trace::current() {
            add_position(&mut line, self.format, &context);
        }
        self.inner.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Adds the ids of the current span to a line.
fn add_position(line: &mut String, format: Format, context: &TraceContext) {
    let (trace_id, span_id) = (hex::encode(context.trace_id), hex::encode(context.span_id));
    let (end, ids) = match format {
        Format::Json => (
            "}\n",
            format!(r#","trace_id":"{trace_id}","span_id":"{span_id}"}}"#),
        ),
        Format::Text => ("\n", format!(" trace_id={trace_id} span_id={span_id}")),
    };
    if let Some(kept) = line.strip_suffix(end).map(str::len) {
        line.truncate(kept);
        line.push_str(&ids);
        line.push('\n');
    }
}

/// Escapes an event into one line, with the escapes of JSON, which are valid in both formats.
fn escaped(event: &str) -> String {
    let line = event.strip_suffix('\n');
    let mut escaped = String::with_capacity(event.len());
    for c in line.unwrap_or(event).chars() {
        if is_obeyed(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    if line.is_some() {
        escaped.push('\n');
    }
    escaped
}

/// Control characters, other line ends, and marks that change the direction of text. All are below U+10000.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_the_ids_of_its_span() {
        let context = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None);
        let line = |line: &str, format| {
            let mut line = line.to_owned();
            add_position(&mut line, format, context.as_ref().unwrap());
            line
        };
        let json = line("{\"message\":\"a\"}\n", Format::Json);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&read["message"], &read["span_id"]),
            (&"a".into(), &"00f067aa0ba902b7".into())
        );
        assert_eq!(
            line("INFO a\n", Format::Text),
            "INFO a trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7\n"
        );
    }

    #[test]
    fn an_event_is_one_line_that_no_terminal_obeys() {
        assert_eq!(escaped("plain é 語\n"), "plain é 語\n");
        assert_eq!(
            escaped("a\nINFO forged\r\u{1b}[2J\u{9b}31m\u{2028}\u{202e}\0\u{7f}\n"),
            "a\\u000aINFO forged\\u000d\\u001b[2J\\u009b31m\\u2028\\u202e\\u0000\\u007f\n"
        );
        let json = escaped("{\"a\":\"\u{85}\u{2029}\"}\n");
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["a"], "\u{85}\u{2029}");
    }
}
