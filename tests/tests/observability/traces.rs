//! Tests the spans of requests, events, runs and attempts, and the headers that tie them together.

use serde_json::json;
use tests::collector::{Span, attribute_of, traceparent_of};
use tests::{Collector, Events, Method, Persona, Runs, Service};

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const INGEST: &str = "POST /ingest/webhooks/events/{account_id}/{project_id}/{channel_id}";

fn attribute(span: &Span, key: &str) -> String {
    attribute_of(&span.attributes, key)
}

async fn traced_events(collector: &Collector) -> Events {
    Events::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await
}

/// Asserts that a span is below another one of the same trace, and began no earlier than a millisecond
/// before it: times of runs are whole milliseconds.
#[track_caller]
fn assert_below(child: &Span, parent: &Span) {
    assert_eq!(
        child.trace_id, parent.trace_id,
        "{} below {}",
        child.name, parent.name
    );
    assert_eq!(
        child.parent_span_id, parent.span_id,
        "{} below {}",
        child.name, parent.name
    );
    assert!(child.start_time_unix_nano + 1_000_000 >= parent.start_time_unix_nano);
    assert!(child.end_time_unix_nano >= child.start_time_unix_nano);
}

#[tokio::test]
async fn event_match_run_and_attempt_are_one_tree_locally() {
    let collector = Collector::start().await;
    let events = traced_events(&collector).await;
    events.webhook("/hook").await;
    let channel = events.plain_channel().await;
    let posted = events
        .ingest(&channel, &json!({ "action": "made" }))
        .header("traceparent", PARENT)
        .header("tracestate", "vendor=opaque");
    let event_id = posted.await.expect_status(202).body["event_id"].clone();
    let received = events.received("/hook", 1).await.remove(0);
    let run = collector.named(1, "run WebhookDelivery").await.remove(0);
    let attempt = collector.named(1, "activity webhook_attempt").await.remove(0);
    let matched = collector.named(1, "match event").await.remove(0);
    let request = collector.named(1, INGEST).await.remove(0);

    assert_eq!(hex::encode(&request.trace_id), TRACE_ID);
    assert_eq!(hex::encode(&request.parent_span_id), "00f067aa0ba902b7");
    assert_below(&matched, &request);
    assert_below(&run, &matched);
    assert_below(&attempt, &run);
    assert!(
        [&request, &matched, &run, &attempt]
            .iter()
            .all(|span| span.trace_state == "vendor=opaque")
    );
    // Server, consumer, internal, client.
    assert_eq!(
        [&request, &matched, &run, &attempt].map(|span| span.kind),
        [2, 5, 1, 3]
    );

    assert_eq!(received.header("traceparent"), traceparent_of(&attempt));
    assert_eq!(received.header("tracestate"), "vendor=opaque");
    assert_eq!(received.json()["event"]["traceparent"], traceparent_of(&request));
    assert_eq!(received.json()["event"]["tracestate"], "vendor=opaque");

    let delivery = events
        .delivery_of(event_id.as_str().unwrap(), &["succeeded"])
        .await;
    for (span, key, value) in [
        (&request, "http.request.method", "POST"),
        (&request, "http.response.status_code", "202"),
        (&matched, "millrace.event.id", event_id.as_str().unwrap()),
        (&matched, "millrace.event.matches", "1"),
        (&run, "millrace.workflow.type", "WebhookDelivery"),
        (
            &run,
            "millrace.workflow.id",
            delivery["workflow_id"].as_str().unwrap(),
        ),
        (
            &run,
            "millrace.run.id",
            delivery["workflow_run_id"].as_str().unwrap(),
        ),
        (&run, "millrace.run.status", "COMPLETED"),
        (&attempt, "millrace.activity.attempt", "1"),
        (&attempt, "millrace.activity.outcome", "completed"),
        (&attempt, "millrace.delivery.id", delivery["id"].as_str().unwrap()),
        (&attempt, "http.response.status_code", "200"),
        (&attempt, "server.address", "127.0.0.1"),
    ] {
        assert_eq!(attribute(span, key), value, "{key} of {}", span.name);
    }
    assert_eq!(collector.resource("service.name"), "millrace");
    assert_eq!(collector.header("content-type"), "application/x-protobuf");
    collector.settle().await;
    let count = |name: &str| collector.spans().iter().filter(|span| span.name == name).count();
    assert_eq!(
        [
            count("run WebhookDelivery"),
            count("activity webhook_attempt"),
            count("match event")
        ],
        [1; 3]
    );
}

