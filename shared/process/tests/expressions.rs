//! Tests the results, errors and limits of expressions.
#![cfg(test)]

use process::Data;
use process::definition::{Expression, Template};
use process::expression::{Evaluator, ExpressionFailure, Names, Scope, parse};
use proptest::prelude::*;
use serde_json::json;

fn sandboxed() -> Evaluator {
    Evaluator::with_program(env!("CARGO_BIN_EXE_process-child").into(), 2)
}

fn expression(source: &str) -> Expression {
    let variables = ["item".to_owned()];
    let secrets = ["key".to_owned(), "other".to_owned()];
    let names = Names {
        variables: &variables,
        secrets: &secrets,
    };
    parse(source, names).unwrap()
}

fn data(json: &str) -> Data {
    Data::parse(json).unwrap()
}

async fn one(evaluator: &Evaluator, source: &str, scope: &Scope) -> Result<String, ExpressionFailure> {
    let results = evaluator
        .evaluate("a", &[&expression(source)], scope)
        .await
        .unwrap()?;
    assert_eq!(results.len(), 1);
    Ok(results[0].get().to_owned())
}

#[tokio::test]
async fn results() {
    let scope = Scope::new(data(
        r#"{"a": {"b": [1, 2.50, "x"]}, "big": 123456789012345678901234567890.10}"#,
    ))
    .with("context", data(r#"{"n": 98765432109876543210987}"#))
    .with("item", data("3"))
    .with("secrets", data(r#"{"key": "k1", "other": "k2", "third": "k3"}"#));
    for evaluator in [Evaluator::in_process(), sandboxed()] {
        for (source, expected) in [
            (".a.b", r#"[1,2.50,"x"]"#),
            (".big", "123456789012345678901234567890.10"),
            ("$context.n", "98765432109876543210987"),
            ("$context.n + 1", "98765432109876543210988"),
            ("$item + 1", "4"),
            (".a.b[1] * 2", "5"),
            ("1 / 3", "0.3333333333333333"),
            ("4 / 2", "2"),
            ("$input", "null"),
            ("{b: 1, a: 2}", r#"{"b":1,"a":2}"#),
            ("[.a.b[] | tostring] | join(\"-\")", r#""1-2.50-x""#),
            ("\"\\u00e9\\n\"", "\"é\\n\""),
            ("$secrets.key", "\"k1\""),
            ("[nan, infinite]", "[null,1.7976931348623157e+308]"),
            ("0 | todate", "\"1970-01-01T00:00:00Z\""),
            ("\"a1b22\" | [scan(\"[0-9]+\")]", r#"["1","22"]"#),
            ("\"x\" | @base64", "\"eA==\""),
        ] {
            assert_eq!(
                one(&evaluator, source, &scope).await.as_deref(),
                Ok(expected),
                "{source}"
            );
        }
    }
}

#[tokio::test]
async fn errors_are_sentences() {
    let scope = Scope::new(data(r#"{"a": 1}"#)).with("secrets", data(r#"{"key": "hush"}"#));
    for evaluator in [Evaluator::in_process(), sandboxed()] {
        for (source, expected) in [
            ("empty", "The expression 'empty' fails: it gives no result"),
            ("1, 2", "more than one result"),
            ("range(1e12)", "more than one result"),
            (".a.b", "The expression '.a.b' fails: cannot index"),
            ("error(\"odd\")", "fails: odd."),
            ("{(1|tostring): 1} | {(\"a\"): tobytes}", "fails"),
            (
                "[range(300)] | reduce .[] as $i (0; [.])",
                "deeper than 256 levels",
            ),
            ("\"x\" * 2000000", "larger than 1048576 bytes"),
            ("[range(400000)]", "larger than 1048576 bytes"),
            ("error($secrets.key)", "withheld"),
            ("$secrets.key | error", "withheld"),
        ] {
            let failure = one(&evaluator, source, &scope).await.expect_err(source);
            let message = failure.to_string();
            assert!(message.contains(expected), "{source}: {message}");
            assert!(!message.contains("hush"), "{message}");
        }
    }
}

#[tokio::test]
async fn each_bomb_ends_and_the_next_evaluation_works() {
    let evaluator = sandboxed();
    let scope = Scope::new(Data::from(json!({ "text": "a".repeat(100_000) })));
    for source in [
        "def f: f; f",
        "def f: [f]; f",
        "def f: 1 + f; f",
        "[repeat(1)]",
        "\"x\" | until(false; . + .)",
        "[range(1e12)]",
        "last(range(1e12))",
        "reduce range(1e12) as $i (0; . + 1)",
        ".text | test(\"(((a?){100}){100}){100}$\")",
        ".text | test(\"(a{1000}){1000}\")",
        "reduce range(1e7) as $i (0; [.])",
        "[limit(1e9; repeat(\"x\" * 1000))]",
        "\"x\" * 1e10",
        "reduce range(40) as $i (2; . * .)",
        "[range(10000)] | combinations(5)",
        "{} | recurse({a: .})",
        "first(range(1e12) | select(. < 0))",
    ] {
        let failure = one(&evaluator, source, &scope).await;
        let failure = failure.map(|result| result.len()).expect_err(source);
        let is_bounded = matches!(failure, ExpressionFailure::Exceeded { .. })
            || failure.to_string().contains("more than one")
            || failure.to_string().contains("larger than")
            || failure.to_string().contains("cannot")
            || failure.to_string().contains("size limit");
        assert!(is_bounded, "{source}: {failure}");
        assert_eq!(
            one(&evaluator, ".text | length", &scope).await.as_deref(),
            Ok("100000"),
            "{source}"
        );
    }
    let large = Scope::new(Data::text(&"x".repeat(9_000_000)));
    assert!(matches!(
        one(&evaluator, ".", &large).await,
        Err(ExpressionFailure::Exceeded { .. })
    ));
}

#[tokio::test]
async fn templates_and_conditions() {
    let evaluator = Evaluator::in_process();
    let scope = Scope::new(data(r#"{"n": 1, "t": "x"}"#));
    let template = Template::Object(vec![
        (
            "a".to_owned(),
            Template::List(vec![
                Template::Constant(data("1.50")),
                Template::Expression(expression(".n")),
            ]),
        ),
        ("b".to_owned(), Template::Expression(expression(".t"))),
    ]);
    let filled = evaluator.fill("a", &template, &scope).await.unwrap().unwrap();
    assert_eq!(filled.get(), r#"{"a":[1.50,1],"b":"x"}"#);
    for (source, expected) in [
        (".n == 1", true),
        (".n == 2", false),
        (".none", false),
        (".n", true),
        ("0", true),
    ] {
        assert_eq!(
            evaluator.holds("a", &expression(source), &scope).await.unwrap(),
            Ok(expected),
            "{source}"
        );
    }
    let none = evaluator.evaluate("a", &[], &scope).await.unwrap().unwrap();
    assert!(none.is_empty());
}

#[tokio::test]
async fn values_are_held_against_schemas() {
    for evaluator in [Evaluator::in_process(), sandboxed()] {
        let schema = Data::from(json!({ "type": "object", "properties": { "n": { "type": "integer" } } }));
        let valid = evaluator
            .validate("a", &schema, &data(r#"{"n": 1}"#))
            .await
            .unwrap();
        assert_eq!(valid, Ok(()));
        let invalid = evaluator
            .validate("a", &schema, &data(r#"{"n": "hush"}"#))
            .await
            .unwrap();
        let message = invalid.unwrap_err().to_string();
        assert!(
            message.contains("at '/n'") && !message.contains("hush"),
            "{message}"
        );
        let remote = Data::from(json!({ "$ref": "https://example.com/schema.json" }));
        assert!(
            evaluator
                .validate("a", &remote, &data("1"))
                .await
                .unwrap()
                .is_err()
        );
    }
}

/// Measures a round trip to a child, with a context of 1 KB.
#[tokio::test]
#[ignore = "a measurement"]
async fn measure() {
    let evaluator = sandboxed();
    let context = Data::from(
        json!({ "items": (0..40).map(|id| json!({ "id": id, "name": "n" })).collect::<Vec<_>>() }),
    );
    let scope = Scope::new(context.clone()).with("context", context);
    let expressions: Vec<Expression> = [
        ".items[3].id == 3",
        "$context.items | length",
        "{a: .items[0], b: 1}",
    ]
    .map(expression)
    .into();
    let all: Vec<&Expression> = expressions.iter().cycle().take(12).collect();
    for (name, batch) in [("one", &all[..1]), ("twelve", &all[..])] {
        for _ in 0..10 {
            evaluator.evaluate("a", batch, &scope).await.unwrap().unwrap();
        }
        let began = std::time::Instant::now();
        const ROUNDS: u32 = 500;
        for _ in 0..ROUNDS {
            evaluator.evaluate("a", batch, &scope).await.unwrap().unwrap();
        }
        println!(
            "{name} a round trip: {:?} each round trip",
            began.elapsed() / ROUNDS
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every text that parses gives a result or a failure, and the next evaluation has a child.
    #[test]
    fn no_jq_text_breaks_the_evaluator(source in "(\\.|a|\\[|\\]|\\{|\\}|\\||,|\\+|\\*|-|/|//|length|keys|map\\(|add|tojson|fromjson|explode|implode|@uri|tobytes|splits\\(|\\)|\"x\"|1e9|-1|0\\.5|:|;){1,12}") {
        let Ok(parsed) = parse(&source, Names::default()) else { return Ok(()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let evaluator = sandboxed();
            let scope = Scope::new(Data::from(json!({ "a": [1, "x", null] })));
            let _ = evaluator.evaluate("a", &[&parsed], &scope).await.unwrap();
            assert_eq!(one(&evaluator, "1", &scope).await.as_deref(), Ok("1"));
        });
    }
}
