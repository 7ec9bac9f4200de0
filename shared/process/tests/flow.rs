//! Tests the rules for code that runs a process.
#![cfg(test)]

mod common;

use std::time::Duration;

use common::{passes, tasks};
use process::Data;
use process::definition::{Backoff, EventFilter, Strategy, Then, Work};
use process::expression::{Evaluator, ExpressionFailure, Scope};
use process::flow::{
    Kind, Next, ProcessError, Stage, catches, delay, duration, event, expand, first, matches, next, stages,
};
use process::pattern::Steps;
use serde_json::json;

#[test]
fn data_flows_in_the_order_of_the_specification() {
    let definition = passes(&tasks(
        "a: { export: { as: ., schema: { document: {} } }, output: { schema: { document: {} }, as: . },
              input: { from: ., schema: { document: {} } }, set: {} } ;; b: { set: {} }",
    ));
    assert!(matches!(
        stages(&definition.tasks[0]).as_slice(),
        [
            Stage::CheckInput(_),
            Stage::ShapeInput(_),
            Stage::Work,
            Stage::ShapeOutput(_),
            Stage::CheckOutput(_),
            Stage::Export(_),
            Stage::CheckContext(_),
        ]
    ));
    assert_eq!(stages(&definition.tasks[1]), [Stage::Work]);
}

#[test]
fn directives() {
    let list = passes(&tasks("a: { set: {} } ;; b: { set: {} }")).tasks;
    assert_eq!(first(&list), Next::Task(0));
    assert_eq!(first(&[]), Next::Done);
    assert_eq!(next(&list, 0, Then::Continue), Next::Task(1));
    assert_eq!(next(&list, 1, Then::Continue), Next::Done);
    assert_eq!(next(&list, 1, Then::Task(0)), Next::Task(0));
    assert_eq!(next(&list, 0, Then::Exit), Next::Done);
    assert_eq!(next(&list, 0, Then::End), Next::End);
}

#[test]
fn error_objects() {
    let error = ProcessError::new(Kind::Timeout, "It took too long.", "/do/0/a");
    assert_eq!(
        error.to_data().to_value(),
        json!({
            "type": "https://serverlessworkflow.io/spec/1.0.0/errors/timeout",
            "status": 408,
            "title": "Timeout Error",
            "detail": "It took too long.",
            "instance": "/do/0/a",
        })
    );
    let raised = json!({ "status": 422, "type": "https://parcels.example/too-heavy", "title": "Too heavy" });
    let error = ProcessError::raised(&Data::from(raised.clone()), "/do/0/refuse").unwrap();
    let mut expected = raised;
    expected["instance"] = json!("/do/0/refuse");
    assert_eq!(error.to_data().to_value(), expected);
    for (error, part) in [
        (json!({ "status": 400 }), "no 'type'"),
        (json!({ "type": "t", "status": "400" }), "'status'"),
        (json!({ "type": "t", "status": 1e9 }), "'status'"),
        (json!({ "type": 1, "status": 400 }), "'type'"),
    ] {
        let message = ProcessError::raised(&Data::from(error), "/").unwrap_err();
        assert!(message.contains(part), "{message}");
    }
    let failure = ExpressionFailure::Exceeded {
        expression: ".".to_owned(),
    };
    assert_eq!(
        ProcessError::of_failure(&failure, "/").kind,
        Kind::Expression.uri()
    );
    let failure = ExpressionFailure::Invalid {
        reason: "odd".to_owned(),
    };
    assert_eq!(
        ProcessError::of_failure(&failure, "/").kind,
        Kind::Validation.uri()
    );
}

#[test]
fn caught_errors() {
    let error = ProcessError::new(Kind::Communication, "No answer.", "/do/0/a");
    for (with, expected) in [
        (json!({}), true),
        (json!({ "status": 500 }), true),
        (json!({ "status": 500.0 }), true),
        (json!({ "status": 503 }), false),
        (json!({ "type": format!("{}/", Kind::Communication.uri()) }), true),
        (json!({ "type": Kind::Communication.uri(), "status": 503 }), false),
        (json!({ "instance": "/do/0/a", "detail": "No answer." }), true),
        (json!({ "title": "Other" }), false),
    ] {
        assert_eq!(catches(&Data::from(with.clone()), &error), expected, "{with}");
    }
}

