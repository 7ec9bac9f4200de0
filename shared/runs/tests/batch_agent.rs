//! Tests `BatchAgentWorkflow` in memory.

#![cfg(test)]

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use workflow::event::EventKind;
use workflow::status::RunStatus;
use workflow::testing::{TestOutcome, TestRun};
use workflow::{Context, Failure, Registry};

const TYPE: &str = "BatchAgentWorkflow";
const SECOND: Duration = Duration::from_secs(1);

/// Registers a child type whose runs take one second each, and longer for later documents; `slow` ones never
/// end.
fn registry() -> Registry {
    runs::registry().workflow("Child", |context: Context, input: Value| async move {
        let document = input["document_id"].as_str().unwrap_or_default().to_owned();
        context.timer(SECOND).await?;
        if document.starts_with("slow") {
            context.timer(SECOND * 1_000_000).await?;
        }
        if document.starts_with("bad") {
            return Err(Failure::new("Unreadable", format!("{document} cannot be read.")));
        }
        Ok(input)
    })
}

fn batch(input: Value) -> TestRun {
    TestRun::new(&registry(), TYPE, &input)
}

fn documents(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("d{number}")).collect()
}

fn progress(outcome: &TestOutcome) -> Value {
    outcome.query("BatchAgentProgress").unwrap()
}

/// Returns the maximum number of concurrent child runs, from the histories of the batch.
fn most_at_once(outcome: &TestOutcome) -> usize {
    let mut most = 0;
    for run in outcome.runs.iter().filter(|run| run.workflow_type == TYPE) {
        let mut going = 0;
        for event in &run.history {
            match event.kind {
                EventKind::StartChildWorkflowExecutionInitiated { .. } => going += 1,
                EventKind::ChildWorkflowExecutionClosed { .. }
                | EventKind::StartChildWorkflowExecutionFailed { .. } => going -= 1,
                _ => {}
            }
            most = most.max(going);
        }
    }
    most
}

#[test]
fn each_document_gets_a_child_run() {
    let outcome = batch(json!({"documents": documents(25), "type": "Child", "input": {"a": 1}}))
        .query_at(Duration::ZERO, "BatchAgentProgress")
        .query_at(SECOND * 2 - Duration::from_millis(1), "BatchAgentProgress")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        outcome.result,
        Some(json!({"totalDocuments": 25, "successful": 25, "failed": 0, "failures": []}))
    );
    let answers: Vec<_> = outcome
        .answers
        .iter()
        .map(|answer| answer.clone().unwrap())
        .collect();
    let five = |in_progress, successful, percent| json!({"totalDocuments": 25, "inProgress": in_progress, "successful": successful, "failed": 0, "percentComplete": percent});
    assert_eq!(answers, [five(10, 0, 0), five(10, 10, 40)]);
    assert_eq!(progress(&outcome), five(0, 25, 100));
    let child = &outcome.runs[1];
    assert_eq!(child.workflow_id, "test-0");
    let EventKind::WorkflowExecutionStarted(started) = &child.history[0].kind else {
        panic!("{:?}", child.history);
    };
    assert_eq!(started.input.to_value(), json!({"a": 1, "document_id": "d0"}));
    assert_eq!(outcome.updates.len(), 25);
    assert_eq!(outcome.updates[0].kind, "PROGRESS");
    assert_eq!(outcome.updates[24].details, Some(five(0, 25, 100)));
}

#[test]
fn children_that_fail_are_counted_and_named() {
    let outcome = batch(json!({"documents": ["a", "bad1", "b", "bad2"], "type": "Child"}));
    let outcome = outcome.run().unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(
        outcome.result,
        Some(
            json!({"totalDocuments": 4, "successful": 2, "failed": 2, "failures": [
                {"document_id": "bad1", "message": "bad1 cannot be read."},
                {"document_id": "bad2", "message": "bad2 cannot be read."},
            ]})
        )
    );
    assert_eq!(progress(&outcome)["percentComplete"], 100);
    let unknown = batch(json!({"documents": ["a"], "type": "Nothing"}))
        .run()
        .unwrap();
    let message = unknown.result.unwrap()["failures"][0]["message"].clone();
    let message = message.as_str().unwrap();
    let begin = "There is no workflow type 'Nothing'; there are ";
    // Includes the types that a team has added.
    let known = message.strip_prefix(begin).expect("a sentence about the types");
    for name in ["BatchAgentWorkflow", "Child"] {
        assert!(
            known.split(['.', ',', ' ']).any(|other| other == name),
            "{message}"
        );
    }
}

