//! Replays stored histories with the present code: a change that would break runs under way fails here.
//!
//! A stored file never changes, because runs with such a history may exist. `CORPUS_WRITE=1 cargo test -p
//! runs --test corpus` writes the missing files of new cases.

#![cfg(test)]

mod echo;
mod process_cases;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::time::Duration;

use runs::process::Expressions;
use serde_json::{Value, json};
use workflow::event::{Event, EventKind};
use workflow::testing::{TestOutcome, TestRun, check_history};
use workflow::{Context, Failure, Registry};

const FOLDER: &str = "tests/corpus";
const DONE: &str = r#""done""#;
const SECOND: Duration = Duration::from_secs(1);

fn registry() -> Registry {
    let registry = echo::add(runs::registry());
    runs::process::with_expressions(registry, Expressions::in_process())
}

/// Returns name and text of each file.
fn stored() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.push((name, fs::read_to_string(path).unwrap()));
    }
    files.sort();
    files
}

fn echo_run() -> TestRun {
    TestRun::new(&registry(), "Echo", "Ada")
}

fn batch(input: Value) -> TestRun {
    let child = |context: Context, input: Value| async move {
        context.timer(SECOND).await?;
        match input["document_id"].as_str() {
            Some("bad") => Err(Failure::new("Unreadable", "It cannot be read.")),
            _ => Ok(()),
        }
    };
    TestRun::new(&registry().workflow("Child", child), "BatchAgentWorkflow", &input)
}

/// A delivery whose attempts have these outcomes in turn; the last one repeats.
fn delivery(outcomes: &'static [&'static str]) -> TestRun {
    let input = json!({"event_id": "e", "id": "d", "subscription_id": "s", "attempt": 1});
    TestRun::new(&registry(), "WebhookDelivery", &input).mock("webhook_attempt", |input| {
        let attempt = input["attempt"].as_u64().unwrap();
        let made = json!({"attempt": attempt, "started_at": input["started_at"], "duration_ms": 7, "response_status": 500});
        let place = usize::try_from(attempt - 1).unwrap().min(outcomes.len() - 1);
        let next: Value = serde_json::from_str(outcomes[place]).unwrap();
        Ok(json!({"attempt": made, "next": next}))
    })
}

/// A queued start of `Echo` whose every look for its turn has this outcome.
fn queued(outcome: &'static str) -> TestRun {
    let lane = json!({"lane": "s#1", "event_id": "e", "received_at": "2026-01-01T00:00:00.000Z"});
    let then = json!({"workflow_type": "Echo", "input": "Ada"});
    let input = json!({"lane": lane, "workflow_id": "order-7", "then": then});
    TestRun::new(&registry(), "QueuedStart", &input)
        .mock("look_for_turn", move |_| {
            Ok(serde_json::from_str::<Value>(outcome).unwrap())
        })
        .mock("leave_lane", |_| Ok(Value::Null))
}

/// A redrive of two deliveries, one of which is refused.
fn redrive() -> TestRun {
    let input = json!({"selection": {}, "limit": 10, "rate_per_second": 5});
    TestRun::new(&registry(), "DeliveryRedrive", &input)
        .mock("redrive_find", |_| Ok(json!({"ids": ["d", "e"], "next": null})))
        .mock("redrive_deliveries", |_| {
            Ok(json!([{"delivery_id": "e", "reason": "The subscription 's' is deleted."}]))
        })
}

/// An evaluation with this outcome under `enforce` and `fail_closed`, and the delivery that may follow.
fn evaluation(outcome: &'static str) -> TestRun {
    let delivery = json!({"event_id": "e", "id": "d", "subscription_id": "s", "attempt": 1});
    let input = json!({
        "event_id": "e", "subscription_id": "s", "condition": {"instruction": "It is urgent."},
        "then": {"workflow_type": "WebhookDelivery", "input": delivery},
    });
    let attempt = json!({"attempt": {"attempt": 1, "started_at": "2026-01-01T00:00:00.000Z", "duration_ms": 7}, "next": "done"});
    TestRun::new(&registry(), "SubscriptionEvaluation", &input)
        .mock("evaluate_condition", move |_| {
            serde_json::from_str(outcome).map_err(|_| Failure::new("ModelUnavailable", outcome))
        })
        .mock("webhook_attempt", move |_| Ok(attempt.clone()))
}

