//! Lists every metric with its names. The alarms and the dashboard of `template.yaml` read those of
//! CloudWatch, docs/observability.md those of Prometheus.

use metrics::Unit;

/// A metric, which exists once and has a name for each exit.
pub(super) struct Metric {
    pub prometheus: &'static str,
    /// Name and unit in CloudWatch; None for a metric that is not sent there, because each one costs money.
    pub cloudwatch: Option<(&'static str, Unit)>,
    pub kind: Kind,
    pub help: &'static str,
}

pub(super) enum Kind {
    Counter,
    Gauge,
    /// Distribution with these upper bounds, in seconds.
    Histogram(&'static [f64]),
}

/// Bounds for requests and what they wait for.
const SHORT: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Bounds for activities, which may wait for others.
const LONG: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0];
/// Bounds for the age of records that are not archived.
const AGES: &[f64] = &[1.0, 10.0, 60.0, 300.0, 900.0, 3_600.0, 21_600.0, 86_400.0];

const fn counter(prometheus: &'static str, cloudwatch: &'static str, help: &'static str) -> Metric {
    let of_cloudwatch = if cloudwatch.is_empty() {
        None
    } else {
        Some((cloudwatch, Unit::Count))
    };
    Metric {
        prometheus,
        cloudwatch: of_cloudwatch,
        kind: Kind::Counter,
        help,
    }
}

const fn gauge(prometheus: &'static str, help: &'static str) -> Metric {
    Metric {
        prometheus,
        cloudwatch: None,
        kind: Kind::Gauge,
        help,
    }
}

const fn histogram(
    prometheus: &'static str,
    cloudwatch: Option<(&'static str, Unit)>,
    bounds: &'static [f64],
    help: &'static str,
) -> Metric {
    Metric {
        prometheus,
        cloudwatch,
        kind: Kind::Histogram(bounds),
        help,
    }
}

pub(super) const DELIVERIES: Metric = counter(
    "millrace_deliveries_total",
    "Deliveries",
    "Attempts of deliveries to webhooks, by outcome.",
);
pub(super) const TURN_FAILURES: Metric = counter(
    "millrace_turn_failures_total",
    "TurnFailures",
    "Turns of runs that failed and are tried again.",
);
pub(super) const COLD_STARTS: Metric = counter(
    "millrace_cold_starts_total",
    "ColdStarts",
    "Starts of a function.",
);
pub(super) const AUDIT_RECORDS_LOST: Metric = counter(
    "millrace_audit_records_lost_total",
    "AuditRecordsLost",
    "Audit records that neither the table nor the retry queue accepted.",
);
/// In CloudWatch alone; Prometheus has it as a reason of [`INGEST_REFUSED`].
pub(super) const INGEST_RATE_LIMITED: &str = "IngestRateLimited";
pub(super) const INGEST_REFUSED: Metric = counter(
    "millrace_ingest_refused_total",
    "",
    "Requests to ingest channels that were refused, by reason.",
);
pub(super) const LOG_RECORDS_ARCHIVED: Metric = counter(
    "millrace_log_records_archived_total",
    "LogRecordsArchived",
    "Events and audit records that were written to files of their log.",
);
pub(super) const LOG_FILES_WRITTEN: Metric = counter(
    "millrace_log_files_written_total",
    "LogFilesWritten",
    "Files of logs that were written.",
);
pub(super) const ARCHIVE_LAG: Metric = histogram(
    "millrace_archive_lag_seconds",
    Some(("ArchiveLag", Unit::Seconds)),
    AGES,
    "Age of the oldest record of a log that was not archived before a pass.",
);
pub(super) const MATCH_TIME: Metric = histogram(
    "millrace_event_match_duration_seconds",
    Some(("MatchTime", Unit::Milliseconds)),
    SHORT,
    "Time for reading an event, matching it and starting its deliveries.",
);
pub(super) const QUERY_TIME: Metric = histogram(
    "millrace_query_duration_seconds",
    Some(("QueryTime", Unit::Milliseconds)),
    SHORT,
    "Time of a statement over a data store, including the fetch of its files.",
);
pub(super) const DUE_BACKLOG: Metric = Metric {
    prometheus: "millrace_due_backlog",
    cloudwatch: Some(("DueBacklog", Unit::Count)),
    kind: Kind::Gauge,
    help: "Overdue work that the last sweep found, by kind.",
};
pub(super) const HTTP_REQUESTS: Metric = counter(
    "millrace_http_requests_total",
    "",
    "Answered requests, by method, route and status.",
);
pub(super) const HTTP_TIME: Metric = histogram(
    "millrace_http_request_duration_seconds",
    None,
    SHORT,
    "Time from a request's head to the head of its answer, by method and route.",
);
pub(super) const RUNS_STARTED: Metric = counter(
    "millrace_runs_started_total",
    "",
    "Workflow runs that were started, by type.",
);
pub(super) const RUNS_CLOSED: Metric = counter(
    "millrace_runs_closed_total",
    "",
    "Workflow runs that ended, by type and status.",
);
pub(super) const ATTEMPTS: Metric = counter(
    "millrace_activity_attempts_total",
    "",
    "Attempts of activities that ended, by activity and outcome.",
);
pub(super) const ATTEMPT_TIME: Metric = histogram(
    "millrace_activity_attempt_duration_seconds",
    None,
    LONG,
    "Time of an attempt of an activity.",
);
pub(super) const EVENTS_ACCEPTED: Metric = counter(
    "millrace_events_accepted_total",
    "",
    "Events that were stored, by category.",
);
pub(super) const EVENT_MATCHES: Metric = counter(
    "millrace_event_matches_total",
    "",
    "Subscriptions that events matched.",
);
pub(super) const QUEUE_MESSAGES: Metric = gauge(
    "millrace_queue_messages",
    "Messages of a queue, by state: ready, delayed, in_flight or dead.",
);
pub(super) const QUEUE_AGE: Metric = gauge(
    "millrace_queue_oldest_message_age_seconds",
    "Time for which the oldest ready message of a queue has waited.",
);
pub(super) const CONNECTIONS: Metric = gauge("millrace_connections", "Open connections to the server.");
pub(super) const BUILD_INFO: Metric = gauge("millrace_build_info", "1, with the version of the program.");
pub(super) const RESIDENT: Metric = gauge(
    "process_resident_memory_bytes",
    "Resident memory of the process, without its children.",
);
pub(super) const VIRTUAL: Metric = gauge("process_virtual_memory_bytes", "Virtual memory of the process.");
pub(super) const OPEN_FILES: Metric = gauge("process_open_fds", "Open files of the process.");
pub(super) const MAX_FILES: Metric = gauge("process_max_fds", "Most files that the process may open.");
pub(super) const THREADS: Metric = gauge("process_threads", "Threads of the process.");
pub(super) const STARTED: Metric = gauge(
    "process_start_time_seconds",
    "Start of the process since the Unix epoch.",
);

pub(super) const ALL: &[&Metric] = &[
    &DELIVERIES,
    &TURN_FAILURES,
    &COLD_STARTS,
    &AUDIT_RECORDS_LOST,
    &INGEST_REFUSED,
    &LOG_RECORDS_ARCHIVED,
    &LOG_FILES_WRITTEN,
    &ARCHIVE_LAG,
    &MATCH_TIME,
    &QUERY_TIME,
    &DUE_BACKLOG,
    &HTTP_REQUESTS,
    &HTTP_TIME,
    &RUNS_STARTED,
    &RUNS_CLOSED,
    &ATTEMPTS,
    &ATTEMPT_TIME,
    &EVENTS_ACCEPTED,
    &EVENT_MATCHES,
    &QUEUE_MESSAGES,
    &QUEUE_AGE,
    &CONNECTIONS,
    &BUILD_INFO,
    &RESIDENT,
    &VIRTUAL,
    &OPEN_FILES,
    &MAX_FILES,
    &THREADS,
    &STARTED,
];
