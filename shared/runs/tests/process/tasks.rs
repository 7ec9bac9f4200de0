//! Tests each task type that needs nothing outside.

use std::time::Duration;

use serde_json::{Value, json};
use workflow::Failure;
use workflow::status::RunStatus;

use crate::world::{document, ended, kind, kind_of, output, output_of, run, tasks};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_process_without_tasks_gives_its_input() {
    assert_eq!(
        output(run(&document("do: []"), &json!({ "a": 1 }))),
        json!({ "a": 1 })
    );
}

#[test]
fn numbers_keep_their_digits() {
    let text = "123456789012345678901234567890.10";
    let input: Box<serde_json::value::RawValue> =
        serde_json::from_str(&format!(r#"{{"n":{text}}}"#)).unwrap();
    let outcome = ended(run(&tasks("a: { set: { n: '${ .n }', m: 2.50 } }"), &input));
    let last = serde_json::to_string(outcome.history.last().unwrap()).unwrap();
    assert!(last.contains(&format!(r#"{{"n":{text},"m":2.50}}"#)), "{last}");
}

#[test]
fn set_and_do() {
    let text = "a: { do: [ { b: { set: { x: '${ .n + 1 }', list: [1, '${ .n }'] } } }, { c: { set: { y: '${ .x * 2 }' } } } ] }";
    assert_eq!(output_of(text, json!({ "n": 1 })), json!({ "y": 4 }));
}

#[test]
fn a_task_is_skipped_unless_its_if_holds() {
    let text = "a: { if: .go, input: { from: .inner }, set: { done: true } }";
    assert_eq!(
        output_of(text, json!({ "inner": { "go": false } })),
        json!({ "inner": { "go": false } })
    );
    assert_eq!(
        output_of(text, json!({ "inner": { "go": true } })),
        json!({ "done": true })
    );
}

#[test]
fn data_is_shaped_on_its_way() {
    let text = document(
        "input: { from: .first }
output: { as: '{ end: ., context: $context }' }
do:
- a: { input: { from: '{ n: .n }' }, set: { doubled: '${ .n * 2 }', raw: '${ $task.input }', seen: '${ $input }' },
       output: { as: '. + { shaped: true }' }, export: { as: '{ kept: $output.doubled, before: $context.first.n }' } }
- b: { set: { a: '${ . }', c: '${ $context }' } }",
    );
    let a = json!({ "doubled": 6, "raw": { "n": 3, "m": 4 }, "seen": { "n": 3 }, "shaped": true });
    let context = json!({ "kept": 6, "before": 3 });
    assert_eq!(
        output(run(&text, &json!({ "first": { "n": 3, "m": 4 } }))),
        json!({ "end": { "a": a, "c": context }, "context": context })
    );
}

#[test]
fn the_descriptors_tell_of_the_run() {
    let text = "a: { set: { n: '${ $task.name }', r: '${ $task.reference }', s: '${ $task.startedAt.epoch.seconds }', \
                 w: '${ $workflow.definition.document.name }', i: '${ $workflow.input }', id: '${ $workflow.id | length }', \
                 rt: '${ $runtime.name }', no: '${ $authorization }' } }";
    assert_eq!(
        output_of(text, json!({ "x": 1 })),
        json!({ "n": "a", "r": "/do/0/a", "s": 1_767_225_600, "w": "sample", "i": { "x": 1 }, "id": 36, "rt": "Millrace", "no": null })
    );
}

#[test]
fn for_repeats_until_its_while_fails() {
    let text = "a: { for: { each: x, in: .list, at: i }, while: '(.sum // 0) < 5', \
                 do: [ { add: { set: { sum: '${ (.sum // 0) + $x }', last: '${ $i }' } } } ] }";
    assert_eq!(
        output_of(text, json!({ "list": [1, 2, 3, 4] })),
        json!({ "sum": 6, "last": 2 })
    );
    let nested = "a: { for: { in: '[1, 2]' }, do: [ { b: { for: { each: y, in: '[10, 20]' }, \
                   do: [ { c: { set: { all: '${ (.all // []) + [$item * $y] }' } } } ] } } ] }";
    assert_eq!(output_of(nested, json!({})), json!({ "all": [10, 20, 20, 40] }));
}

#[test]
fn fork_joins_its_branches_in_their_order() {
    let text = "a: { fork: { branches: [ { slow: { do: [ { w: { wait: PT5S } }, { s: { set: { n: 1 } } } ] } }, \
                 { fast: { set: { n: 2 } } } ] } }";
    let outcome = ended(run(&tasks(text), &json!({})));
    assert_eq!(outcome.result, Some(json!([{ "n": 1 }, { "n": 2 }])));
}

#[test]
fn the_first_branch_to_complete_wins_and_the_others_are_cancelled() {
    let text = "a: { fork: { compete: true, branches: [ { slow: { wait: PT50S } }, \
                 { failing: { raise: { error: { type: 'https://e.example/x', status: 500 } } } }, \
                 { fast: { do: [ { w: { wait: PT5S } }, { s: { set: { n: 2 } } } ] } } ] } }";
    let outcome = ended(run(&tasks(text), &json!({})));
    assert_eq!(outcome.result, Some(json!({ "n": 2 })));
    assert!(outcome.event_names().contains(&"TIMER_CANCELED"));
}

#[test]
fn an_error_of_a_branch_ends_the_others() {
    let branches = "{ slow: { wait: PT50S } }, { bad: { raise: { error: { type: 'https://e.example/x', status: 418 } } } }";
    let text = format!("a: {{ fork: {{ branches: [ {branches} ] }} }}");
    let (kind, status, instance) = kind_of(&text, json!({}));
    assert_eq!(
        (kind.as_str(), status, instance.as_str()),
        ("x", 418, "/do/0/a/fork/branches/1/bad")
    );
}

#[test]
fn then_goes_where_it_says() {
    let text = "a: { set: { n: 1 }, then: c } ;; b: { set: { n: '${ .n * 10 }' } } ;; c: { set: { n: '${ .n + 1 }' }, then: exit } ;; d: { set: {} }";
    assert_eq!(output_of(text, json!({})), json!({ "n": 2 }));
    let ends = "a: { do: [ { b: { do: [ { c: { set: { n: 1 }, then: end } } ] } }, { d: { set: { n: 2 } } } ] } ;; e: { set: { n: 3 } }";
    assert_eq!(output_of(ends, json!({})), json!({ "n": 1 }));
    let back = "a: { set: { n: '${ (.n // 0) + 1 }' } } ;; b: { switch: [ { again: { when: .n < 5, then: a } }, { stop: { then: end } } ] } ;; c: { set: {} }";
    assert_eq!(output_of(back, json!({})), json!({ "n": 5 }));
}

#[test]
fn a_condition_after_the_one_that_holds_may_fail() {
    let text = "a: { switch: [ { one: { when: .n == 1, then: b } }, { bad: { when: error, then: c } } ] } ;; b: { set: { is: b }, then: end } ;; c: { set: { is: c } }";
    assert_eq!(output_of(text, json!({ "n": 1 })), json!({ "is": "b" }));
    assert_eq!(kind_of(text, json!({ "n": 2 })).0, "expression");
}

#[test]
fn functions_are_shared_tasks() {
    let text = document(
        "use: { functions: { double: { set: { n: '${ .n * 2 }' } }, twice: { do: [ { a: { call: double } }, { b: { call: double } } ] } } }
do: [ { x: { call: twice, with: { n: '${ .start }' } } }, { y: { call: double } } ]",
    );
    assert_eq!(output(run(&text, &json!({ "start": 3 }))), json!({ "n": 24 }));
}

#[test]
fn waits_take_their_time() {
    let text = tasks("a: { wait: { minutes: 2 } } ;; b: { wait: '${ .pause }' }");
    let running = ended(run(&text, &json!({ "pause": "PT1M" })).until(SECOND * 179));
    assert_eq!(running.status, RunStatus::Running);
    assert_eq!(
        running.query("__state"),
        Ok(json!({ "tasks": [{ "task": "/do/1/b" }], "context": { "pause": "PT1M" } }))
    );
    assert_eq!(
        output(run(&text, &json!({ "pause": "PT1M" })).until(SECOND * 181)),
        json!({ "pause": "PT1M" })
    );
    assert_eq!(kind(run(&text, &json!({ "pause": "1 minute" }))).0, "expression");
}

#[test]
fn timeouts_of_tasks_and_of_the_process() {
    let text = "a: { timeout: { after: PT5S }, do: [ { w: { wait: PT1M } } ] }";
    assert_eq!(
        kind_of(text, json!({})),
        ("timeout".to_owned(), 408, "/do/0/a".to_owned())
    );
    let caught = "t: { try: [ { a: { timeout: { after: '${ .limit }' }, wait: PT1M } } ], catch: { errors: { with: { status: 408 } }, \
                   do: [ { late: { set: { late: '${ $error.instance }' } } } ] } }";
    assert_eq!(
        output_of(caught, json!({ "limit": "PT1S" })),
        json!({ "late": "/do/0/t/try/0/a" })
    );
    let in_time = "a: { timeout: { after: PT2M }, wait: PT1M }";
    assert_eq!(output_of(in_time, json!({})), json!({}));
    let whole = document("timeout: { after: { seconds: 5 } }\ndo: [ { a: { wait: PT1M } } ]");
    assert_eq!(
        kind(run(&whole, &json!({}))),
        ("timeout".to_owned(), 408, "/".to_owned())
    );
}

#[test]
fn a_cancelled_run_ends_canceled_also_within_a_try() {
    let text = tasks(
        "t: { try: [ { a: { wait: PT1H } } ], catch: { do: [ { b: { set: { caught: true } } } ] } } ;; c: { set: {} }",
    );
    let outcome = ended(run(&text, &json!({})).cancel_at(SECOND, "no longer wanted"));
    assert_eq!(outcome.status, RunStatus::Canceled);
    let timed = tasks("t: { timeout: { after: PT2H }, fork: { branches: [ { a: { wait: PT1H } } ] } }");
    let outcome = ended(run(&timed, &json!({})).cancel_at(SECOND, "no longer wanted"));
    assert_eq!(outcome.status, RunStatus::Canceled);
}

/// A process whose inner and outer steps are undone, each by a call that is counted.
fn saga(handler: &str) -> String {
    let emit = |name: &str| {
        format!(
            "{{ {name}: {{ emit: {{ event: {{ with: {{ type: {name}, source: 'https://a.example' }} }} }} }} }}"
        )
    };
    tasks(&format!(
        "outer: {{ try: [ {}, {{ inner: {{ try: [ {}, {{ w: {{ wait: PT1H }} }} ], catch: {{ as: e, do: [ {handler}, {} ] }} }} }} ], \
         catch: {{ errors: {{ with: {{ status: 499 }} }}, do: [ {} ] }} }} ;; after: {{ set: {{}} }}",
        emit("reserve"),
        emit("ship"),
        emit("recall"),
        emit("release"),
    ))
}

fn emitted(outcome: &workflow::testing::TestOutcome, kinds: &std::sync::Mutex<Vec<String>>) -> Vec<String> {
    assert_eq!(outcome.status, RunStatus::Canceled, "{:?}", outcome.failure);
    kinds.lock().unwrap().clone()
}

fn cancelled_saga(handler: &str) -> Vec<String> {
    let kinds = std::sync::Arc::<std::sync::Mutex<Vec<String>>>::default();
    let seen = std::sync::Arc::clone(&kinds);
    let run = run(&saga(handler), &json!({})).mock("process_emit", move |emitted| {
        seen.lock()
            .unwrap()
            .push(emitted["kind"].as_str().unwrap().to_owned());
        Ok(Value::Null)
    });
    let outcome = ended(run.cancel_at(SECOND, "The customer changed their mind."));
    emitted(&outcome, &kinds)
}

#[test]
fn cancelled_process_runs_its_handlers_from_the_inside_out_and_ends_canceled() {
    let all = ["reserve", "ship", "recall", "release"];
    let quick = "{ s: { set: { t: '${ if $e.status == 499 then $e.type else error(\"no\") end }' } } }";
    assert_eq!(cancelled_saga(quick), all);
    assert_eq!(cancelled_saga("{ w: { wait: PT9M } }"), all);
    // A handler that fails does not keep the ones around it from undoing their part.
    let failing = "{ r: { raise: { error: { type: 'https://a.example', status: 500 } } } }";
    assert_eq!(cancelled_saga(failing), ["reserve", "ship", "release"]);
}

#[test]
fn handlers_of_a_cancellation_end_after_ten_minutes() {
    assert_eq!(cancelled_saga("{ w: { wait: PT11M } }"), ["reserve", "ship"]);
}

#[test]
fn every_branch_of_a_cancelled_fork_runs_its_handler() {
    let undone = |name: &str| {
        format!(
            "{{ {name}: {{ try: [ {{ w{name}: {{ wait: PT1H }} }} ], catch: {{ do: [ {{ u{name}: {{ emit: {{ event: \
             {{ with: {{ type: {name}, source: 'https://a.example' }} }} }} }} }} ] }} }} }}"
        )
    };
    let text = tasks(&format!(
        "t: {{ timeout: {{ after: PT2H }}, fork: {{ branches: [ {}, {} ] }} }}",
        undone("a"),
        undone("b")
    ));
    let kinds = std::sync::Arc::<std::sync::Mutex<Vec<String>>>::default();
    let seen = std::sync::Arc::clone(&kinds);
    let run = run(&text, &json!({})).mock("process_emit", move |emitted| {
        seen.lock()
            .unwrap()
            .push(emitted["kind"].as_str().unwrap().to_owned());
        Ok(Value::Null)
    });
    let outcome = ended(run.cancel_at(SECOND, "no longer wanted"));
    assert_eq!(emitted(&outcome, &kinds), ["a", "b"]);
}

#[test]
fn output_is_what_was_said_or_an_error() {
    for number in ["1e1000", "-1e400"] {
        let text = format!("a: {{ set: {{ v: '${{ {number} }}' }} }}");
        assert_eq!(kind_of(&text, json!({})).0, "expression", "{number}");
    }
    let input = serde_json::value::RawValue::from_string(r#"{"v": 1e1000}"#.to_owned()).unwrap();
    let passed = run(&tasks("a: { do: [] }"), &input);
    assert_eq!(kind(passed).0, "expression");
    assert_eq!(output_of("a: { set: '${ null }' }", json!({})), json!(null));
    let kept = run(&tasks("a: { set: { v: '${ .v }' } }"), &json!({ "v": 1e300 }));
    assert_eq!(output(kept), json!({ "v": 1e300 }));
}

#[test]
fn a_definition_that_is_missing_or_broken_ends_the_run() {
    for (loaded, part) in [
        (json!({ "text": null, "account": "a" }), "is not stored"),
        (json!({ "text": "do: []", "account": "a" }), "not valid"),
    ] {
        // A text of its own has a digest that the cache of compiled definitions does not contain yet.
        let text = document(&format!("metadata: {{ test: '{part}' }}\ndo: []"));
        let run = run(&text, &json!({})).mock("process_load", move |_| Ok(loaded.clone()));
        let error = crate::world::error(run);
        assert!(error["detail"].as_str().unwrap().contains(part), "{error}");
    }
    let busy = |_: Value| Err(Failure::permanent("internal", "Broken."));
    let outcome = ended(run(&document("do: []"), &json!({})).mock("process_load", busy));
    assert_eq!(outcome.status, RunStatus::Failed);
}
