//! Runs processes in memory.

use runs::process::{Expressions, Program, with_expressions};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use workflow::Registry;
use workflow::status::RunStatus;
use workflow::testing::{TestOutcome, TestRun, check_history};

/// Builds a definition with these parts beside `document`.
pub fn document(parts: &str) -> String {
    format!("document: {{ dsl: '1.0.3', namespace: tests, name: sample, version: '0.1.0' }}\n{parts}")
}

/// Builds a definition with these tasks, `name: { … }` each, separated by ` ;; `.
pub fn tasks(tasks: &str) -> String {
    let items: Vec<String> = tasks.split(" ;; ").map(|task| format!("{{ {task} }}")).collect();
    document(&format!("do: [{}]", items.join(", ")))
}

pub fn program_of(text: &str) -> Program {
    Program {
        digest: hex::encode(Sha256::digest(text)),
        is_supervised: false,
    }
}

pub fn registry() -> Registry {
    with_expressions(runs::registry(), Expressions::in_process())
}

pub fn run_with(registry: &Registry, text: &str, input: &(impl Serialize + ?Sized)) -> TestRun {
    let origin = json!({ "process": "tests/sample", "is_stored": true });
    let loaded = json!({ "text": text, "account": "account", "origin": origin });
    TestRun::new(registry, "Process", input)
        .program(&program_of(text).to_string())
        .mock("process_load", move |_| Ok(loaded.clone()))
        .mock("process_listen", |_| Ok(Value::Null))
        .mock("process_unlisten", |_| Ok(Value::Null))
}

pub fn run(text: &str, input: &(impl Serialize + ?Sized)) -> TestRun {
    run_with(&registry(), text, input)
}

/// Returns the outcome of a run, and checks its histories by a replay from the beginning.
pub fn ended(run: TestRun) -> TestOutcome {
    let outcome = run.run().unwrap();
    for run in outcome.runs.iter().filter(|run| run.workflow_type == "Process") {
        check_history(&registry(), &run.history).unwrap();
    }
    outcome
}

/// Returns the output of a run that completes.
pub fn output(run: TestRun) -> Value {
    let outcome = ended(run);
    assert_eq!(
        outcome.status,
        RunStatus::Completed,
        "{:?} {:?}",
        outcome.failure,
        outcome.waiting
    );
    outcome.result.unwrap()
}

/// Returns the output of a definition with these tasks.
pub fn output_of(text: &str, input: Value) -> Value {
    output(run(&tasks(text), &input))
}

/// Returns the error object of a run that fails.
pub fn error(run: TestRun) -> Value {
    let outcome = ended(run);
    assert_eq!(outcome.status, RunStatus::Failed, "{:?}", outcome.result);
    let failure = outcome.failure.unwrap();
    let error = failure.details.unwrap().to_value();
    assert_eq!(error["type"], failure.kind);
    error
}

/// Returns the last part of the error's type, its status and its instance.
pub fn kind(run: TestRun) -> (String, u64, String) {
    let error = error(run);
    let kind = error["type"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    let instance = error["instance"].as_str().unwrap().to_owned();
    (kind, error["status"].as_u64().unwrap(), instance)
}

pub fn kind_of(text: &str, input: Value) -> (String, u64, String) {
    kind(run(&tasks(text), &input))
}
