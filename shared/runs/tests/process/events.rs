//! Tests emitted and received events, and processes that run other processes.

use std::time::Duration;

use serde_json::{Value, json};
use workflow::status::RunStatus;
use workflow::testing::TestRun;

use crate::world::{document, ended, error, kind, output, program_of, registry, run, tasks};

const SECOND: Duration = Duration::from_secs(1);

fn event(kind: &str, data: Value) -> Value {
    json!({ "message": "An event.", "specversion": "1.0", "type": kind, "source": "https://a.example", "data": data })
}

/// A run that receives these events, one per second.
fn hearing(text: &str, input: Value, events: &[Value]) -> TestRun {
    let mut run = run(&tasks(text), &input);
    for (index, event) in events.iter().enumerate() {
        run = run.signal_at(SECOND * u32::try_from(index + 1).unwrap(), "Event", event);
    }
    run
}

#[test]
fn an_emitted_event_is_the_output_and_its_id_is_that_of_each_attempt() {
    let text = tasks(
        "a: { emit: { event: { with: { source: 'https://a.example', type: com.example.done, data: { n: '${ .n }' }, extra: 1 } } } }",
    );
    let failing = std::sync::atomic::AtomicU32::new(0);
    let ids = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&ids);
    let run = run(&text, &json!({ "n": 2.50 })).mock("process_emit", move |emitted| {
        seen.lock().unwrap().push(emitted["id"].clone());
        match failing.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Err(workflow::Failure::new("unavailable", "Later.")),
            _ => Ok(Value::Null),
        }
    });
    let output = output(run);
    assert_eq!(output["data"], json!({ "n": 2.5 }));
    assert_eq!(
        (output["type"].as_str(), output["extra"].as_u64()),
        (Some("com.example.done"), Some(1))
    );
    let ids = ids.lock().unwrap();
    assert_eq!(*ids, [output["id"].clone(), output["id"].clone()]);
    let odd = tasks("a: { emit: { event: { with: { source: 'https://a.example', type: '${ .t }' } } } }");
    assert_eq!(kind(crate::world::run(&odd, &json!({ "t": "" }))).0, "expression");
}

/// Senders are strangers: what they send may fail in any expression.
#[test]
fn event_on_which_a_filter_or_a_correlation_fails_does_not_match_and_the_run_waits_on() {
    let odd = event("paid", json!({ "n": "abc" }));
    let with_id = |id: &str| {
        let mut event = event("paid", json!({ "n": id }));
        event["id"] = json!(id);
        event
    };
    for filter in [
        "{ type: paid, data: '${ (.n | tonumber) > 3 }' }",
        "{ type: paid, subject: '${ error(\"no\") }' }",
    ] {
        let text = format!("a: {{ listen: {{ to: {{ one: {{ with: {filter} }} }} }} }}");
        let outcome = ended(hearing(&text, json!({}), std::slice::from_ref(&odd)));
        assert_eq!(
            outcome.status,
            RunStatus::Running,
            "{filter}: {:?}",
            outcome.failure
        );
    }
    let text = "a: { listen: { to: { one: { with: { type: paid, data: '${ (.n | tonumber) > 3 }' } } } } }";
    let outcome = ended(hearing(
        text,
        json!({}),
        &[odd.clone(), with_id("3"), with_id("4")],
    ));
    assert_eq!(outcome.result, Some(json!([{ "n": "4" }])));
    let warning = &outcome.updates[0];
    assert_eq!(warning.kind, "WARNING");
    assert!(warning.message.contains("does not match"), "{}", warning.message);
    let correlated = "a: { listen: { to: { one: { with: { type: paid }, \
                      correlate: { n: { from: '.data.n | tonumber | tostring', expect: '5' } } } } } }";
    let outcome = ended(hearing(correlated, json!({}), &[odd, with_id("4"), with_id("5")]));
    assert_eq!(outcome.result, Some(json!([{ "n": "5" }])));
}

#[test]
fn one_event_of_a_filter() {
    let text = "a: { listen: { to: { one: { with: { type: paid, data: '${ .cents > 100 }' } } } } }";
    let events = [
        event("sent", json!({})),
        event("paid", json!({ "cents": 5 })),
        event("paid", json!({ "cents": 500 })),
    ];
    assert_eq!(
        output(hearing(text, json!({}), &events)),
        json!([{ "cents": 500 }])
    );
    let waiting = ended(hearing(text, json!({}), &events[..2]));
    assert_eq!(waiting.status, RunStatus::Running);
    assert_eq!(
        waiting.query("__state").unwrap()["tasks"],
        json!([{ "task": "/do/0/a", "waits_for": "Event" }])
    );
}