/// A conversation whose model gives these answers in turn; the last one repeats.
fn agent(input: &Value, answers: &'static [&'static str]) -> TestRun {
    let opening = json!([{ "role": "user", "text": "Work." }]);
    TestRun::new(&registry(), "AgentConversation", input)
        .mock("agent_prepare", move |_| {
            Ok(json!({ "agent": { "name": "Helper", "id": "i" }, "opening": opening }))
        })
        .mock("agent_model_turn", move |turn| {
            let number = usize::try_from(turn["number"].as_u64().unwrap()).unwrap();
            let content: Value = serde_json::from_str(answers[number.min(answers.len()) - 1]).unwrap();
            let usage = json!({ "input_tokens": 10, "output_tokens": 5, "cached_tokens": null });
            Ok(json!({ "content": content, "stop": "end", "usage": usage, "model": "m" }))
        })
        .mock("agent_tool", |_| Ok(json!({ "text": "{}", "is_error": false })))
}

const AGENT_SAYS: &str = r#"[{ "type": "text", "text": "Done." }]"#;
const AGENT_LISTS: &str = r#"[{ "type": "tool_call", "id": "c", "name": "list_runs", "arguments": {} }]"#;
const AGENT_ASKS: &str =
    r#"[{ "type": "tool_call", "id": "c", "name": "ask_user", "arguments": { "question": "Which?" } }]"#;

