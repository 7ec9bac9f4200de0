//! Traces requests, runs, attempts of activities and deliveries, and exports the spans by OTLP.
//!
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set: then nothing is recorded, sent or stored. A [`Span`] ends
//! when its last clone is dropped. Code within a span finds its position with [`current`], so that it need
//! not be passed through functions that do not use it.
//!
//! Spans are made here, and not by the SDK of OpenTelemetry, whose messages they are. A run's span lasts
//! longer than a process: its id is derived from the run's, and it is written once, when the run ends, which
//! the SDK's tracers cannot do. Its processors block a thread at a flush, and it reads the environment, the
//! clock and random numbers by itself.

mod context;
mod exporter;
pub(crate) mod logs;
mod otlp;
mod sampler;
mod settings;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

pub use context::{TRACEPARENT, TRACESTATE, TraceContext, TraceLink};
pub use otlp::{Attributes, Kind, Value};

use crate::clock::{Clock, UtcTime};
use crate::config::{AwsEnvironment, ConfigError, Environment};
use exporter::Exporter;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use otlp::SpanFields;
use sampler::Sampler;
use settings::Settings;

static TRACER: OnceLock<Tracer> = OnceLock::new();

tokio::task_local! {
    static CURRENT: Option<Arc<Active>>;
}

struct Tracer {
    /// None where log records alone are exported.
    sampler: Option<Sampler>,
    exporter: Arc<Exporter>,
}

/// Returns the sampler and the exporter of spans; None while tracing is off.
fn tracer() -> Option<(&'static Sampler, &'static Exporter)> {
    let tracer = TRACER.get()?;
    Some((tracer.sampler.as_ref()?, &*tracer.exporter))
}

/// Starts the export if the environment names a collector. Returns whether log events are exported too.
pub(crate) fn init(environment: &Environment, machine: &AwsEnvironment) -> Result<bool, ConfigError> {
    let Some(settings) = Settings::from_environment(environment, machine)? else {
        return Ok(false);
    };
    let sampler = settings.traces.is_some().then_some(settings.sampler);
    let exporter = Exporter::start(settings, machine)?;
    let exports_logs = exporter.takes::<LogRecord>();
    let _ = TRACER.set(Tracer { sampler, exporter });
    Ok(exports_logs)
}

/// Whether positions in traces are passed on and stored.
pub fn is_on() -> bool {
    tracer().is_some()
}

/// Exports what waits, within 500 ms: Lambda freezes a function once it has answered.
pub async fn flush() {
    if let Some(tracer) = TRACER.get() {
        tracer.exporter.flush().await;
    }
}

/// Returns the position of the current span.
pub fn current() -> Option<TraceContext> {
    tracer()?;
    with_current(|active| active.context.clone())
}

fn with_current<T>(look: impl FnOnce(&Active) -> T) -> Option<T> {
    CURRENT
        .try_with(|current| current.as_deref().map(look))
        .ok()
        .flatten()
}

/// Sets an attribute of the current span.
pub fn set<'a>(key: &str, value: impl Into<Value<'a>>) {
    if is_on() {
        with_current(|active| active.set(key, value.into()));
    }
}

/// Marks the current span as failed. `reason` is of few values, such as a status or the kind of an error.
pub fn fail(reason: &str) {
    if is_on() {
        with_current(|active| active.fail(reason));
    }
}

/// Says that the current span is a call of another system.
pub fn is_call() {
    if is_on() {
        with_current(|active| {
            if let Some(recorded) = &active.recorded {
                recorded.lock().kind = Kind::Client;
            }
        });
    }
}

/// Returns the position of a run, which every process derives alike; None if tracing is off. `cause` is the
/// position that the run was started under.
pub fn of_run(run_id: &str, cause: Option<&TraceContext>) -> Option<TraceContext> {
    let (sampler, _) = tracer()?;
    let mut context = TraceContext::of_run(run_id, cause);
    let parent = cause.map(|cause| cause.is_sampled);
    context.is_sampled = sampler.takes(&context.trace_id, parent);
    Some(context)
}

