//! Tests errors, the tasks that catch them, and retries.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{document, ended, error, kind, kind_of, output, output_of, run, tasks};

const RAISE: &str =
    "raise: { error: { type: 'https://e.example/busy', status: 503, title: Busy, detail: '${ .why }' } }";

#[test]
fn a_raised_error_ends_the_process_with_its_object() {
    let text = tasks(&format!("a: {{ {RAISE} }}"));
    let outcome = ended(run(&text, &json!({ "why": "Too much." })));
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.kind, "https://e.example/busy");
    assert_eq!(failure.message, "Busy: Too much.");
    assert_eq!(
        failure.details.unwrap().to_value(),
        json!({ "type": "https://e.example/busy", "status": 503, "title": "Busy", "detail": "Too much.", "instance": "/do/0/a" })
    );
    let named = document(
        "use: { errors: { e: { type: 'https://e.example/e', status: '${ .s }', instance: /elsewhere } } }\ndo: [ { a: { raise: { error: e } } } ]",
    );
    assert_eq!(
        kind(run(&named, &json!({ "s": 400 }))),
        ("e".to_owned(), 400, "/elsewhere".to_owned())
    );
    assert_eq!(
        kind(run(&named, &json!({ "s": "x" }))),
        ("expression".to_owned(), 400, "/do/0/a".to_owned())
    );
}

#[test]
fn a_catch_takes_what_it_asks_for() {
    let text = |catch: &str| {
        format!(
            "t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{ {catch} do: [ {{ b: {{ set: {{ caught: '${{ $error.status }}', n: '${{ .n }}' }} }} }} ] }} }}"
        )
    };
    let caught = json!({ "caught": 503, "n": 1 });
    for (catch, is_caught) in [
        ("", true),
        ("errors: { with: { status: 503 } },", true),
        ("errors: { with: { type: 'https://e.example/busy/' } },", true),
        ("errors: { with: { status: 500 } },", false),
        ("errors: { with: { status: '${ .s }' } },", true),
        ("when: $error.status == 503,", true),
        ("when: $error.status == 500,", false),
        ("exceptWhen: $error.title == \"Busy\",", false),
        ("exceptWhen: .n == 2,", true),
    ] {
        let input = json!({ "why": "x", "n": 1, "s": 503 });
        match is_caught {
            true => assert_eq!(output_of(&text(catch), input), caught, "{catch}"),
            false => assert_eq!(kind_of(&text(catch), input).0, "busy", "{catch}"),
        }
    }
    let named = "t: { try: [ { a: { raise: { error: { type: 'https://e.example/x', status: 400 } } } } ], \
                  catch: { as: problem, do: [ { b: { set: { p: '${ $problem }' } } } ] } }";
    assert_eq!(output_of(named, json!({}))["p"]["instance"], "/do/0/t/try/0/a");
}

#[test]
fn an_error_without_handler_and_retry_is_passed_over() {
    let text = format!(
        "t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{}} }} ;; c: {{ set: {{ after: '${{ .why }}' }} }}"
    );
    assert_eq!(output_of(&text, json!({ "why": "x" })), json!({ "after": "x" }));
}

#[test]
fn an_error_of_the_handler_is_not_caught_again() {
    let text = format!(
        "t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{ do: [ {{ b: {{ raise: {{ error: {{ type: 'https://e.example/second', status: 500 }} }} }} }} ] }} }}"
    );
    assert_eq!(kind_of(&text, json!({ "why": "x" })).0, "second");
}

/// Returns the length of each pause between attempts, in milliseconds.
fn pauses(retry: &str) -> Vec<u64> {
    let text = tasks(&format!(
        "t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{ retry: {{ {retry} }}, do: [] }} }}"
    ));
    let outcome = ended(run(&text, &json!({ "why": "x", "ms": 1_500 })));
    assert!(outcome.result.is_some(), "{:?}", outcome.failure);
    let history = serde_json::to_value(&outcome.history).unwrap();
    let events = history.as_array().unwrap().iter();
    events
        .filter_map(|event| find(event, "fire_after_ms")?.as_u64())
        .collect()
}

fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields
            .get(name)
            .or_else(|| fields.values().find_map(|value| find(value, name))),
        _ => None,
    }
}

#[test]
fn retry_policies() {
    let count = "limit: { attempt: { count: 4 } }";
    let with = |parts: &str| pauses(&format!("{parts}, {count}"));
    assert_eq!(with("delay: PT1S"), [1_000; 4]);
    assert_eq!(with("delay: PT1S, backoff: { constant: {} }"), [1_000; 4]);
    assert_eq!(
        with("delay: PT1S, backoff: { linear: {} }"),
        [1_000, 2_000, 3_000, 4_000]
    );
    assert_eq!(
        with("delay: { seconds: 1 }, backoff: { exponential: {} }"),
        [1_000, 2_000, 4_000, 8_000]
    );
    assert_eq!(with("delay: '${ { milliseconds: .ms } }'"), [1_500; 4]);
    assert_eq!(pauses(count), [0; 4]);
    assert!(with("delay: PT1S, when: 'false'").is_empty());
    assert!(with("delay: PT1S, exceptWhen: $error.status == 503").is_empty());
    assert_eq!(pauses("delay: PT2S, limit: { duration: PT7S }"), [2_000; 3]);
    let jitter = with("delay: PT1S, jitter: { from: PT1S, to: PT3S }");
    assert_eq!(jitter.len(), 4);
    assert!(
        jitter.iter().all(|pause| (2_000..=4_000).contains(pause)),
        "{jitter:?}"
    );
    assert_eq!(jitter, with("delay: PT1S, jitter: { from: PT1S, to: PT3S }"));
}