#[test]
fn delays() {
    let second = Duration::from_secs(1);
    let jitter = Some((Duration::from_millis(100), Duration::from_millis(300)));
    for (backoff, jitter, retry, fraction, expected_ms) in [
        (Backoff::Constant, None, 7, 0.5, 1_000),
        (Backoff::Linear, None, 3, 0.5, 3_000),
        (Backoff::Exponential, None, 1, 0.5, 1_000),
        (Backoff::Exponential, None, 4, 0.5, 8_000),
        (Backoff::Constant, jitter, 1, 0.0, 1_100),
        (Backoff::Constant, jitter, 1, 0.5, 1_200),
        (Backoff::Constant, jitter, 0, 1.0, 1_300),
        (Backoff::Constant, jitter, 1, f64::NAN, 1_100),
    ] {
        let found = delay(second, backoff, jitter, retry, fraction);
        assert_eq!(
            found,
            Duration::from_millis(expected_ms),
            "{backoff:?} {retry} {fraction}"
        );
    }
    for retry in [33, 1_000, u32::MAX] {
        let longest = delay(second, Backoff::Exponential, None, retry, 0.0);
        assert_eq!(longest, process::limits::MAX_DURATION);
    }
    assert_eq!(duration(&Data::text("PT2S")), Ok(Duration::from_secs(2)));
    assert_eq!(
        duration(&Data::from(json!({ "hours": 1 }))),
        Ok(Duration::from_secs(3_600))
    );
    assert!(duration(&Data::from(json!(5))).is_err());
}

/// Returns the single filter of a task 'listen'.
fn filter(with: &str) -> EventFilter {
    let definition = passes(&tasks(&format!(
        "a: {{ listen: {{ to: {{ one: {{ with: {with} }} }} }} }}"
    )));
    match definition.tasks[0].work.clone() {
        Work::Listen(listen) => match listen.strategy {
            Strategy::One(filter) => filter,
            _ => panic!(),
        },
        _ => panic!(),
    }
}

#[tokio::test]
async fn events() {
    let found = Data::from(json!({
        "type": "com.example.order.placed", "source": "https://a.example/x", "data": { "t": 39, "kind": "a" }, "n": 1,
    }));
    let found = event::Attributes::of(&found);
    let evaluator = Evaluator::in_process();
    for (with, expected) in [
        ("{ type: com.example.order.placed }", true),
        ("{ type: com.example.order }", false),
        ("{ type: 'com\\.example\\..*' }", true),
        ("{ type: 'example|order' }", false),
        (
            "{ type: com.example.order.placed, source: https://other.example }",
            false,
        ),
        ("{ data: '${ .t > 38 }' }", true),
        ("{ data: '${ .t > 40 }' }", false),
        ("{ n: '${ 1 }' }", true),
        ("{ n: '${ 2 }' }", false),
        ("{ n: 1.0, data: { t: 39, kind: '${ .kind }' } }", true),
        ("{ missing: x }", false),
        ("{ missing: '${ . == null }', data: '${ .t == 39 }' }", true),
    ] {
        let filter = filter(with);
        let mut results = Vec::new();
        for (template, input) in event::evaluated(&filter, &found) {
            let scope = Scope::new(input);
            results.extend(
                evaluator
                    .evaluate("a", &template.expressions(), &scope)
                    .await
                    .unwrap()
                    .unwrap(),
            );
        }
        let result = matches(&filter, &found, &results, &mut Steps::new(100_000));
        assert_eq!(result, Some(expected), "{with}");
    }
}

#[test]
fn data_is_merged_deep() {
    let base = Data::parse(r#"{"a": {"b": 1, "c": [1]}, "d": 1.50}"#).unwrap();
    let over = Data::parse(r#"{"a": {"c": [2], "e": null}, "f": 1}"#).unwrap();
    assert_eq!(
        base.merged(&over).get(),
        r#"{"a":{"b":1,"c":[2],"e":null},"d":1.50,"f":1}"#
    );
    assert_eq!(base.merged(&Data::null()), Data::null());
}

/// Examples of RFC 6570, sections 3.2.2 to 3.2.9.
#[test]
fn addresses() {
    let variables = Data::from(json!({
        "var": "value", "hello": "Hello World!", "path": "/foo/bar", "empty": "", "x": 1024, "y": 768, "half": "50%",
        "base": "http://example.com/home/", "yes": true, "none": null, "list": [1], "pet.id": "p", "who": "fred",
    }));
    for (template, expected) in [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("?o={undef}{none}", "?o="),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("{+path}/here", "/foo/bar/here"),
        ("{+base}index", "http://example.com/home/index"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("{#hello}", "#Hello%20World!"),
        ("{.who,who}", ".fred.fred"),
        ("{/who,half}", "/fred/50%25"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x,undef}", "?fixed=yes&x=1024"),
        ("https://a.example/{pet.id}?b={yes}", "https://a.example/p?b=true"),
        ("https://a.example/ü x", "https://a.example/%C3%BC%20x"),
    ] {
        assert_eq!(
            expand(template, &variables).as_deref(),
            Ok(expected),
            "{template}"
        );
    }
    assert!(expand("{list}", &variables).unwrap_err().contains("'list'"));
    for broken in ["{", "}", "a}b", "{a b}", "{}", "{{a}}"] {
        assert!(expand(broken, &variables).is_err(), "{broken}");
    }
}