#[tokio::test]
async fn each_attempt_has_a_span_that_its_request_names_locally() {
    let collector = Collector::start().await;
    let events = traced_events(&collector).await;
    events.webhook("/flaky/100").await;
    let channel = events.plain_channel().await;
    let event_id = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event_id, &["succeeded"]).await;
    let run = collector.named(1, "run WebhookDelivery").await.remove(0);
    let mut attempts = collector.named(3, "activity webhook_attempt").await;
    attempts.sort_by_key(|span| span.start_time_unix_nano);
    let received = events.received("/flaky/100", 3).await;
    for (number, (attempt, received)) in attempts.iter().zip(&received).enumerate() {
        assert_below(attempt, &run);
        assert_eq!(received.header("traceparent"), traceparent_of(attempt));
        let has_failed = number < 2;
        let status = if has_failed { "500" } else { "200" };
        assert_eq!(attribute(attempt, "http.response.status_code"), status);
        assert_eq!(
            attempt.status.as_ref().is_some_and(|status| status.code == 2),
            has_failed
        );
        assert_eq!(
            attribute(attempt, "error.type"),
            if has_failed { "500" } else { "" }
        );
        let resent = if number == 0 {
            String::new()
        } else {
            number.to_string()
        };
        assert_eq!(attribute(attempt, "http.request.resend_count"), resent);
    }
    assert_eq!(delivery["attempt_count"], 3);
    assert!(run.status.is_none());
}

#[tokio::test]
async fn child_run_and_its_calls_of_the_api_are_in_the_tree_locally() {
    let collector = Collector::start().await;
    let events = traced_events(&collector).await;
    let calls = json!([{ "method": "GET", "path": ["prompts"] }]);
    let subscribed = json!({
        "name": "Calls", "run_as_role": "reader",
        "filter": { "event_category": ["external"] },
        "target": { "type": "workflow", "endpoint": "ApiCalls", "vars": { "calls": calls, "by_child": true } },
    });
    events.subscribe(&subscribed).await;
    let channel = events.plain_channel().await;
    events.event(&channel, &json!({})).await;
    let runs = collector.named(2, "run ApiCalls").await;
    let request = collector.named(1, INGEST).await.remove(0);
    // The events of the runs are matched too.
    let is_ours = |span: &Span| span.name == "match event" && span.parent_span_id == request.span_id;
    let matched = collector.wait_for(1, is_ours).await.remove(0);
    let parent = runs
        .iter()
        .find(|run| run.parent_span_id == matched.span_id)
        .unwrap();
    let child = runs.iter().find(|run| run.span_id != parent.span_id).unwrap();
    let attempt = collector.named(1, "activity api_call").await.remove(0);
    let calls = collector
        .wait_for(1, |span| {
            span.name == "GET /api/v1/prompts" && span.parent_span_id == attempt.span_id
        })
        .await;
    assert_below(&matched, &request);
    assert_below(parent, &matched);
    assert_below(child, parent);
    assert_below(&attempt, child);
    assert_below(&calls[0], &attempt);
}

#[tokio::test]
async fn killed_run_keeps_its_trace_locally() {
    let collector = Collector::start().await;
    let mut runs = Runs::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await;
    runs.begin("Steps", &json!({ "steps": 4, "pause_ms": 700 }));
    collector.named(1, "activity step").await;
    runs.service.restart();
    let run = collector.named(1, "run Steps").await.remove(0);
    // The spans of the last second before the kill are lost.
    let attempts = collector.named(3, "activity step").await;
    for attempt in &attempts {
        assert_below(attempt, &run);
    }
    // It was started by the operator command, which traces nothing.
    assert!(run.parent_span_id.is_empty());
    collector.settle().await;
    let count = |name: &str| collector.spans().iter().filter(|span| span.name == name).count();
    assert_eq!(count("run Steps"), 1);
}

#[tokio::test]
async fn delivery_of_a_killed_runner_keeps_its_trace_locally() {
    let collector = Collector::start().await;
    let mut events = traced_events(&collector).await;
    events.webhook("/flaky/100").await;
    let channel = events.plain_channel().await;
    let posted = events.ingest(&channel, &json!({})).header("traceparent", PARENT);
    let event_id = posted.await.expect_status(202).body["event_id"].clone();
    events.received("/flaky/100", 1).await;
    collector.named(1, "activity webhook_attempt").await;
    events.service.restart();
    events
        .delivery_of(event_id.as_str().unwrap(), &["succeeded"])
        .await;
    let run = collector.named(1, "run WebhookDelivery").await.remove(0);
    assert_eq!(hex::encode(&run.trace_id), TRACE_ID);
    for received in events.received("/flaky/100", 3).await {
        let parent = received.header("traceparent");
        assert_eq!(parent.split('-').nth(1), Some(TRACE_ID), "{parent}");
    }
    let attempts = collector.named(3, "activity webhook_attempt").await;
    attempts.iter().for_each(|attempt| assert_below(attempt, &run));
}

