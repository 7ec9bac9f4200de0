//! Tests the model of definitions, task type by task type.
#![cfg(test)]

mod common;

use std::time::Duration;

use common::{document, passes, tasks};
use process::definition::{
    Authentication, Backoff, Credential, HttpOutput, Read, Span, Strategy, Template, Then, Until, Uri, Work,
};
use process::{Data, check};
use serde_json::json;

/// Returns the work of the first task.
fn work(task: &str) -> Work {
    passes(&tasks(task)).tasks.remove(0).work
}

fn constant(template: &Template) -> serde_json::Value {
    template.constant().expect("a constant").to_value()
}

#[test]
fn the_parts_of_a_document() {
    let definition = passes(&document(
        "
input: { schema: { format: json, document: { type: object } }, from: .order }
output: { as: { id: '${ .id }' } }
timeout: { after: PT1H }
use: { secrets: [key], functions: { ping: { set: { a: 1 } } } }
metadata: { team: a }
evaluate: { language: jq, mode: strict }
do: []",
    ));
    assert_eq!(definition.document.namespace, "tests");
    assert_eq!(definition.document.version, "0.1.0");
    assert_eq!(
        definition.input.schema,
        Some(Data::from(json!({ "type": "object" })))
    );
    assert!(
        matches!(&definition.input.template, Some(Template::Expression(from)) if from.source() == ".order")
    );
    assert_eq!(definition.output.template.unwrap().expressions().len(), 1);
    assert_eq!(definition.timeout, Some(Span::Fixed(Duration::from_secs(3600))));
    assert_eq!(definition.secrets, ["key"]);
    assert_eq!(definition.functions["ping"].pointer, "/use/functions/ping");
    assert_eq!(definition.source.to_value()["metadata"]["team"], "a");
}

#[test]
fn json_values_and_texts_are_taken_as_yaml_is() {
    let value = json!({
        "document": { "dsl": "1.0.0", "namespace": "n", "name": "n", "version": "1.0.0-rc.1+b" },
        "do": [{ "a": { "set": { "big": 1 } } }],
    });
    assert_eq!(check(&value).unwrap().tasks[0].name, "a");
    let text = value
        .to_string()
        .replace(":1}", ":123456789012345678901234567890.10}");
    let definition = check(&text).unwrap();
    let Work::Set(Template::Constant(data)) = &definition.tasks[0].work else {
        panic!();
    };
    assert_eq!(data.get(), r#"{"big":123456789012345678901234567890.10}"#);
}

#[test]
fn yaml_scalars_are_those_of_the_core_schema() {
    let Work::Set(template) = work(
        "a: { set: { n: ~, t: true, i: +12, h: 0xfF, o: 0o17, f: .5, e: 1.e3, z: 007, s: yes, d: 1.0.0, q: '1', t2: 2001-01-01 } }",
    ) else {
        panic!();
    };
    assert_eq!(
        template.constant().unwrap().get(),
        r#"{"n":null,"t":true,"i":12,"h":255,"o":15,"f":0.5,"e":1e3,"z":7,"s":"yes","d":"1.0.0","q":"1","t2":"2001-01-01"}"#
    );
}

#[test]
fn what_tasks_have_in_common() {
    let definition = passes(&tasks(
        "a: { if: '${ .x }', input: { from: .y }, output: { as: .z }, export: { as: '$context + .' },
              timeout: { after: { minutes: 1, seconds: 1 } }, then: c, metadata: { m: 1 }, set: { v: 1 } } ;; \
         b: { set: '${ . }', then: end } ;; \
         c: { do: [{ d: { set: { v: 1 }, then: exit } }] }",
    ));
    let [a, b, c] = definition.tasks.as_slice() else {
        panic!("three tasks");
    };
    assert_eq!(a.condition.as_ref().unwrap().source().trim(), ".x");
    assert_eq!(
        a.export.template.as_ref().unwrap().expressions()[0].variables(),
        ["context"]
    );
    assert_eq!(a.timeout, Some(Span::Fixed(Duration::from_secs(61))));
    assert_eq!(a.then, Then::Task(2));
    assert_eq!(a.metadata, Some(Data::from(json!({ "m": 1 }))));
    assert_eq!(a.source.to_value()["then"], "c");
    assert_eq!(b.then, Then::End);
    let Work::Do(inner) = &c.work else { panic!() };
    assert_eq!(inner[0].pointer, "/do/2/c/do/0/d");
    assert_eq!(inner[0].then, Then::Exit);
}

