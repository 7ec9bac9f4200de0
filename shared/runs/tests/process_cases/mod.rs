//! Defines the processes of the corpus.

use std::time::Duration;

use runs::process::Program;
use serde_json::{Value, json};
use workflow::event::Event;
use workflow::testing::TestRun;
use workflow::{Failure, Registry};

const SECOND: Duration = Duration::from_secs(1);
/// Names of this length replace the digests of the definitions.
const DIGITS: usize = 64;

/// A run of a definition with these tasks.
fn process(registry: &Registry, name: &str, tasks: &str, input: Value) -> TestRun {
    let text = format!(
        "document: {{ dsl: '1.0.3', namespace: corpus, name: {name}, version: '1.0.0' }}\ndo: [{tasks}]"
    );
    let loaded = json!({ "text": text, "account": "account" });
    TestRun::new(registry, "Process", &input)
        .program(&program(name, false).to_string())
        .mock("process_load", move |_| Ok(loaded.clone()))
        .mock("process_emit", |_| Ok(Value::Null))
        .mock("process_listen", |_| Ok(Value::Null))
        .mock("process_unlisten", |_| Ok(Value::Null))
}

fn program(name: &str, is_supervised: bool) -> Program {
    let digest = name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    Program {
        digest: format!("{digest:0<DIGITS$}"),
        is_supervised,
    }
}

const CALL: &str = "{ a: { call: http, with: { method: get, endpoint: 'https://service.example/' } } }";

pub fn cases(registry: &Registry) -> Vec<(&'static str, Vec<Event>)> {
    let run = |name: &str, tasks: &str, input: Value| process(registry, name, tasks, input);
    let last = |run: TestRun| run.run().unwrap().history;
    let busy = || json!({ "error": { "kind": "communication", "status": 503, "detail": "Busy." } });
    let event =
        json!({ "message": "", "type": "paid", "source": "https://a.example", "data": { "cents": 5 } });
    let retried = format!(
        "{{ t: {{ try: [ {CALL} ], catch: {{ retry: {{ delay: PT1S, limit: {{ attempt: {{ count: 2 }} }} }} }} }} }}"
    );
    let emits = "{ e: { emit: { event: { with: { type: done, source: 'https://a.example' } } } } }";
    vec![
        (
            "Process-completed",
            last(run(
                "completed",
                "{ a: { for: { in: .list }, do: [ { b: { set: { sum: '${ (.sum // 0) + $item }' } } } ] } }, \
                 { w: { wait: PT1M } }, { s: { switch: [ { large: { when: .sum > 3, then: end } } ] } }",
                json!({ "list": [1, 2, 3] }),
            )),
        ),
        (
            "Process-failed",
            last(run(
                "failed",
                "{ a: { raise: { error: { type: 'https://e.example', status: 500, title: Odd } } } }",
                json!({}),
            )),
        ),
        (
            "Process-call-retried",
            last(run("retried", &retried, json!({})).mock("process_http_call", move |_| Ok(busy()))),
        ),
        (
            "Process-call-lost",
            last(run("lost", CALL, json!({})).mock("process_http_call", |_| {
                Err(Failure::permanent("internal", "Broken."))
            })),
        ),
        (
            "Process-timeout-caught",
            last(run(
                "timeout",
                "{ t: { try: [ { a: { timeout: { after: PT5S }, wait: PT1H } } ], catch: {} } }",
                json!({}),
            )),
        ),
        (
            "Process-fork-competes",
            last(run(
                "fork",
                "{ f: { fork: { compete: true, branches: [ { a: { wait: PT1H } }, { b: { wait: PT1S } } ] } } }",
                json!({}),
            )),
        ),
        (
            "Process-listened",
            last(
                run(
                    "listened",
                    "{ a: { listen: { to: { one: { with: { type: paid } } } } } }",
                    json!({}),
                )
                .signal_at(SECOND, "Event", &event),
            ),
        ),
        (
            "Process-supervised",
            last(
                run("supervised", emits, json!({}))
                    .program(&program("supervised", true).to_string())
                    .signal_at(SECOND, "Approve", &json!({ "message": "Fine." })),
            ),
        ),
        (
            "Process-run-another",
            last(
                run(
                    "another",
                    "{ r: { if: .first, run: { workflow: { namespace: corpus, name: another, input: {} } } } }",
                    json!({ "first": true }),
                )
                .mock("process_find", |_| Ok(json!(program("another", false).digest))),
            ),
        ),
        (
            "Process-canceled",
            last(run("canceled", "{ a: { wait: PT1H } }", json!({})).cancel_at(SECOND, "no longer wanted")),
        ),
    ]
}
