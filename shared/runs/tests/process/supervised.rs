//! Tests supervised runs: a task that acts outside waits for an approval.

use std::time::Duration;

use runs::process::Program;
use serde_json::{Value, json};
use workflow::status::RunStatus;
use workflow::testing::TestRun;

use crate::world::{ended, error, program_of, run, tasks};

const SECOND: Duration = Duration::from_secs(1);
const TEXT: &str = "s: { set: { n: '${ 1 }' } } ;; e: { emit: { event: { with: { source: 'https://a.example', type: one } } } } ;; \
                    f: { emit: { event: { with: { source: 'https://a.example', type: two } } }, output: { as: .type } }";

fn supervised() -> TestRun {
    let text = tasks(TEXT);
    let program = Program {
        is_supervised: true,
        ..program_of(&text)
    };
    let emitted = |_: Value| Ok(Value::Null);
    run(&text, &json!({}))
        .program(&program.to_string())
        .mock("process_emit", emitted)
}

#[test]
fn each_task_that_acts_outside_waits() {
    let waiting = ended(supervised());
    assert_eq!(waiting.status, RunStatus::Running);
    assert_eq!(
        waiting.query("__state").unwrap()["tasks"],
        json!([{ "task": "/do/1/e", "waits_for": "Approve" }])
    );
    let update = waiting.updates.last().unwrap();
    assert_eq!(update.kind, "APPROVAL");
    assert_eq!(
        update.message,
        "The task 'e' waits for an approval: publishes the event 'one'."
    );
    assert_eq!(update.details, Some(json!({ "task": "/do/1/e" })));
    assert_eq!(waiting.activities(), ["process_load"]);

    let approval = json!({ "message": "Fine." });
    let one = ended(supervised().signal_at(SECOND, "Approve", &approval));
    assert_eq!(one.activities(), ["process_load", "process_emit"]);
    assert_eq!(one.status, RunStatus::Running);
    let both = ended(supervised().signal_at(SECOND, "Approve", &approval).signal_at(
        SECOND * 2,
        "Approve",
        &approval,
    ));
    assert_eq!(both.result, Some(json!("two")));
    let messages: Vec<&str> = both.updates.iter().map(|update| update.kind.as_str()).collect();
    assert_eq!(messages, ["APPROVAL", "PROGRESS", "APPROVAL", "PROGRESS"]);
}

#[test]
fn a_refused_task_fails() {
    let refusal = json!({ "message": "No.", "approved": false, "reason": "Not today." });
    let error = error(supervised().signal_at(SECOND, "Approve", &refusal));
    assert_eq!(error["title"], "Authorization Error");
    assert_eq!(
        (error["status"].as_u64(), error["instance"].as_str()),
        (Some(403), Some("/do/1/e"))
    );
    assert_eq!(error["detail"], "The task was not approved: Not today.");
}

#[test]
fn an_approval_may_name_its_task() {
    let other = json!({ "task": "/do/2/f", "approved": false });
    let this = json!({ "task": "/do/1/e" });
    let run = supervised()
        .signal_at(SECOND, "Approve", &other)
        .signal_at(SECOND * 2, "Approve", &this);
    assert_eq!(error(run)["instance"], "/do/2/f");
    let outcome = ended(supervised().cancel_at(SECOND, "no longer wanted"));
    assert_eq!(outcome.status, RunStatus::Canceled);
}
