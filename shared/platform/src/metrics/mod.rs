//! Counts what happens, for one of two exits: CloudWatch, as log lines in the embedded metric format, or
//! Prometheus, as a text that a server reads.
//!
//! Each metric exists once: a function here records it, and `definitions` has its names. A function of the
//! cloud has the namespace of its metrics in the environment, and writes them before it answers, because
//! Lambda stops it afterwards. A server calls [`init_prometheus`]. Without either nothing is recorded.

mod definitions;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Label, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_cloudwatch_embedded::{Builder, Collector};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::Mutex;

use crate::config::{AwsEnvironment, ConfigError, Environment, variables};
use definitions::{ALL, Kind, Metric};

/// Time between two passes that move recorded durations into their distributions.
const UPKEEP: Duration = Duration::from_secs(5);

static EXIT: OnceLock<Exit> = OnceLock::new();
static PROCESS_CPU_SECONDS: Mutex<Option<f64>> = Mutex::new(None);

enum Exit {
    CloudWatch(&'static Collector),
    Prometheus(PrometheusHandle),
}

/// Records metrics for the namespace `MILLRACE_METRICS_NAMESPACE`, if set, and counts the cold start of the
/// function.
pub fn init(environment: &Environment, machine: &AwsEnvironment) -> Result<(), ConfigError> {
    let Some(namespace) = environment.optional(variables::METRICS_NAMESPACE) else {
        return Ok(());
    };
    let collector = Builder::new().cloudwatch_namespace(namespace.to_owned()).init();
    let collector = collector.map_err(unusable)?;
    let _ = EXIT.set(Exit::CloudWatch(collector));
    for metric in ALL {
        if let Some((name, unit)) = metric.cloudwatch {
            describe(metric, name, unit, "");
        }
    }
    describe_counter!(definitions::INGEST_RATE_LIMITED, Unit::Count, "");
    if let Some(function) = &machine.function_name {
        count(&definitions::COLD_STARTS, 1, || vec![label("function", function)]);
    }
    Ok(())
}

/// Records metrics for [`render`], from now on.
pub fn init_prometheus() -> Result<(), ConfigError> {
    let mut builder = PrometheusBuilder::new();
    for metric in ALL {
        if let Kind::Histogram(bounds) = metric.kind {
            let name = Matcher::Full(metric.prometheus.to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).map_err(unusable)?;
        }
    }
    let handle = builder.install_recorder().map_err(unusable)?;
    let upkept = handle.clone();
    if EXIT.set(Exit::Prometheus(handle)).is_err() {
        return Err(unusable("they have another exit"));
    }
    for metric in ALL {
        describe(metric, metric.prometheus, Unit::Count, metric.help);
    }
    set(&definitions::BUILD_INFO, 1.0, || {
        vec![label("version", crate::VERSION)]
    });
    // Otherwise durations take memory until the next reading.
    let upkeep = std::thread::Builder::new().name("metrics".to_owned());
    let upkeep = upkeep.spawn(move || {
        loop {
            std::thread::sleep(UPKEEP);
            upkept.run_upkeep();
        }
    });
    upkeep.map(drop).map_err(unusable)
}

fn unusable(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("Metrics cannot be kept: {error}."))
}

fn describe(metric: &Metric, name: &'static str, unit: Unit, help: &'static str) {
    match metric.kind {
        Kind::Counter => describe_counter!(name, unit, help),
        Kind::Gauge => describe_gauge!(name, unit, help),
        Kind::Histogram(_) => describe_histogram!(name, unit, help),
    }
}

/// Returns the metrics in the text format of Prometheus; None without [`init_prometheus`].
pub fn render() -> Option<String> {
    let Some(Exit::Prometheus(handle)) = EXIT.get() else {
        return None;
    };
    let mut text = handle.render();
    // A counter of the recorder has no fractions.
    if let Some(seconds) = *PROCESS_CPU_SECONDS.lock() {
        let name = "process_cpu_seconds_total";
        let _ = write!(
            text,
            "# HELP {name} Processor time of the process.\n# TYPE {name} counter\n{name} {seconds}\n"
        );
    }
    Some(text)
}

/// Writes the metrics of CloudWatch since the last flush to standard output.
pub fn flush() {
    let Some(Exit::CloudWatch(collector)) = EXIT.get() else {
        return;
    };
    let mut lines = Vec::new();
    let written = collector
        .flush(&mut lines)
        .and_then(|()| io::stdout().lock().write_all(&lines));
    if let Err(cause) = written {
        tracing::warn!(%cause, "metrics not written");
    }
}