/// Records the span of a run that has ended.
pub fn record_run(run_id: &str, cause: Option<&TraceContext>, run: impl FnOnce() -> RunSpan) {
    let Some(((_, exporter), context)) = tracer().zip(of_run(run_id, cause)) else {
        return;
    };
    if !context.is_sampled {
        return;
    }
    let run = run();
    let nanos = |time: UtcTime| u64::try_from(time.as_millis()).unwrap_or_default() * 1_000_000;
    exporter.add(otlp::span(SpanFields {
        context: &context,
        parent: cause.map(|cause| cause.span_id),
        name: run.name,
        kind: Kind::Internal,
        started_ns: nanos(run.started_at),
        ended_ns: nanos(run.ended_at),
        attributes: run.attributes,
        is_error: run.is_error,
    }));
}

/// Describes a run that has ended.
pub struct RunSpan {
    pub name: String,
    pub started_at: UtcTime,
    pub ended_at: UtcTime,
    pub attributes: Attributes,
    pub is_error: bool,
}

/// A piece of work. Nothing while tracing is off.
#[derive(Clone, Default)]
pub struct Span(Option<Arc<Active>>);

struct Active {
    context: TraceContext,
    parent: Option<[u8; 8]>,
    started_ns: u64,
    /// None for a trace that is not sampled.
    recorded: Option<Mutex<Recorded>>,
}

struct Recorded {
    name: Cow<'static, str>,
    kind: Kind,
    attributes: Attributes,
    is_error: bool,
}

impl Active {
    fn set(&self, key: &str, value: Value<'_>) {
        if let Some(recorded) = &self.recorded {
            recorded.lock().attributes.push(key, value);
        }
    }

    fn fail(&self, reason: &str) {
        if let Some(recorded) = &self.recorded {
            let mut recorded = recorded.lock();
            recorded.is_error = true;
            recorded.attributes.push("error.type", reason);
        }
    }
}

impl Span {
    /// Starts a span below the current one.
    pub fn start<N: Into<Cow<'static, str>>>(kind: Kind, name: impl FnOnce() -> N) -> Self {
        match tracer() {
            Some(_) => Self::start_below(current().as_ref(), kind, name),
            None => Self(None),
        }
    }

    /// Starts a span below a position that another process may have; a new trace without one. The name is of
    /// few values.
    pub fn start_below<N: Into<Cow<'static, str>>>(
        parent: Option<&TraceContext>,
        kind: Kind,
        name: impl FnOnce() -> N,
    ) -> Self {
        let Some((sampler, _)) = tracer() else {
            return Self(None);
        };
        let trace_id = parent.map_or_else(new_id, |parent| parent.trace_id);
        let is_sampled = sampler.takes(&trace_id, parent.map(|parent| parent.is_sampled));
        let recorded = is_sampled.then(|| {
            Mutex::new(Recorded {
                name: name().into(),
                kind,
                attributes: Attributes::default(),
                is_error: false,
            })
        });
        Self(Some(Arc::new(Active {
            context: TraceContext {
                trace_id,
                span_id: new_id(),
                is_sampled,
                state: parent.and_then(|parent| parent.state.clone()),
            },
            parent: parent.map(|parent| parent.span_id),
            started_ns: Clock::system_ns(),
            recorded,
        })))
    }

    /// Whether attributes of it have an effect.
    pub fn is_recorded(&self) -> bool {
        self.0.as_ref().is_some_and(|active| active.recorded.is_some())
    }

    pub fn set<'a>(&self, key: &str, value: impl Into<Value<'a>>) {
        if let Some(active) = &self.0 {
            active.set(key, value.into());
        }
    }

    /// Marks the span as failed. `reason` is of few values, such as a status or the kind of an error.
    pub fn fail(&self, reason: &str) {
        if let Some(active) = &self.0 {
            active.fail(reason);
        }
    }

    /// Runs work within the span.
    pub fn within<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self.0.clone(), work)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let (Some(recorded), Some((_, exporter))) = (self.recorded.take(), tracer()) else {
            return;
        };
        let recorded = recorded.into_inner();
        exporter.add(otlp::span(SpanFields {
            context: &self.context,
            parent: self.parent,
            name: recorded.name.into_owned(),
            kind: recorded.kind,
            started_ns: self.started_ns,
            ended_ns: Clock::system_ns(),
            attributes: recorded.attributes,
            is_error: recorded.is_error,
        }));
    }
}

/// Returns a random id that is not zero.
fn new_id<const N: usize>() -> [u8; N] {
    let mut id = [0; N];
    while id == [0; N] {
        rand::fill(&mut id[..]);
    }
    id
}