#[test]
fn a_child_that_is_stopped_from_outside_counts_as_failed() {
    let outcome = batch(json!({"documents": ["a"], "type": "Child"}))
        .mock_child("Child", |_| Err(Failure::canceled()))
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed);
    assert_eq!(progress(&outcome)["failed"], 1);
    assert_eq!(
        outcome.result.unwrap()["failures"][0]["message"],
        "It was cancelled."
    );
}

#[test]
fn no_more_failures_are_listed_than_a_result_should_hold() {
    let bad: Vec<_> = (0..150).map(|number| format!("bad{number}")).collect();
    let outcome = batch(json!({"documents": bad, "type": "Child"})).run().unwrap();
    let result = outcome.result.unwrap();
    assert_eq!(result["failed"], 150);
    assert_eq!(result["failures"].as_array().unwrap().len(), 100);
    let long = batch(json!({"documents": ["a"], "type": "Child"}))
        .mock_child("Child", |_| Err(Failure::new("Long", "é".repeat(10_000))))
        .run()
        .unwrap();
    let message = long.result.unwrap()["failures"][0]["message"].clone();
    assert_eq!(message.as_str().unwrap().chars().count(), 500);
}

#[test]
fn no_more_children_go_on_than_wanted() {
    for concurrency in [1, 3, 100] {
        let outcome =
            batch(json!({"documents": documents(230), "type": "Child", "concurrency": concurrency}));
        let outcome = outcome.run().unwrap();
        assert_eq!(outcome.result.as_ref().unwrap()["successful"], 230);
        assert_eq!(most_at_once(&outcome), concurrency);
    }
}

#[test]
fn a_cancelled_batch_stops_its_children_and_starts_no_more() {
    let outcome = batch(
        json!({"documents": ["a", "slow1", "b", "slow2", "c", "d"], "type": "Child", "concurrency": 2}),
    )
    .cancel_at(SECOND * 2 + SECOND / 2, "no longer wanted")
    .run()
    .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    let expected =
        json!({"totalDocuments": 6, "inProgress": 0, "successful": 2, "failed": 0, "percentComplete": 33});
    assert_eq!(progress(&outcome), expected);
    assert_eq!(outcome.updates.last().unwrap().details, Some(expected));
    assert_eq!(outcome.result.as_ref().unwrap()["failed"], 0);
    let statuses: Vec<_> = outcome.runs[1..].iter().map(|run| run.status).collect();
    let (completed, canceled) = (RunStatus::Completed, RunStatus::Canceled);
    assert_eq!(statuses, [completed, canceled, completed, canceled]);
    // Each running child gets one cancel request, and the batch waits for its end.
    let names = outcome.event_names();
    let asked = names
        .iter()
        .filter(|name| **name == "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED");
    assert_eq!(asked.count(), 2);
}

#[test]
fn a_batch_that_is_cancelled_at_once_starts_at_most_its_lanes() {
    let outcome = batch(json!({"documents": documents(50), "type": "Child"}))
        .cancel_at(Duration::ZERO, "")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    assert_eq!(progress(&outcome)["inProgress"], 0);
    assert_eq!(outcome.runs.len(), 11);
}

