//! Tests limits: endless processes, endless expressions, deep and large data.

use process::expression::Evaluator;
use runs::process::{Expressions, MAX_EXECUTED, with_expressions};
use serde_json::{Value, json};
use workflow::Registry;
use workflow::status::RunStatus;
use workflow::testing::{TestRun, check_history};

use crate::world::{document, error, kind_of, output_of, run, run_with, tasks};

/// Evaluates in child processes; the runtime that drives them lives as long as the test.
fn sandboxed() -> (tokio::runtime::Runtime, Registry) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let evaluator = Evaluator::with_program(env!("CARGO_BIN_EXE_expressions-child").into(), 2);
    let expressions = {
        let _entered = runtime.enter();
        Expressions::sandboxed(evaluator)
    };
    (runtime, with_expressions(runs::registry(), expressions))
}

/// Returns the error object of a run, without the check by replay.
fn failed(run: TestRun) -> Value {
    run.run().unwrap().failure.unwrap().details.unwrap().to_value()
}

fn markers(run: TestRun) -> (Value, usize, Vec<workflow::event::Event>) {
    let outcome = run.run().unwrap();
    let count = outcome
        .event_names()
        .iter()
        .filter(|name| **name == "MARKER_RECORDED")
        .count();
    let failure = outcome.failure.map(|failure| failure.kind);
    (
        json!({ "result": outcome.result, "failure": failure }),
        count,
        outcome.history,
    )
}

#[test]
fn an_endless_expression_fails_its_task_and_is_not_tried_by_replays() {
    let (_runtime, registry) = sandboxed();
    let text = tasks(
        "t: { try: [ { a: { set: { n: '${ def f: f; f }' } } } ], catch: { do: [ { b: { set: { caught: true } } } ] } } ;; w: { wait: PT1S }",
    );
    let (ended, count, history) = markers(run_with(&registry, &text, &json!({})));
    assert_eq!(ended["result"], json!({ "caught": true }));
    assert_eq!(count, 1);
    // Recorded results need no evaluator.
    let without = with_expressions(runs::registry(), Expressions::none());
    check_history(&without, &history).unwrap();
    let text = tasks("a: { set: { n: '${ def f: f; f }' } }");
    let error = failed(run_with(&registry, &text, &json!({})));
    assert_eq!(
        (error["title"].as_str(), error["instance"].as_str()),
        (Some("Expression Error"), Some("/do/0/a"))
    );
}

#[test]
fn many_slow_expressions_are_spread_over_turns() {
    let (_runtime, registry) = sandboxed();
    let text = tasks(
        "t: { for: { in: '[1, 2]' }, do: [ { t: { try: [ { a: { set: { n: '${ last(range(1e12)) + $item }' } } } ], catch: {} } } ] }",
    );
    let (ended, _, history) = markers(run_with(&registry, &text, &json!({ "x": 1 })));
    assert_eq!(ended["result"], json!({ "x": 1 }));
    let timers = history
        .iter()
        .filter(|event| event.kind.name() == "TIMER_STARTED")
        .count();
    assert!(timers >= 2, "each turn ends in time: {timers}");
}

#[test]
fn a_turn_without_a_child_fails_and_not_the_process() {
    let missing = with_expressions(runs::registry(), Expressions::none());
    let text = tasks("a: { set: { n: '${ 1 }' } }");
    let failure = run_with(&missing, &text, &json!({})).run().err().unwrap();
    assert!(failure.message.contains("evaluates no expressions"), "{failure}");
}

#[test]
fn an_endless_loop_ends_with_an_error_that_nothing_catches() {
    let text = tasks(
        "t: { try: [ { a: { set: { n: 1 } } }, { s: { switch: [ { again: { when: '${ true }', then: a } } ] } } ], catch: { retry: {} } }",
    );
    let (_runtime, registry) = sandboxed();
    let error = failed(run_with(&registry, &text, &json!({})));
    assert_eq!(error["status"], 500);
    assert!(
        error["detail"]
            .as_str()
            .unwrap()
            .contains(&MAX_EXECUTED.to_string()),
        "{error}"
    );
    let rounds = tasks("a: { for: { in: '[range(20000)]' }, do: [] }");
    assert_eq!(
        failed(run_with(&registry, &rounds, &json!({})))["title"],
        "Runtime Error"
    );
}

#[test]
fn an_output_of_ten_megabytes_is_refused() {
    assert_eq!(
        kind_of("a: { set: { t: '${ \"x\" * 10000000 }' } }", json!({})).0,
        "expression"
    );
    // Each result is small enough, but all together are not.
    let text = tasks(
        "a: { fork: { branches: [ { a: { set: { t: '${ \"x\" * 1000000 }' } } }, { b: { set: { t: '${ \"x\" * 1000000 }' } } }, { c: { set: { t: '${ \"x\" * 1000000 }' } } } ] } }",
    );
    let outcome = run(&text, &json!({})).run().unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
}

#[test]
fn data_that_nests_too_deep_is_refused() {
    let (_runtime, registry) = sandboxed();
    let text = tasks("a: { for: { in: '[range(300)]' }, do: [ { b: { set: { in: '${ . }' } } } ] }");
    assert_eq!(
        failed(run_with(&registry, &text, &json!({})))["title"],
        "Expression Error"
    );
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let deep: Box<serde_json::value::RawValue> = serde_json::from_str(&deep).unwrap();
    let refused = error(run(&document("do: []"), &deep));
    assert!(
        refused["type"].as_str().unwrap().ends_with("/validation"),
        "{refused}"
    );
}

#[test]
fn tasks_may_nest_deep_and_not_deeper() {
    let mut inner = "z: { set: { n: '${ 1 }' } }".to_owned();
    for level in 0..30 {
        inner = format!("l{level}: {{ try: [ {{ {inner} }} ], catch: {{}} }}");
    }
    assert_eq!(output_of(&inner, json!({})), json!({ "n": 1 }));
    let calls: Vec<String> = (1..200)
        .map(|number| format!("f{number}: {{ call: f{} }}", number - 1))
        .collect();
    let text = document(&format!(
        "use: {{ functions: {{ f0: {{ set: {{ n: 1 }} }}, {} }} }}\ndo: [ {{ a: {{ call: f199 }} }} ]",
        calls.join(", ")
    ));
    let refused = error(run(&text, &json!({})));
    assert!(
        refused["detail"].as_str().unwrap().contains("levels"),
        "{refused}"
    );
}
