//! Tests collectors that are down, slow or wrong: the service works as before, and says so once.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::json;
use tests::collector::Behaviour;
use tests::{Collector, Events, Persona, Service, run};

const WARNING: &str = "does not take telemetry";

const REQUESTS: u32 = 200;

async fn time_of_requests(service: &Service) -> Duration {
    let token = service.scope().token(Persona::Developer);
    service.get(&token, "/prompts").await.expect_status(200);
    let began = Instant::now();
    for _ in 0..REQUESTS {
        service.get(&token, "/prompts").await.expect_status(200);
    }
    began.elapsed()
}

#[tokio::test]
async fn collector_that_fails_costs_one_warning_locally() {
    let collector = Collector::start().await;
    let endpoints = [
        // Nothing listens there.
        ("http://127.0.0.1:9".to_owned(), Behaviour::Takes),
        // Nothing answers there: the addresses of RFC 5737 lead nowhere.
        ("http://192.0.2.1:4318".to_owned(), Behaviour::Takes),
        ("https://collector.invalid".to_owned(), Behaviour::Takes),
        (
            collector.endpoint.clone(),
            Behaviour::Answers(StatusCode::INTERNAL_SERVER_ERROR),
        ),
        (
            collector.endpoint.clone(),
            Behaviour::Answers(StatusCode::TOO_MANY_REQUESTS),
        ),
        (collector.endpoint.clone(), Behaviour::Hangs),
    ];
    for (endpoint, behaviour) in endpoints {
        collector.behave(behaviour);
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ];
        let mut events = Events::start_local_with(&variables).await;
        events.webhook("/hook").await;
        let channel = events.plain_channel().await;
        let event_id = events.event(&channel, &json!({})).await;
        events.delivery_of(&event_id, &["succeeded"]).await;
        time_of_requests(&events).await;
        let deadline = Instant::now() + Duration::from_secs(30);
        while !events.log().contains(WARNING) {
            assert!(
                Instant::now() < deadline,
                "{endpoint} {behaviour:?}: {}",
                events.log()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        let log = events.log();
        assert_eq!(log.matches(WARNING).count(), 1, "{endpoint} {behaviour:?}: {log}");
        let began = Instant::now();
        assert_eq!(events.service.process().stop(), Some(0));
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn spans_arrive_once_the_collector_is_back_locally() {
    let collector = Collector::start().await;
    collector.behave(Behaviour::Answers(StatusCode::SERVICE_UNAVAILABLE));
    let service = Service::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await;
    time_of_requests(&service).await;
    while collector.requests() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    collector.behave(Behaviour::Takes);
    let spans = collector
        .named(REQUESTS as usize + 1, "GET /api/v1/prompts")
        .await;
    assert_eq!(spans.len(), REQUESTS as usize + 1);
}

#[tokio::test]
async fn answer_that_is_garbage_counts_as_taken_locally() {
    let collector = Collector::start().await;
    collector.behave(Behaviour::Garbage);
    let service = Service::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await;
    time_of_requests(&service).await;
    while collector.requests() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!service.log().contains(WARNING), "{}", service.log());
}

#[tokio::test]
async fn memory_does_not_grow_while_the_collector_is_down_locally() {
    let mut service = Service::start_local_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ("MILLRACE_LOG", "debug"),
    ])
    .await;
    for _ in 0..5 {
        time_of_requests(&service).await;
    }
    let before = service.process().memory_kb();
    for _ in 0..20 {
        time_of_requests(&service).await;
    }
    let after = service.process().memory_kb();
    // Two queues of 4 MiB, and what the allocator keeps beside them.
    assert!(after < before + 40_000, "{before} KB, then {after} KB");
}

// The collector answers while this test waits for the end of the process.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_sent_at_a_graceful_stop_locally() {
    let collector = Collector::start().await;
    let mut service =
        Service::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await;
    let token = service.scope().token(Persona::Developer);
    service.get(&token, "/prompts").await.expect_status(200);
    assert_eq!(service.process().stop(), Some(0), "{}", service.log());
    let spans = collector.spans();
    assert!(
        spans.iter().any(|span| span.name == "GET /api/v1/prompts"),
        "{spans:?}"
    );
}

#[test]
fn wrong_setting_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data").display().to_string();
    for (name, value) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
        ("OTEL_TRACES_SAMPLER", "sometimes"),
    ] {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let finished = run(
            "millrace",
            &["--port", "0", "--data-dir", &data_dir],
            &[endpoint, (name, value)],
        );
        let said = finished.expect_refusal().stderr;
        assert!(
            said.contains(name) && said.contains("Set it to") && !said.contains("hunter2"),
            "{said}"
        );
    }
}