#[test]
fn an_error_that_was_retried_in_vain_is_raised_again_or_handled() {
    let retry = "retry: { delay: PT1S, limit: { attempt: { count: 2 } } }";
    let text = format!("t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{ {retry} }} }}");
    assert_eq!(kind_of(&text, json!({ "why": "x" })).0, "busy");
    let named = document(&format!(
        "use: {{ retries: {{ r: {{ limit: {{ attempt: {{ count: 1 }} }} }} }} }}
do: [ {{ t: {{ try: [ {{ a: {{ {RAISE} }} }} ], catch: {{ retry: r, do: [ {{ b: {{ set: {{ gave: up }} }} }} ] }} }} }} ]"
    ));
    assert_eq!(
        output(run(&named, &json!({ "why": "x" }))),
        json!({ "gave": "up" })
    );
}

#[test]
fn an_attempt_may_take_so_long() {
    let retry = "retry: { limit: { attempt: { count: 1, duration: PT5S } } }";
    let text = format!("t: {{ try: [ {{ a: {{ wait: PT1H }} }} ], catch: {{ {retry} }} }}");
    let outcome = ended(run(&tasks(&text), &json!({})).until(Duration::from_secs(11)));
    assert!(outcome.failure.unwrap().kind.ends_with("/timeout"));
}

#[test]
fn expressions_without_a_result_are_errors_of_their_task() {
    for source in [
        "empty",
        "1, 2",
        ".a.b",
        "error(\"odd\")",
        "[range(400000)]",
        "[range(300)] | reduce .[] as $i (0; [.])",
    ] {
        let text = format!("x: {{ do: [ {{ a: {{ set: {{ v: '${{ {source} }}' }} }} }} ] }}");
        let (kind, status, instance) = kind_of(&text, json!({ "a": 1 }));
        assert_eq!(
            (kind.as_str(), status, instance.as_str()),
            ("expression", 400, "/do/0/x/do/0/a"),
            "{source}"
        );
    }
    for text in [
        "a: { if: error, set: {} }",
        "a: { input: { from: error }, set: {} }",
        "a: { output: { as: error }, set: {} }",
        "a: { export: { as: error }, set: {} }",
        "a: { for: { in: '1' }, do: [] }",
        "a: { for: { in: error }, do: [] }",
        "a: { for: { in: '[1]' }, while: error, do: [] }",
        "a: { wait: '${ 5 }' }",
        "a: { timeout: { after: '${ \"x\" }' }, set: {} }",
        "a: { try: [ { b: { raise: { error: { type: 'https://e.example', status: 500 } } } } ], catch: { when: error } }",
    ] {
        let (kind, _, instance) = kind_of(text, json!({}));
        assert_eq!(
            (kind.as_str(), instance.as_str()),
            ("expression", "/do/0/a"),
            "{text}"
        );
    }
    let ended = document("output: { as: error }\ndo: []");
    assert_eq!(kind(run(&ended, &json!({}))).2, "/output");
}

#[test]
fn values_are_held_against_their_schemas() {
    let schema = "schema: { document: { type: object, required: [n] } }";
    for (text, instance) in [
        (
            format!("a: {{ input: {{ {schema} }}, set: {{ n: 1 }} }}"),
            "/do/0/a",
        ),
        (
            format!("a: {{ output: {{ {schema} }}, set: {{ m: 1 }} }}"),
            "/do/0/a",
        ),
        (
            format!("a: {{ export: {{ as: '{{}}', {schema} }}, set: {{ n: 1 }} }}"),
            "/do/0/a",
        ),
    ] {
        let (kind, status, at) = kind_of(&text, json!({}));
        assert_eq!(
            (kind.as_str(), status, at.as_str()),
            ("validation", 400, instance),
            "{text}"
        );
    }
    let text = document(&format!("input: {{ {schema} }}\ndo: []"));
    assert_eq!(kind(run(&text, &json!({}))).2, "/input");
    assert_eq!(output(run(&text, &json!({ "n": 1 }))), json!({ "n": 1 }));
}

#[test]
fn no_secret_gets_into_a_history() {
    let text = document("use: { secrets: [key] }\ndo: [ { a: { set: { k: '${ $secrets.key }' } } } ]");
    let error = error(run(&text, &json!({})));
    assert_eq!(error["status"], 403);
    assert!(error["detail"].as_str().unwrap().contains("the secret 'key'"));
}
