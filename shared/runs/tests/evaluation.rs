//! Tests `SubscriptionEvaluation` in memory: its effects with a verdict, and without one.

#![cfg(test)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use workflow::status::RunStatus;
use workflow::testing::{TestOutcome, TestRun};
use workflow::{Context, Failure, Registry};

const CONDITIONS: [(&str, &str); 4] = [
    ("enforce", "fail_closed"),
    ("enforce", "fail_open"),
    ("shadow", "fail_closed"),
    ("shadow", "fail_open"),
];

fn registry() -> Registry {
    let target = |_: Context, input: Value| async move { Ok::<_, Failure>(input) };
    runs::registry().workflow("Target", target)
}

fn evaluation((mode, on_error): (&str, &str)) -> TestRun {
    let input = json!({
        "event_id": "e", "subscription_id": "s",
        "condition": { "instruction": "It is urgent.", "mode": mode, "on_error": on_error },
        "then": { "workflow_type": "Target", "program": "sha256:x", "input": { "vars": 7 } },
    });
    TestRun::new(&registry(), "SubscriptionEvaluation", &input)
}

fn coming_to(condition: (&str, &str), outcome: Value) -> TestOutcome {
    let run = evaluation(condition).mock("evaluate_condition", move |_| Ok(outcome.clone()));
    run.run().unwrap()
}

fn is_delivered(outcome: &TestOutcome) -> bool {
    outcome.status == RunStatus::Completed && outcome.result == Some(json!({ "vars": 7 }))
}

#[test]
fn a_verdict_counts_where_it_is_enforced() {
    for condition in CONDITIONS {
        for matched in [true, false] {
            let verdict = json!({ "verdict": { "matched": matched, "rationale": "So it is." } });
            let outcome = coming_to(condition, verdict);
            if matched || condition.0 == "shadow" {
                assert!(is_delivered(&outcome), "{condition:?} {matched}");
                assert_eq!(outcome.runs.len(), 2);
            } else {
                assert_eq!(outcome.status, RunStatus::Canceled, "{condition:?}");
            }
        }
    }
}

#[test]
fn without_a_verdict_the_rule_counts() {
    for condition in CONDITIONS {
        let outcome = coming_to(condition, json!({ "no_verdict": "No model." }));
        if condition == ("enforce", "fail_closed") {
            assert_eq!(outcome.status, RunStatus::Failed);
            assert_eq!(outcome.failure.unwrap().message, "No model.");
        } else {
            assert!(is_delivered(&outcome), "{condition:?}");
        }
        let outcome = coming_to(condition, json!({ "unwanted": "It was deleted." }));
        assert_eq!(outcome.status, RunStatus::Canceled, "{condition:?}");
    }
}

#[test]
fn model_that_is_away_is_asked_again_for_most_of_an_hour_before_the_rule_counts() {
    for condition in CONDITIONS {
        let away = |_: Value| Err(Failure::new("ModelUnavailable", "Later."));
        let outcome = evaluation(condition)
            .mock("evaluate_condition", away)
            .run()
            .unwrap();
        assert_eq!(is_delivered(&outcome), condition != ("enforce", "fail_closed"));
        let history = &outcome.runs[0].history;
        let [first, .., last] = history.as_slice() else {
            panic!("the history is short");
        };
        let waited = last.time.millis_since(first.time) / 60_000;
        assert!((40..60).contains(&waited), "{waited} minutes");
        let times = AtomicU32::new(0);
        let back = move |_: Value| match times.fetch_add(1, Ordering::SeqCst) {
            6 => Ok(json!({ "verdict": { "matched": true } })),
            _ => Err(Failure::new("ModelUnavailable", "Later.")),
        };
        let outcome = evaluation(condition)
            .mock("evaluate_condition", back)
            .run()
            .unwrap();
        assert!(is_delivered(&outcome), "{condition:?}");
    }
}

#[test]
fn an_attempt_that_hangs_ends_after_a_minute() {
    let hanging = evaluation(CONDITIONS[0])
        .mock("evaluate_condition", |_| Ok(json!({ "no_verdict": "late" })))
        .taking("evaluate_condition", Duration::from_secs(61));
    let outcome = hanging.run().unwrap();
    assert_eq!(outcome.status, RunStatus::Failed);
    let message = outcome.failure.unwrap().message;
    assert_ne!(message, "late");
}
