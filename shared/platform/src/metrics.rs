//! Writes metrics for CloudWatch, as log lines in the embedded metric format, which CloudWatch turns into
//! metrics.
//!
//! All names and dimensions are defined here, because alarms and the dashboard of `template.yaml` read them.
//! Without a namespace, as in the local runner, nothing is recorded. A function writes its metrics before it
//! answers, because Lambda stops it afterwards.

use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_cloudwatch_embedded::{Builder, Collector};

use crate::config::{AwsEnvironment, ConfigError, Environment, variables};

static COLLECTOR: OnceLock<&'static Collector> = OnceLock::new();

/// Records metrics for the namespace `MILLRACE_METRICS_NAMESPACE`, if set, and counts the cold start of the
/// function.
pub fn init(environment: &Environment, machine: &AwsEnvironment) -> Result<(), ConfigError> {
    let Some(namespace) = environment.optional(variables::METRICS_NAMESPACE) else {
        return Ok(());
    };
    let collector = Builder::new().cloudwatch_namespace(namespace.to_owned()).init();
    let collector =
        collector.map_err(|error| ConfigError::new(format!("Metrics cannot be kept: {error}.")))?;
    let _ = COLLECTOR.set(collector);
    for name in [
        "Deliveries",
        "TurnFailures",
        "ColdStarts",
        "AuditRecordsLost",
        "IngestRateLimited",
        "LogRecordsArchived",
        "LogFilesWritten",
    ] {
        describe_counter!(name, Unit::Count, "");
    }
    for name in ["MatchTime", "QueryTime"] {
        describe_histogram!(name, Unit::Milliseconds, "");
    }
    describe_histogram!("ArchiveLag", Unit::Seconds, "");
    describe_gauge!("DueBacklog", Unit::Count, "");
    if let Some(function) = &machine.function_name {
        counter!("ColdStarts", "function" => function.clone()).increment(1);
    }
    Ok(())
}

/// Writes the metrics since the last flush to standard output.
pub fn flush() {
    let Some(collector) = COLLECTOR.get() else {
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

/// Counts an attempt of a delivery: `delivered`, `retrying`, `failed`, or `skipped` if its subscription is
/// disabled or deleted.
pub fn delivery_attempted(outcome: &'static str) {
    counter!("Deliveries", "outcome" => outcome).increment(1);
}

/// Records how many due `runs`, `events` or `logs` the sweeper found.
pub fn due(kind: &'static str, count: usize) {
    gauge!("DueBacklog", "kind" => kind).set(count as f64);
}

/// Records the time for handling an event: reading it, matching it and starting its deliveries.
pub fn event_matched(took: Duration) {
    histogram!("MatchTime").record(took.as_secs_f64() * 1e3);
}

/// Records the time of a statement, including the fetch of its files.
pub fn query_done(took: Duration) {
    histogram!("QueryTime").record(took.as_secs_f64() * 1e3);
}

pub fn turn_failed() {
    counter!("TurnFailures").increment(1);
}

/// Counts an audit record that neither the table nor the retry queue accepted.
pub fn audit_record_lost() {
    counter!("AuditRecordsLost").increment(1);
}

/// Records a pass over a log: the archived records, the files written, and the age of the oldest record that
/// was not archived before the pass, in seconds.
pub fn log_archived(records: u64, files: u64, lag_s: u64) {
    counter!("LogRecordsArchived").increment(records);
    counter!("LogFilesWritten").increment(files);
    histogram!("ArchiveLag").record(lag_s as f64);
}

/// Counts a request to an ingest channel above its rate limit.
pub fn ingest_rate_limited() {
    counter!("IngestRateLimited").increment(1);
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
        let mut lines = Vec::new();
        let collector = COLLECTOR.get().unwrap();
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
        assert_eq!(told["Metrics"][0]["Unit"], "Milliseconds");
        let mut again = Vec::new();
        collector.flush(&mut again).unwrap();
        assert!(again.is_empty());
    }
}