#[tokio::test]
async fn malformed_traceparent_starts_a_new_trace_locally() {
    let collector = Collector::start().await;
    let service = Service::start_local_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint)]).await;
    let token = service.scope().token(Persona::Developer);
    let malformed = [
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-00",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
    ];
    for parent in malformed {
        let asked = service.get(&token, "/prompts").header("traceparent", parent);
        asked.await.expect_status(200);
    }
    let twice = service
        .get(&token, "/prompts")
        .header("traceparent", PARENT)
        .header("traceparent", PARENT);
    twice.await.expect_status(200);
    let good = service
        .request(Method::GET, "/prompts")
        .token(&token)
        .header("traceparent", PARENT);
    good.await.expect_status(200);
    let spans = collector.named(malformed.len() + 2, "GET /api/v1/prompts").await;
    let (below, roots): (Vec<_>, Vec<_>) = spans.iter().partition(|span| !span.parent_span_id.is_empty());
    assert_eq!((below.len(), roots.len()), (1, malformed.len() + 1));
    assert_eq!(hex::encode(&below[0].trace_id), TRACE_ID);
    let mut ids: Vec<_> = roots.iter().map(|span| hex::encode(&span.trace_id)).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), roots.len());
    assert!(!ids.iter().any(|id| id == TRACE_ID));
}

#[tokio::test]
async fn sampler_decides_and_unsampled_positions_are_passed_on_locally() {
    let collector = Collector::start().await;
    let events = Events::start_local_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0"),
    ])
    .await;
    events.webhook("/hook").await;
    let channel = events.plain_channel().await;
    events.event(&channel, &json!({})).await;
    let received = events.received("/hook", 1).await.remove(0);
    assert!(received.header("traceparent").ends_with("-00"), "{received:?}");
    // A caller's own decision is followed.
    let posted = events.ingest(&channel, &json!({})).header("traceparent", PARENT);
    posted.await.expect_status(202);
    let run = collector.named(1, "run WebhookDelivery").await.remove(0);
    assert_eq!(hex::encode(&run.trace_id), TRACE_ID);
    collector.settle().await;
    assert!(
        collector
            .spans()
            .iter()
            .all(|span| hex::encode(&span.trace_id) == TRACE_ID)
    );
}

#[tokio::test]
async fn without_an_endpoint_nothing_is_sent_added_or_stored_locally() {
    let collector = Collector::start().await;
    // Variables without effect alone.
    let events =
        Events::start_local_with(&[("OTEL_SERVICE_NAME", "orders"), ("OTEL_TRACES_SAMPLER", "x")]).await;
    events.webhook("/hook").await;
    let channel = events.plain_channel().await;
    let posted = events.ingest(&channel, &json!({})).header("traceparent", PARENT);
    let event_id = posted.await.expect_status(202).body["event_id"].clone();
    let received = events.received("/hook", 1).await.remove(0);
    for name in ["traceparent", "tracestate"] {
        assert_eq!(received.header(name), "");
        assert_eq!(received.json()["event"].get(name), None);
    }
    events
        .delivery_of(event_id.as_str().unwrap(), &["succeeded"])
        .await;
    assert_eq!(collector.requests(), 0);
    let log = events.log();
    assert!(!log.contains("trace_id="), "{log}");
}

#[tokio::test]
async fn log_records_have_the_position_of_their_request_locally() {
    let collector = Collector::start().await;
    let service = Service::start_local_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.endpoint),
        ("OTEL_SERVICE_NAME", "orders"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%2Cb"),
    ])
    .await;
    let token = service.scope().token(Persona::Developer);
    service
        .get(&token, "/prompts")
        .header("x-request-id", "mine")
        .await
        .expect_status(200);
    let span = collector.named(1, "GET /api/v1/prompts").await.remove(0);
    collector.settle().await;
    let logs = collector.logs();
    let mut ours = logs
        .iter()
        .filter(|log| attribute_of(&log.attributes, "request_id") == "mine");
    let log = ours.next().expect("the request has a log record");
    assert_eq!((&log.trace_id, &log.span_id), (&span.trace_id, &span.span_id));
    assert_eq!((log.severity_text.as_str(), log.severity_number), ("INFO", 9));
    assert_eq!(attribute_of(&log.attributes, "route"), "/api/v1/prompts");
    assert_eq!(collector.resource("service.name"), "orders");
    assert_eq!(collector.header("x-team"), "a,b");
    let line = format!(
        "trace_id={} span_id={}",
        hex::encode(&span.trace_id),
        hex::encode(&span.span_id)
    );
    assert!(service.log().contains(&line), "{}", service.log());
}

#[tokio::test]
async fn logs_alone_pass_no_position_on_locally() {
    let collector = Collector::start().await;
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()),
        ("OTEL_TRACES_EXPORTER", "none"),
    ];
    let events = Events::start_local_with(&variables).await;
    events.webhook("/hook").await;
    let channel = events.plain_channel().await;
    let posted = events.ingest(&channel, &json!({})).header("traceparent", PARENT);
    posted.await.expect_status(202);
    let received = events.received("/hook", 1).await.remove(0);
    assert_eq!(received.header("traceparent"), "");
    assert_eq!(received.json()["event"].get("traceparent"), None);
    collector.settle().await;
    assert!(collector.spans().is_empty() && !collector.logs().is_empty());
}