/// Returns the stored cases, each with the history that the present code produces.
fn cases() -> Vec<(&'static str, Vec<Event>)> {
    let last = |run: TestRun| run.run().unwrap().history;
    let few = || json!({"documents": ["a", "bad", "c", "d", "e"], "type": "Child", "input": {"depth": 1}, "concurrency": 2});
    let many: Vec<_> = (0..201).map(|number| format!("d{number}")).collect();
    let long: TestOutcome = batch(json!({"documents": many, "type": "Child"})).run().unwrap();
    let late: TestOutcome = delivery(&[r#"{"after": 600000}"#, DONE]).run().unwrap();
    let said = json!({"message": "hello", "from": "Grace"});
    vec![
        (
            "AgentConversation-completed",
            last(agent(&json!({}), &[AGENT_LISTS, AGENT_SAYS])),
        ),
        (
            "AgentConversation-asked",
            last(agent(&json!({}), &[AGENT_ASKS, AGENT_SAYS]).signal_at(SECOND, "UserInput", &said)),
        ),
        (
            "AgentConversation-interactive-canceled",
            last(
                agent(&json!({ "interactive": true }), &[AGENT_SAYS])
                    .signal_at(SECOND, "UserInput", &said)
                    .cancel_at(SECOND * 2, "Enough."),
            ),
        ),
        (
            "AgentConversation-failed",
            last(agent(&json!({ "max_iterations": 2 }), &[AGENT_LISTS])),
        ),
        ("BatchAgentWorkflow-completed", last(batch(few()))),
        (
            "BatchAgentWorkflow-canceled",
            last(batch(few()).cancel_at(SECOND + SECOND / 2, "no longer wanted")),
        ),
        (
            "BatchAgentWorkflow-failed",
            last(batch(json!({"documents": "all"}))),
        ),
        (
            "BatchAgentWorkflow-child-not-started",
            last(batch(json!({"documents": ["a"], "type": "Gone"}))),
        ),
        (
            "BatchAgentWorkflow-continued-as-new",
            long.runs[0].history.clone(),
        ),
        ("BatchAgentWorkflow-continued", long.history),
        ("WebhookDelivery-completed", last(delivery(&[DONE]))),
        (
            "WebhookDelivery-retried",
            last(delivery(&[r#"{"after": 5000}"#, r#"{"after": 30000}"#, DONE])),
        ),
        (
            "WebhookDelivery-retried-early",
            last(delivery(&[r#"{"after": 60000}"#, DONE]).signal_at(SECOND, "Retry", &Value::Null)),
        ),
        (
            "WebhookDelivery-failed",
            last(delivery(&[
                r#"{"give_up": "The receiver answered with the status 404."}"#,
            ])),
        ),
        (
            "WebhookDelivery-unwanted",
            last(delivery(&[r#"{"unwanted": "The subscription is disabled."}"#])),
        ),
        (
            "WebhookDelivery-canceled",
            last(delivery(&[r#"{"after": 5000}"#]).cancel_at(SECOND, "no longer wanted")),
        ),
        ("WebhookDelivery-continued-as-new", late.runs[0].history.clone()),
        ("WebhookDelivery-continued", late.history),
        (
            "SubscriptionEvaluation-matched",
            evaluation(r#"{"verdict": {"matched": true, "rationale": "It says so."}}"#)
                .run()
                .unwrap()
                .runs[0]
                .history
                .clone(),
        ),
        (
            "SubscriptionEvaluation-not-matched",
            last(evaluation(
                r#"{"verdict": {"matched": false, "rationale": "It does not say so."}}"#,
            )),
        ),
        (
            "SubscriptionEvaluation-no-verdict",
            last(evaluation(r#"{"no_verdict": "The model gave no verdict."}"#)),
        ),
        (
            "SubscriptionEvaluation-unwanted",
            last(evaluation(r#"{"unwanted": "The subscription was deleted."}"#)),
        ),
        (
            "SubscriptionEvaluation-model-away",
            last(evaluation("The model provider failed.")),
        ),
        (
            "SubscriptionEvaluation-canceled",
            last(
                evaluation(r#"{"no_verdict": "x"}"#)
                    .taking("evaluate_condition", SECOND * 5)
                    .cancel_at(SECOND, "no longer wanted"),
            ),
        ),
        ("DeliveryRedrive-completed", last(redrive())),
        (
            "DeliveryRedrive-canceled",
            last(redrive().cancel_at(SECOND / 10, "Not now.")),
        ),
        ("QueuedStart-completed", last(queued(r#""begins""#))),
        (
            "QueuedStart-canceled",
            last(queued(r#"{"waits_ms": 5000}"#).cancel_at(SECOND, "no longer wanted")),
        ),
        ("Echo-signal", last(echo_run().signal_at(SECOND, "Say", &said))),
        ("Echo-timer", last(echo_run())),
        (
            "Echo-failed",
            last(echo_run().mock("send", |_| Err(Failure::new("Busy", "Later.")))),
        ),
        ("Echo-timed-out", last(echo_run().taking("send", SECOND * 61))),
        (
            "Echo-canceled-while-waiting",
            last(echo_run().cancel_at(SECOND, "no longer wanted")),
        ),
        (
            "Echo-canceled-while-sending",
            last(
                echo_run()
                    .signal_at(SECOND, "Say", &said)
                    .taking("send", SECOND * 5)
                    .cancel_at(SECOND * 2, ""),
            ),
        ),
    ]
}

fn all_cases() -> Vec<(&'static str, Vec<Event>)> {
    let mut all = cases();
    all.extend(process_cases::cases(&registry()));
    all
}

/// A case whose input no longer fits its type would fail at once, and its history would test nothing.
#[test]
fn a_case_that_is_to_complete_does() {
    for (name, history) in all_cases() {
        let last = history.last().map(|event| event.kind.name());
        let is_right = !name.ends_with("-completed") || last == Some("WORKFLOW_EXECUTION_COMPLETED");
        assert!(
            is_right,
            "The case {name} ends with {last:?}: give it an input that the type takes, and delete {FOLDER}/{name}.json if it was \
             written before."
        );
    }
}

#[test]
fn every_case_is_stored() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a variable of the test alone; no service reads it"
    )]
    let writes = std::env::var("CORPUS_WRITE").is_ok_and(|value| value == "1");
    let cases = all_cases();
    for (name, history) in &cases {
        let path = format!("{FOLDER}/{name}.json");
        if writes && !fs::exists(&path).unwrap() {
            let text = serde_json::to_string_pretty(history).unwrap() + "\n";
            let mut file = fs::File::create_new(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        assert!(
            fs::exists(&path).unwrap(),
            "{path} is missing: CORPUS_WRITE=1 writes it"
        );
    }
    let types: BTreeSet<_> = cases
        .iter()
        .filter_map(|(name, _)| name.split('-').next())
        .collect();
    for workflow_type in registry().workflow_types() {
        assert!(
            types.contains(workflow_type),
            "{workflow_type} has no stored history"
        );
    }
}

#[test]
fn every_stored_history_fits_the_code_of_today() {
    let mut failures = Vec::new();
    for (name, text) in stored() {
        let history: Vec<Event> = serde_json::from_str(&text).unwrap();
        if let Err(failure) = check_history(&registry(), &history) {
            failures.push(format!("{name}: {failure}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{}\nRuns that began with the code before would stop. Change the code so that they fit (docs/workflow-types.md: Changing \
         code that has runs). If no run of the type was ever started, delete the files in {FOLDER}; `make test-workflows` stores \
         new ones.",
        failures.join("\n")
    );
}

#[test]
fn a_stored_history_is_written_again_as_it_was() {
    for (name, text) in stored() {
        let history: Vec<Event> = serde_json::from_str(&text).unwrap();
        let written = serde_json::to_string_pretty(&history).unwrap() + "\n";
        assert_eq!(written, text, "{name}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(&history).unwrap(), value, "{name}");
    }
}

#[test]
fn the_corpus_has_each_thing_that_code_can_wait_for_and_each_end() {
    let mut names = BTreeSet::new();
    for (_, text) in stored() {
        let history: Vec<Event> = serde_json::from_str(&text).unwrap();
        names.extend(history.iter().map(|event| event.kind.name()));
    }
    for name in [
        "ACTIVITY_TASK_CANCELED",
        "ACTIVITY_TASK_COMPLETED",
        "ACTIVITY_TASK_FAILED",
        "ACTIVITY_TASK_TIMED_OUT",
        "CHILD_WORKFLOW_EXECUTION_CANCELED",
        "CHILD_WORKFLOW_EXECUTION_COMPLETED",
        "CHILD_WORKFLOW_EXECUTION_FAILED",
        "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED",
        "START_CHILD_WORKFLOW_EXECUTION_FAILED",
        "TIMER_CANCELED",
        "TIMER_FIRED",
        "WORKFLOW_EXECUTION_CANCELED",
        "WORKFLOW_EXECUTION_COMPLETED",
        "WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
        "WORKFLOW_EXECUTION_FAILED",
        "WORKFLOW_EXECUTION_SIGNALED",
    ] {
        assert!(names.contains(name), "{name}");
    }
}

#[test]
fn a_history_that_parts_from_the_code_is_named_with_its_event() {
    let changed = |file: &str, change: fn(&mut EventKind)| {
        let text = fs::read_to_string(format!("{FOLDER}/{file}.json")).unwrap();
        let mut history: Vec<Event> = serde_json::from_str(&text).unwrap();
        history.iter_mut().for_each(|event| change(&mut event.kind));
        check_history(&registry(), &history).unwrap_err().to_string()
    };
    let renamed = changed("Echo-signal", |kind| {
        if let EventKind::ActivityTaskScheduled { name, .. } = kind {
            *name = "post".to_owned();
        }
    });
    assert_eq!(
        renamed,
        "NonDeterministic: The history has ACTIVITY_TASK_SCHEDULED of 'post' (id 1) at event 5; the code asks for ACTIVITY_TASK_SCHEDULED of 'send' (id 1) there."
    );
    let other_type = changed("BatchAgentWorkflow-completed", |kind| {
        if let EventKind::StartChildWorkflowExecutionInitiated { workflow_type, .. } = kind {
            *workflow_type = "Other".to_owned();
        }
    });
    assert_eq!(
        other_type,
        "NonDeterministic: The history has START_CHILD_WORKFLOW_EXECUTION_INITIATED of 'Other' (workflow id test-0) at event 2; the code asks for START_CHILD_WORKFLOW_EXECUTION_INITIATED of 'Child' (workflow id test-0) there."
    );
}