/// Returns the name of a metric at the exit; None where it is not recorded.
fn name_of(metric: &Metric) -> Option<&'static str> {
    match EXIT.get()? {
        Exit::CloudWatch(_) => metric.cloudwatch.map(|(name, _)| name),
        Exit::Prometheus(_) => Some(metric.prometheus),
    }
}

fn label(key: &'static str, value: &str) -> Label {
    Label::new(key, value.to_owned())
}

fn fixed(key: &'static str, value: &'static str) -> Label {
    Label::from_static_parts(key, value)
}

fn count(metric: &Metric, by: u64, labels: impl FnOnce() -> Vec<Label>) {
    if let Some(name) = name_of(metric) {
        counter!(name, labels()).increment(by);
    }
}

fn set(metric: &Metric, value: f64, labels: impl FnOnce() -> Vec<Label>) {
    if let Some(name) = name_of(metric) {
        gauge!(name, labels()).set(value);
    }
}

/// Records a duration in the unit of the exit.
fn took(metric: &Metric, took: Duration, labels: impl FnOnce() -> Vec<Label>) {
    let Some(name) = name_of(metric) else {
        return;
    };
    let unit = match (EXIT.get(), &metric.cloudwatch) {
        (Some(Exit::CloudWatch(_)), Some((_, Unit::Milliseconds))) => 1e3,
        _ => 1.0,
    };
    histogram!(name, labels()).record(took.as_secs_f64() * unit);
}

/// Counts an attempt of a delivery: `delivered`, `retrying`, `failed`, or `skipped` if its subscription is
/// disabled or deleted.
pub fn delivery_attempted(outcome: &'static str) {
    count(&definitions::DELIVERIES, 1, || vec![fixed("outcome", outcome)]);
}

/// Records how many due `runs`, `events` or `logs` the sweeper found.
pub fn due(kind: &'static str, count: usize) {
    set(&definitions::DUE_BACKLOG, count as f64, || {
        vec![fixed("kind", kind)]
    });
}

/// Records the time for handling an event: reading it, matching it and starting its deliveries.
pub fn event_matched(duration: Duration) {
    took(&definitions::MATCH_TIME, duration, Vec::new);
}

/// Counts the subscriptions that an event matched.
pub fn event_matches(matches: usize) {
    count(&definitions::EVENT_MATCHES, matches as u64, Vec::new);
}

/// Counts an event that was stored.
pub fn event_accepted(category: &'static str) {
    count(&definitions::EVENTS_ACCEPTED, 1, || {
        vec![fixed("category", category)]
    });
}

/// Records the time of a statement, including the fetch of its files.
pub fn query_done(duration: Duration) {
    took(&definitions::QUERY_TIME, duration, Vec::new);
}

pub fn turn_failed() {
    count(&definitions::TURN_FAILURES, 1, Vec::new);
}

/// Counts an audit record that neither the table nor the retry queue accepted.
pub fn audit_record_lost() {
    count(&definitions::AUDIT_RECORDS_LOST, 1, Vec::new);
}

/// Records a pass over a log: the archived records, the files written, and the age of the oldest record that
/// was not archived before the pass, in seconds.
pub fn log_archived(records: u64, files: u64, lag_s: u64) {
    count(&definitions::LOG_RECORDS_ARCHIVED, records, Vec::new);
    count(&definitions::LOG_FILES_WRITTEN, files, Vec::new);
    took(&definitions::ARCHIVE_LAG, Duration::from_secs(lag_s), Vec::new);
}

/// Counts a request that an ingest channel refused, for one of the reasons that its owner sees.
pub fn ingest_refused(reason: &'static str) {
    if reason == "rate_limited"
        && let Some(Exit::CloudWatch(_)) = EXIT.get()
    {
        counter!(definitions::INGEST_RATE_LIMITED).increment(1);
    }
    count(&definitions::INGEST_REFUSED, 1, || vec![fixed("reason", reason)]);
}

/// Records a request. `route` is the pattern that it matched, if any.
pub fn http_request(method: &'static str, route: Option<&str>, status: u16, duration: Duration) {
    if !matches!(EXIT.get(), Some(Exit::Prometheus(_))) {
        return;
    }
    let route = route.unwrap_or("none");
    count(&definitions::HTTP_REQUESTS, 1, || {
        vec![
            fixed("method", method),
            label("route", route),
            label("status", &status.to_string()),
        ]
    });
    took(&definitions::HTTP_TIME, duration, || {
        vec![fixed("method", method), label("route", route)]
    });
}

pub fn run_started(workflow_type: &str) {
    count(&definitions::RUNS_STARTED, 1, || {
        vec![label("workflow_type", workflow_type)]
    });
}

pub fn run_closed(workflow_type: &str, status: &'static str) {
    count(&definitions::RUNS_CLOSED, 1, || {
        vec![label("workflow_type", workflow_type), fixed("status", status)]
    });
}