#[test]
fn an_event_may_come_before_and_is_taken_once() {
    let text = "w: { wait: PT5S } ;; a: { listen: { to: { one: { with: { type: x } } } } } ;; b: { listen: { to: { one: { with: { type: x } } }, read: envelope } }";
    let events = [event("x", json!(1)), event("x", json!(2))];
    let output = output(hearing(text, json!({}), &events));
    assert_eq!(output[0]["data"], 2);
    let twice = json!({ "event": { "id": "1", "source": "s", "type": "x", "data": 7 } });
    let waiting = ended(hearing(text, json!({}), &[twice.clone(), twice]));
    assert_eq!(waiting.status, RunStatus::Running, "the same event comes once");
}

#[test]
fn branches_that_wait_at_the_same_time_see_the_same_event() {
    let text = "f: { fork: { branches: [ { a: { listen: { to: { one: { with: { type: x } } } } } }, { b: { listen: { to: { one: { with: { type: x } } } } } } ] } }";
    assert_eq!(
        output(hearing(text, json!({}), &[event("x", json!(1))])),
        json!([[1], [1]])
    );
}

#[test]
fn any_and_all() {
    let any = "a: { listen: { to: { any: [ { with: { type: x } }, { with: { type: y } } ] } } }";
    assert_eq!(
        output(hearing(
            any,
            json!({}),
            &[event("z", json!(0)), event("y", json!(1))]
        )),
        json!([1])
    );
    let every = "a: { listen: { to: { any: [] } } }";
    assert_eq!(
        output(hearing(every, json!({}), &[event("z", json!(0))])),
        json!([0])
    );
    let all = "a: { listen: { to: { all: [ { with: { type: x } }, { with: { type: y } } ] } } }";
    let events = [event("y", json!(1)), event("y", json!(2)), event("x", json!(3))];
    assert_eq!(output(hearing(all, json!({}), &events)), json!([1, 3]));
}

#[test]
fn until_a_condition_or_other_events() {
    let condition = "a: { listen: { to: { any: [ { with: { type: x } } ], until: '(. | add) > 5' } } }";
    let events = [
        event("x", json!(2)),
        event("x", json!(3)),
        event("x", json!(4)),
        event("x", json!(5)),
    ];
    assert_eq!(output(hearing(condition, json!({}), &events)), json!([2, 3, 4]));
    let other =
        "a: { listen: { to: { any: [ { with: { type: x } } ], until: { one: { with: { type: stop } } } } } }";
    let events = [
        event("x", json!(2)),
        event("x", json!(3)),
        event("stop", json!(9)),
        event("x", json!(5)),
    ];
    assert_eq!(output(hearing(other, json!({}), &events)), json!([2, 3]));
}

#[test]
fn correlated_events() {
    let text = "a: { listen: { to: { all: [ { with: { type: x }, correlate: { order: { from: .data.order, expect: '${ .order }' } } }, \
                 { with: { type: y }, correlate: { order: { from: .data.order, expect: '${ .order }' } } } ] } } }";
    let of = |kind: &str, order: u32| event(kind, json!({ "order": order }));
    let events = [of("x", 1), of("x", 2), of("y", 1), of("y", 2)];
    assert_eq!(
        output(hearing(text, json!({ "order": 2 }), &events)),
        json!([{ "order": 2 }, { "order": 2 }])
    );
    let first = "a: { listen: { to: { all: [ { with: { type: x }, correlate: { order: { from: .data.order } } }, \
                  { with: { type: y }, correlate: { order: { from: .data.order } } } ] } } }";
    assert_eq!(
        output(hearing(first, json!({}), &[of("x", 1), of("y", 2), of("y", 1)])),
        json!([{ "order": 1 }, { "order": 1 }])
    );
}

#[test]
fn tasks_for_each_event() {
    let text = "a: { listen: { to: { any: [ { with: { type: x } } ], until: '. | length == 2' } }, \
                 foreach: { item: e, at: i, do: [ { b: { set: { got: '${ $e.n }', place: '${ $i }', input: '${ .n }' } } } ], \
                   output: { as: '{ got: .got, place: .place, input: .input }' }, export: { as: '{ last: $output.got }' } } } ;; c: { set: { all: '${ . }', last: '${ $context.last }' } }";
    let events = [event("x", json!({ "n": 1 })), event("x", json!({ "n": 2 }))];
    assert_eq!(
        output(hearing(text, json!({}), &events)),
        json!({ "all": [{ "got": 1, "place": 0, "input": 1 }, { "got": 2, "place": 1, "input": 2 }], "last": 2 })
    );
}