#[test]
fn a_long_batch_continues_as_new_and_keeps_its_counts() {
    let mut names = documents(1_200);
    names[10] = "bad10".to_owned();
    names[1_100] = "bad1100".to_owned();
    let outcome = batch(json!({"documents": names, "type": "Child"}))
        .query_at(SECOND * 60 + SECOND / 2, "BatchAgentProgress")
        .run()
        .unwrap();
    let result = outcome.result.clone().unwrap();
    assert_eq!(
        (&result["totalDocuments"], &result["successful"]),
        (&json!(1_200), &json!(1_198))
    );
    assert_eq!(result["failures"][1]["document_id"], "bad1100");
    assert_eq!(
        outcome.answers[0].clone().unwrap(),
        json!({"totalDocuments": 1_200, "inProgress": 10, "successful": 599, "failed": 1, "percentComplete": 50})
    );
    let chain: Vec<_> = outcome
        .runs
        .iter()
        .filter(|run| run.workflow_type == TYPE)
        .collect();
    assert_eq!(chain.len(), 6);
    assert!(chain.iter().all(|run| run.history.len() < 700));
    let children: BTreeSet<_> = outcome.runs.iter().map(|run| &run.workflow_id).collect();
    assert_eq!(children.len(), 1_201);
    assert_eq!(outcome.updates.len(), 100);
    assert_eq!(
        outcome.updates[99].details.as_ref().unwrap()["percentComplete"],
        100
    );
}

#[test]
fn a_long_batch_is_cancelled_in_a_later_run() {
    let outcome = batch(json!({"documents": documents(500), "type": "Child"}))
        .cancel_at(SECOND * 25, "")
        .run()
        .unwrap();
    assert_eq!(outcome.status, RunStatus::Canceled);
    let progress = progress(&outcome);
    assert_eq!(
        (&progress["totalDocuments"], &progress["inProgress"]),
        (&json!(500), &json!(0))
    );
    let successful = progress["successful"].as_u64().unwrap();
    assert!((200..500).contains(&successful), "{progress}");
}

#[test]
fn a_document_that_is_named_twice_is_done_twice() {
    let outcome = batch(json!({"documents": ["a", "a", "a"], "type": "Child"}))
        .run()
        .unwrap();
    assert_eq!(outcome.result.unwrap()["successful"], 3);
    let ids: Vec<_> = outcome.runs[1..]
        .iter()
        .map(|run| run.workflow_id.as_str())
        .collect();
    assert_eq!(ids, ["test-0", "test-1", "test-2"]);
}

#[test]
fn a_batch_without_documents_is_complete() {
    let outcome = batch(json!({"documents": [], "type": "Child"})).run().unwrap();
    assert_eq!(outcome.result.as_ref().unwrap()["totalDocuments"], 0);
    assert_eq!(progress(&outcome)["percentComplete"], 100);
    assert_eq!(outcome.history.len(), 2);
}

#[test]
fn a_long_workflow_id_leaves_room_for_the_children() {
    for length in [198, 199, 200] {
        let id = "w".repeat(length);
        let outcome = batch(json!({"documents": ["a"], "type": "Child"}))
            .workflow_id(&id)
            .run()
            .unwrap();
        assert_eq!(outcome.result.unwrap()["successful"], 1);
    }
}

#[test]
fn an_input_that_is_wrong_fails_the_run_and_says_why() {
    let message = |input: Value| {
        let failure = batch(input).run().unwrap().failure.unwrap();
        assert_eq!(failure.kind, "InvalidInput");
        failure.message
    };
    let shape = "A batch begins with { documents: [id], type: <workflow type>, input?: object, concurrency?: number }: ";
    assert_eq!(
        message(json!({"type": "Child"})),
        format!("{shape}missing field `documents`.")
    );
    assert_eq!(
        message(json!({"documents": [1], "type": "Child"})),
        format!("{shape}invalid type: integer `1`, expected a string.")
    );
    assert_eq!(
        message(json!({"documents": [], "type": "Child", "concurrency": -1})),
        format!("{shape}invalid value: integer `-1`, expected u64.")
    );
    for concurrency in [0, 101] {
        let input = json!({"documents": [], "type": "Child", "concurrency": concurrency});
        assert_eq!(message(input), "`concurrency` is 1 to 100.");
    }
    assert_eq!(
        message(json!({"documents": documents(10_001), "type": "Child"})),
        "A batch has at most 10000 documents, and not 10001: start several."
    );
    for id in [String::new(), "x".repeat(201)] {
        assert_eq!(
            message(json!({"documents": ["a", id], "type": "Child"})),
            "A document's id has 1 to 200 characters; that of documents[1] has not."
        );
    }
    assert_eq!(
        message(json!({"documents": [], "type": ""})),
        "`type` names the workflow type of the children."
    );
}