/// Records an attempt of an activity: `completed`, `failed` or `timed_out`.
pub fn activity_attempted(activity: &str, outcome: &'static str, duration: Duration) {
    count(&definitions::ATTEMPTS, 1, || {
        vec![label("activity", activity), fixed("outcome", outcome)]
    });
    took(&definitions::ATTEMPT_TIME, duration, || {
        vec![label("activity", activity)]
    });
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueDepth {
    pub ready: usize,
    /// To be delivered later.
    pub delayed: usize,
    pub in_flight: usize,
    /// Set aside.
    pub dead: usize,
    /// Time for which the oldest ready message has waited.
    pub oldest: Duration,
}

pub fn queue_depth(queue: &'static str, depth: &QueueDepth) {
    for (state, messages) in [
        ("ready", depth.ready),
        ("delayed", depth.delayed),
        ("in_flight", depth.in_flight),
        ("dead", depth.dead),
    ] {
        set(&definitions::QUEUE_MESSAGES, messages as f64, || {
            vec![fixed("queue", queue), fixed("state", state)]
        });
    }
    set(&definitions::QUEUE_AGE, depth.oldest.as_secs_f64(), || {
        vec![fixed("queue", queue)]
    });
}

pub fn connections(open: usize) {
    set(&definitions::CONNECTIONS, open as f64, Vec::new);
}

/// What a process uses of its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    pub cpu_seconds: f64,
    pub resident_bytes: u64,
    pub virtual_bytes: u64,
    pub open_files: u64,
    /// None without a limit.
    pub max_files: Option<u64>,
    pub threads: u64,
    /// Since the Unix epoch.
    pub started_at_seconds: f64,
}

pub fn process_usage(usage: &ProcessUsage) {
    *PROCESS_CPU_SECONDS.lock() = Some(usage.cpu_seconds);
    for (metric, value) in [
        (definitions::RESIDENT, usage.resident_bytes as f64),
        (definitions::VIRTUAL, usage.virtual_bytes as f64),
        (definitions::OPEN_FILES, usage.open_files as f64),
        (
            definitions::MAX_FILES,
            usage.max_files.map_or(f64::INFINITY, |files| files as f64),
        ),
        (definitions::THREADS, usage.threads as f64),
        (definitions::STARTED, usage.started_at_seconds),
    ] {
        set(&metric, value, Vec::new);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_was_counted_is_written_once_in_the_embedded_metric_format() {
        let variables = [(
            variables::METRICS_NAMESPACE.name.to_owned(),
            "Millrace/dev".to_owned(),
        )];
        let environment = Environment::from_variables(variables).unwrap();
        init(&environment, &AwsEnvironment::default()).unwrap();
        delivery_attempted("delivered");
        delivery_attempted("delivered");
        query_done(Duration::from_millis(12));
        log_archived(3, 1, 60);
        ingest_refused("rate_limited");
        // Further metrics would cost money.
        ingest_refused("token_wrong");
        http_request("GET", Some("/api/v1/prompts"), 200, Duration::ZERO);
        run_started("Steps");
        run_closed("Steps", "COMPLETED");
        activity_attempted("step", "completed", Duration::ZERO);
        event_accepted("external");
        event_matches(2);
        let mut lines = Vec::new();
        let Some(Exit::CloudWatch(collector)) = EXIT.get() else {
            panic!("it has the exit CloudWatch");
        };
        collector.flush(&mut lines).unwrap();
        let lines: Vec<Value> = serde_json::Deserializer::from_slice(&lines)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap();
        let line = |name: &str| lines.iter().find(|line| line.get(name).is_some()).unwrap();
        let deliveries = line("Deliveries");
        assert_eq!(deliveries["Deliveries"], 2);
        assert_eq!(deliveries["outcome"], "delivered");
        let told = &deliveries["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(told["Namespace"], "Millrace/dev");
        assert_eq!(told["Dimensions"], serde_json::json!([["outcome"]]));
        let told = &line("QueryTime")["_aws"]["CloudWatchMetrics"][0];
        assert!(told["Metrics"].to_string().contains("Milliseconds"));
        let mut names: Vec<_> = lines
            .iter()
            .flat_map(|line| {
                line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
                    .as_array()
                    .unwrap()
            })
            .map(|metric| metric["Name"].as_str().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "ArchiveLag",
                "Deliveries",
                "IngestRateLimited",
                "LogFilesWritten",
                "LogRecordsArchived",
                "QueryTime"
            ]
        );
        assert_eq!(render(), None);
        let mut again = Vec::new();
        collector.flush(&mut again).unwrap();
        assert!(again.is_empty());
    }
}