#[test]
fn set_for_fork_and_switch() {
    let Work::Set(Template::Object(fields)) = work("a: { set: { v: [1, { w: '${ .x }' }], c: '${' } }")
    else {
        panic!();
    };
    assert!(matches!(&fields[0].1, Template::List(items) if items[0].constant().is_some()));
    assert_eq!(fields[1].1, Template::Constant(Data::text("${")));

    let Work::For(each) = work(
        "a: { for: { each: pet, in: .pets, at: n }, while: $pet != null, do: [{ b: { set: { v: '${ $pet + $n }' } } }] }",
    ) else {
        panic!();
    };
    assert_eq!(
        (each.each.as_str(), each.at.as_str(), each.items.source()),
        ("pet", "n", ".pets")
    );
    assert_eq!(each.condition.unwrap().variables(), ["pet"]);
    assert_eq!(each.tasks[0].pointer, "/do/0/a/do/0/b");

    let Work::Fork(fork) = work("a: { fork: { compete: true, branches: [{ b: { set: { v: 1 } } }] } }")
    else {
        panic!();
    };
    assert!(fork.compete);
    assert_eq!(fork.branches[0].pointer, "/do/0/a/fork/branches/0/b");

    let Work::Switch(cases) = work("a: { switch: [{ x: { when: .y, then: exit } }, { z: { then: a } }] }")
    else {
        panic!();
    };
    assert_eq!(cases[0].then, Then::Exit);
    assert!(cases[1].when.is_none());
    assert_eq!(cases[1].then, Then::Task(0));
}

