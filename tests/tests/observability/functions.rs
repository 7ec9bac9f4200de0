//! Tests functions that Lambda freezes once they have answered: what they recorded must be sent before, and a
//! dead collector must hardly delay an answer.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::collector::Behaviour;
use tests::lambda::invocations::{api_request, messages, url_request};
use tests::lambda::{Aws, Emulators, Function};
use tests::{Collector, Runs, binary, unique};

/// Longest wait of an answer for the collector, and the work of an invocation on a busy machine.
const LONGEST_FLUSH: Duration = Duration::from_millis(500);

struct World {
    runs: Runs,
    aws: Aws,
    collector: Collector,
    _emulators: Emulators,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let emulators = Emulators::start(&binary("emulators"), folder.path());
        let variables = emulators.of_a_runner();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let runs = Runs::start_local_with(&variables).await;
        let aws = Aws::over(&emulators, &runs.service.data_dir()).await;
        Self {
            runs,
            aws,
            collector: Collector::start().await,
            _emulators: emulators,
            _folder: folder,
        }
    }

    async fn function(&self, name: &str, endpoint: &str) -> Function {
        let data_dir = self.runs.service.data_dir();
        let folders = (data_dir.as_path(), self.runs.service.folder());
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("MILLRACE_LOG", "info"),
        ];
        Function::start_with(&binary(name), &self.aws, folders, &variables).await
    }
}

#[tokio::test]
async fn spans_and_logs_are_sent_before_the_freeze_locally() {
    let world = World::start().await;
    let mut prompts = world.function("prompts", &world.collector.endpoint).await;
    let request = api_request("GET", "/prompts", &world.runs.token, &Value::Null);
    for count in 1..=3 {
        let answer = prompts.invoke(request.clone()).await;
        prompts.freeze();
        assert_eq!(answer.status(), 200);
        let spans = world.collector.spans();
        let spans: Vec<_> = spans
            .iter()
            .filter(|span| span.name == "GET /api/v1/prompts")
            .collect();
        assert_eq!(spans.len(), count);
        assert!(world.collector.logs().len() >= count);
        prompts.thaw();
    }
    assert_eq!(world.collector.resource("faas.name"), "tests");
    let mut matcher = world.function("matcher", &world.collector.endpoint).await;
    let event = json!({
        "detail-type": "millrace.event",
        "detail": {
            "event_id": unique("event"), "event_category": "external", "action": "made", "resource_type": "thing",
            "resource_id": "1", "account_id": world.runs.scope.account, "project_id": world.runs.scope.project,
            "timestamp": "2026-01-01T00:00:00Z", "source": "external:tests",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        },
    });
    matcher.invoke(messages(&[event])).await;
    matcher.freeze();
    let spans = world.collector.spans();
    let matched = spans.iter().find(|span| span.name == "match event").unwrap();
    assert_eq!(hex::encode(&matched.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex::encode(&matched.parent_span_id), "00f067aa0ba902b7");
}

#[tokio::test]
async fn dead_collector_delays_one_answer_by_half_a_second_locally() {
    let world = World::start().await;
    world.collector.behave(Behaviour::Hangs);
    let request = api_request("GET", "/prompts", &world.runs.token, &Value::Null);
    let mut plain = world.function("prompts", "").await;
    plain.invoke(request.clone()).await;
    let without = plain.invoke(request.clone()).await.took;
    drop(plain);
    for endpoint in [
        world.collector.endpoint.as_str(),
        "http://127.0.0.1:9",
        "http://192.0.2.1:4318",
    ] {
        let mut prompts = world.function("prompts", endpoint).await;
        let mut times = Vec::new();
        for _ in 0..8 {
            let answer = prompts.invoke(request.clone()).await;
            assert_eq!(answer.status(), 200, "{endpoint}");
            times.push(answer.took);
        }
        println!("{endpoint}: {times:?}, and {without:?} without");
        // The first answer also opens the connections of the function.
        let slack = Duration::from_millis(700) + without;
        assert!(times[0] < LONGEST_FLUSH + slack, "{endpoint}: {times:?}");
        for time in &times[1..] {
            assert!(*time < slack, "{endpoint}: {times:?}, and {without:?} without");
        }
    }
    let mut ingest = world.function("ingest", &world.collector.endpoint).await;
    let answer = ingest
        .invoke(url_request("POST", "/webhooks/events/a/b/c", "wrong", &json!({})))
        .await;
    assert_eq!(answer.status(), 401);
}