#[test]
fn a_listen_may_take_so_long() {
    let text = "t: { try: [ { a: { timeout: { after: PT10S }, listen: { to: { one: { with: { type: x } } } } } } ], catch: { errors: { with: { status: 408 } } } } ;; b: { set: { late: true } }";
    assert_eq!(output(hearing(text, json!({}), &[])), json!({ "late": true }));
    let outcome = ended(hearing(text, json!({}), &[]).cancel_at(SECOND, "no longer wanted"));
    assert_eq!(outcome.status, RunStatus::Canceled);
}

#[test]
fn run_whose_events_take_too_long_to_compare_fails_and_does_not_wait_for_ever() {
    let filter = |number: usize| format!("{{ with: {{ subject: '({})*x{number:02}' }} }}", "a?".repeat(300));
    let filters: Vec<_> = (0..20).map(filter).collect();
    let text = format!(
        "a: {{ try: [ {{ l: {{ listen: {{ to: {{ any: [{}], until: '${{ false }}' }} }} }} }} ], catch: {{ errors: {{}} }} }}",
        filters.join(", ")
    );
    let mut event = event("t", Value::Null);
    event["subject"] = "a".repeat(500).into();
    let (error, ..) = kind(hearing(&text, json!({}), &vec![event; 40]));
    assert_eq!(error, "runtime");
}

/// A parent and its child process, whose definition is found by name.
fn parent(task: &str, child: &str, input: Value) -> TestRun {
    let (parent, child) = (tasks(task), document(child));
    let digest = program_of(&child).digest;
    let texts = [
        (program_of(&parent).digest, parent.clone()),
        (digest.clone(), child),
    ];
    TestRun::new(&registry(), "Process", &input)
        .program(&program_of(&parent).to_string())
        .mock("process_load", move |digest| {
            let text = texts
                .iter()
                .find(|(known, _)| Some(known.as_str()) == digest.as_str());
            Ok(json!({ "text": text.map(|(_, text)| text), "account": "account" }))
        })
        .mock("process_find", move |named| {
            Ok(match named["name"].as_str() {
                Some("child") => json!(digest),
                _ => Value::Null,
            })
        })
}

#[test]
fn a_process_runs_another() {
    let child = "do: [ { c: { set: { doubled: '${ .n * 2 }' } } } ]";
    let run = "a: { run: { workflow: { namespace: tests, name: child, version: '0.1.0', input: { n: '${ .start }' } } } }";
    assert_eq!(
        output(parent(run, child, json!({ "start": 4 }))),
        json!({ "doubled": 8 })
    );
    let none = "a: { run: { return: none, workflow: { namespace: tests, name: child } } }";
    assert_eq!(output(parent(none, child, json!({ "n": 4 }))), Value::Null);
    let alone = "a: { run: { await: false, workflow: { namespace: tests, name: child } } }";
    let outcome = ended(parent(alone, "do: [ { w: { wait: PT1H } } ]", json!({ "n": 4 })));
    assert_eq!(outcome.result, Some(json!({ "n": 4 })));
    assert_eq!(outcome.runs.len(), 2);
    assert_eq!(outcome.runs[1].status, RunStatus::Completed);
    let missing = "a: { run: { workflow: { namespace: tests, name: other } } }";
    assert_eq!(kind(parent(missing, child, json!({}))).0, "configuration");
}

#[test]
fn the_error_of_a_process_that_was_run_is_that_of_the_task() {
    let child = "do: [ { c: { raise: { error: { type: 'https://e.example/own', status: 418, title: Own, detail: Why } } } } ]";
    let run = "a: { run: { workflow: { namespace: tests, name: child } } }";
    assert_eq!(
        error(parent(run, child, json!({}))),
        json!({ "type": "https://e.example/own", "status": 418, "title": "Own", "detail": "Why", "instance": "/do/0/a" })
    );
    let outcome =
        ended(parent(run, "do: [ { w: { wait: PT1H } } ]", json!({})).cancel_at(SECOND, "no longer wanted"));
    assert_eq!(outcome.status, RunStatus::Canceled);
    assert_eq!(outcome.runs[1].status, RunStatus::Canceled);
}