#[test]
fn errors_and_retries_inline_and_by_name() {
    let definition = passes(&document(
        "
use:
  errors: { odd: { type: https://example.com/odd, status: 400, detail: '${ .why }' } }
  retries:
    thrice: { delay: PT1S, backoff: { exponential: {} }, limit: { attempt: { count: 3, duration: PT5S }, duration: PT1M }, jitter: { from: PT0S, to: { milliseconds: 500 } } }
do:
  - a:
      try: [{ b: { raise: { error: odd } } }]
      catch:
        errors: { with: { type: https://example.com/odd, status: 400 } }
        as: problem
        when: $problem.status == 400
        retry: thrice
        do: [{ c: { raise: { error: { type: '${ $problem.type }', status: '${ 500 }', title: t, instance: /x } } } }]
  - d: { try: [], catch: { retry: { delay: '${ .d }', backoff: { linear: {} } } } }",
    ));
    let Work::Try(attempt) = &definition.tasks[0].work else {
        panic!();
    };
    assert_eq!(attempt.tasks[0].pointer, "/do/0/a/try/0/b");
    let Work::Raise(error) = &attempt.tasks[0].work else {
        panic!();
    };
    assert_eq!(constant(&error.kind), "https://example.com/odd");
    assert_eq!(constant(&error.status), 400);
    assert!(error.detail.as_ref().unwrap().constant().is_none());
    let catch = &attempt.catch;
    assert_eq!(catch.variable, "problem");
    assert_eq!(catch.errors.with.len(), 2);
    let retry = catch.retry.as_ref().unwrap();
    assert_eq!(retry.backoff, Backoff::Exponential);
    assert_eq!(retry.limits.count, Some(3));
    assert_eq!(retry.limits.total, Some(Span::Fixed(Duration::from_secs(60))));
    assert_eq!(catch.tasks.as_ref().unwrap()[0].pointer, "/do/0/a/catch/do/0/c");
    let Work::Try(other) = &definition.tasks[1].work else {
        panic!();
    };
    assert_eq!(other.catch.variable, "error");
    assert!(matches!(
        other.catch.retry.as_ref().unwrap().delay,
        Some(Span::Computed(_))
    ));
    assert!(other.catch.tasks.is_none());
}

#[test]
fn waits() {
    for (written, expected_ms) in [
        ("PT0.25S", 250),
        ("P1DT2H", 93_600_000),
        ("P1W", 604_800_000),
        ("{ days: 1, milliseconds: 5 }", 86_400_005),
    ] {
        let Work::Wait(span) = work(&format!("a: {{ wait: {written} }}")) else {
            panic!();
        };
        assert_eq!(span, Span::Fixed(Duration::from_millis(expected_ms)), "{written}");
    }
    assert!(matches!(
        work("a: { wait: { seconds: '${ .s }' } }"),
        Work::Wait(Span::Computed(_))
    ));
}

#[test]
fn calls() {
    let definition = passes(&document(
        "
use:
  secrets: [login, api]
  authentications: { named: { basic: { use: login } } }
  functions: { greet: { call: http, with: { method: get, endpoint: 'https://example.com/{name}' } } }
do:
  - a: { call: http, with: { method: POST, endpoint: { uri: '${ .url }', authentication: { use: named } }, headers: { h: '${ .h }' }, query: { q: 1 }, body: [1], output: response, redirect: true } }
  - b: { call: http, with: { method: get, endpoint: { uri: 'https://example.com/{id}', authentication: { bearer: { token: '${ $secrets.api }' } } } } }
  - c: { call: openapi, with: { document: { endpoint: https://example.com/api.json }, operationId: find, parameters: { p: '${ .p }' }, authentication: named, output: raw } }
  - d: { call: greet, with: { name: '${ .n }' } }",
    ));
    let Work::Http(call) = &definition.tasks[0].work else {
        panic!();
    };
    assert_eq!(constant(&call.method), "POST");
    assert!(matches!(&call.endpoint.uri, Uri::Computed(uri) if uri.source().trim() == ".url"));
    assert_eq!(
        call.endpoint.authentication,
        Some(Authentication::Basic(Credential::Secret("login".to_owned())))
    );
    assert_eq!((call.output, call.redirect), (HttpOutput::Response, true));
    let Work::Http(call) = &definition.tasks[1].work else {
        panic!();
    };
    assert_eq!(
        call.endpoint.uri,
        Uri::Template("https://example.com/{id}".to_owned())
    );
    let Some(Authentication::Bearer(Credential::Values {
        secret: Template::Expression(token),
        ..
    })) = &call.endpoint.authentication
    else {
        panic!();
    };
    assert_eq!(
        (token.variables(), token.secrets()),
        (&["secrets".to_owned()][..], &["api".to_owned()][..])
    );
    let Work::OpenApi(call) = &definition.tasks[2].work else {
        panic!();
    };
    assert_eq!(
        (call.operation_id.as_str(), call.output),
        ("find", HttpOutput::Raw)
    );
    assert!(call.authentication.is_some());
    let Work::Function(call) = &definition.tasks[3].work else {
        panic!();
    };
    assert!(definition.functions.contains_key(&call.name));
}

#[test]
fn events_and_processes() {
    let Work::Emit(event) = work(
        "a: { emit: { event: { with: { source: https://a.example, type: t, data: { v: '${ .v }' } } } } }",
    ) else {
        panic!();
    };
    assert_eq!(event.expressions().len(), 1);

    let Work::Listen(listen) = work(
        "a: { listen: { to: { any: [{ with: { type: t, data: '${ .t > 38 }' } }], until: '(. | length) > 2' }, read: envelope },
              foreach: { item: e, at: i, do: [{ b: { set: { v: '${ $e }' } } }], output: { as: $e.data }, export: { as: '$context + { n: $i }' } } }",
    ) else {
        panic!();
    };
    assert_eq!(listen.read, Read::Envelope);
    let Strategy::Any {
        filters,
        until: Some(Until::Condition(_)),
    } = &listen.strategy
    else {
        panic!();
    };
    assert_eq!(filters[0].with.len(), 2);
    assert_eq!(
        listen.foreach.as_ref().unwrap().tasks[0].pointer,
        "/do/0/a/foreach/do/0/b"
    );

    let Work::Listen(listen) = work(
        "a: { listen: { to: { one: { with: { type: t }, correlate: { order: { from: .data.order, expect: '${ .id }' } } } } } }",
    ) else {
        panic!();
    };
    assert!(matches!(&listen.strategy, Strategy::One(filter) if filter.correlate[0].name == "order"));
    assert!(matches!(
        work("a: { listen: { to: { all: [{ with: { type: t } }] } } }"),
        Work::Listen(listen) if matches!(&listen.strategy, Strategy::All(_))
    ));
    assert!(matches!(
        work("a: { listen: { to: { any: [], until: { one: { with: { type: stop } } } } } }"),
        Work::Listen(listen) if matches!(&listen.strategy, Strategy::Any { until: Some(Until::Events(_)), .. })
    ));

    let Work::Run(run) = work(
        "a: { run: { workflow: { namespace: n, name: m, version: 1.0.0, input: { a: 1 } }, await: false, return: none } }",
    ) else {
        panic!();
    };
    assert_eq!((run.namespace.as_str(), run.version.as_str()), ("n", "1.0.0"));
    assert!(!run.wait && !run.returns);
}
