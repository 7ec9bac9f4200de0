//! Tests the text for Prometheus. A recorder is the process's, so this is a program of its own.

use std::time::Duration;

use platform::metrics::{self, ProcessUsage, QueueDepth};

fn value(text: &str, series: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line?.parse().ok()
}

#[test]
fn each_metric_is_in_the_text_with_its_help_and_labels() {
    // Nothing is recorded before.
    metrics::delivery_attempted("delivered");
    assert_eq!(metrics::render(), None);
    metrics::init_prometheus().unwrap();
    assert!(metrics::init_prometheus().is_err());
    metrics::delivery_attempted("delivered");
    metrics::delivery_attempted("delivered");
    metrics::http_request("GET", Some("/api/v1/prompts/{id}"), 200, Duration::from_millis(3));
    metrics::http_request("GET", None, 404, Duration::from_millis(300));
    metrics::run_started("a\"b\\c\nd");
    metrics::run_closed("Steps", "COMPLETED");
    metrics::activity_attempted("step", "failed", Duration::from_secs(2));
    metrics::event_accepted("external");
    metrics::event_matches(3);
    metrics::event_matched(Duration::from_millis(7));
    metrics::query_done(Duration::from_millis(12));
    metrics::ingest_refused("rate_limited");
    metrics::log_archived(5, 1, 90);
    metrics::due("runs", 4);
    metrics::turn_failed();
    metrics::audit_record_lost();
    metrics::connections(6);
    metrics::queue_depth(
        "tasks",
        &QueueDepth {
            ready: 1,
            delayed: 2,
            in_flight: 3,
            dead: 4,
            oldest: Duration::from_millis(1_500),
        },
    );
    metrics::process_usage(&ProcessUsage {
        cpu_seconds: 1.25,
        max_files: None,
        ..ProcessUsage::default()
    });
    let text = metrics::render().unwrap();
    for (series, expected) in [
        ("millrace_deliveries_total{outcome=\"delivered\"}", 2.0),
        (
            "millrace_http_requests_total{method=\"GET\",route=\"/api/v1/prompts/{id}\",status=\"200\"}",
            1.0,
        ),
        (
            "millrace_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"}",
            1.0,
        ),
        (
            "millrace_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/v1/prompts/{id}\",le=\"0.0025\"}",
            0.0,
        ),
        (
            "millrace_http_request_duration_seconds_bucket{method=\"GET\",route=\"/api/v1/prompts/{id}\",le=\"0.005\"}",
            1.0,
        ),
        (
            "millrace_runs_started_total{workflow_type=\"a\\\"b\\\\c\\nd\"}",
            1.0,
        ),
        (
            "millrace_runs_closed_total{workflow_type=\"Steps\",status=\"COMPLETED\"}",
            1.0,
        ),
        (
            "millrace_activity_attempts_total{activity=\"step\",outcome=\"failed\"}",
            1.0,
        ),
        (
            "millrace_activity_attempt_duration_seconds_sum{activity=\"step\"}",
            2.0,
        ),
        ("millrace_events_accepted_total{category=\"external\"}", 1.0),
        ("millrace_event_matches_total", 3.0),
        ("millrace_event_match_duration_seconds_count", 1.0),
        ("millrace_query_duration_seconds_sum", 0.012),
        ("millrace_ingest_refused_total{reason=\"rate_limited\"}", 1.0),
        ("millrace_log_records_archived_total", 5.0),
        ("millrace_archive_lag_seconds_sum", 90.0),
        ("millrace_due_backlog{kind=\"runs\"}", 4.0),
        ("millrace_turn_failures_total", 1.0),
        ("millrace_audit_records_lost_total", 1.0),
        ("millrace_connections", 6.0),
        ("millrace_queue_messages{queue=\"tasks\",state=\"dead\"}", 4.0),
        ("millrace_queue_oldest_message_age_seconds{queue=\"tasks\"}", 1.5),
        ("process_cpu_seconds_total", 1.25),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series} in\n{text}");
    }
    let series = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in series {
        let name = line.split(['{', ' ']).next().unwrap();
        let base = ["_bucket", "_sum", "_count"]
            .into_iter()
            .find_map(|end| name.strip_suffix(end).filter(|base| base.ends_with("_seconds")));
        let name = base.unwrap_or(name);
        assert!(text.contains(&format!("# HELP {name} ")), "{name} has no help");
        assert!(text.contains(&format!("# TYPE {name} ")), "{name} has no type");
    }
    println!("{text}");
}
