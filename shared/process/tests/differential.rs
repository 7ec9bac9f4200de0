//! Compares expressions with jq: a corpus of cases, and jq itself, which `PEERS_NODE` names.
//!
//! `right` holds all results of jq, and `fails` says that jq has an error. `here` is what an expression gives
//! instead: other results, `"fails"`, or `"refused"` where it cannot be stored. docs/expressions.md lists
//! these.
#![cfg(test)]

use std::fs;
use std::path::Path;
use std::process::Command;

use process::Data;
use process::expression::{Evaluator, Names, Scope, parse};
use serde::Deserialize;
use serde_json::Value;

const CORPUS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/strangers/expressions.jsonl"
);
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/peers/expressions/evaluate.mjs"
);
/// Fewest cases that the corpus may have.
const FEWEST: usize = 900;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    input: Value,
    expression: String,
    right: Option<Value>,
    #[serde(default)]
    fails: bool,
    here: Option<Value>,
    why: String,
}

fn corpus() -> Vec<Case> {
    let text = fs::read_to_string(CORPUS).unwrap();
    let cases = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")));
    cases.collect()
}

/// The outcome of an expression, in the form of `here`.
async fn outcome(case: &Case) -> Value {
    let Ok(expression) = parse(&format!("[{}]", case.expression), Names::default()) else {
        return Value::from("refused");
    };
    let scope = Scope::new(Data::from(&case.input));
    let results = Evaluator::in_process()
        .evaluate("a", &[&expression], &scope)
        .await;
    match results.unwrap() {
        Ok(results) => serde_json::from_str(results[0].get()).unwrap(),
        Err(_) => Value::from("fails"),
    }
}

/// Compares numbers as doubles, to the precision that libraries of mathematics agree on.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            one == other || (one - other).abs() <= 1e-14 * one.abs().max(other.abs())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        (one, other) => one == other,
    }
}

#[tokio::test]
async fn each_expression_of_the_corpus_gives_what_jq_gives_or_what_is_documented() {
    let cases = corpus();
    assert!(cases.len() >= FEWEST, "{} cases", cases.len());
    let mut differences = Vec::new();
    for case in &cases {
        let right = match (&case.here, &case.right) {
            (Some(here), _) => here.clone(),
            (None, Some(right)) => right.clone(),
            (None, None) => Value::from("fails"),
        };
        let is_refused = case.here.as_ref().is_some_and(|here| here == "refused");
        assert!(
            is_refused || case.right.is_some() != case.fails,
            "{}",
            case.expression
        );
        assert!(!case.why.is_empty(), "{}", case.expression);
        let outcome = outcome(case).await;
        if !same(&outcome, &right) {
            differences.push(format!(
                "{} on {}\n    is {outcome}, not {right}",
                case.expression, case.input
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// What jq defines is in the corpus, or is refused by name.
#[test]
fn every_function_of_jq_is_in_the_corpus() {
    let peers = peers();
    let names = node("functions.tsv", &peers, "null\tbuiltins\n");
    let names = names[0]["right"][0].as_array().unwrap().clone();
    assert!(names.len() > 200, "{}", names.len());
    let text: Vec<String> = corpus().into_iter().map(|case| case.expression).collect();
    for name in names {
        let name = name.as_str().unwrap();
        let (name, arguments) = name.split_once('/').unwrap();
        let call = if arguments == "0" {
            name.to_owned()
        } else {
            format!("{name}(")
        };
        assert!(
            text.iter().any(|text| text.contains(&call)),
            "no case calls {name}/{arguments}"
        );
    }
}

#[test]
fn each_right_result_of_the_corpus_is_that_of_jq() {
    let peers = peers();
    let cases = corpus();
    let lines: String = cases
        .iter()
        .map(|case| format!("{}\t{}\n", case.input, case.expression))
        .collect();
    for (case, answer) in cases.iter().zip(node("expressions.tsv", &peers, &lines)) {
        match &case.right {
            Some(right) => assert!(same(right, &answer["right"]), "{}: {answer}", case.expression),
            // What is refused may have another result each time, such as that of `now`.
            None if !case.fails => {}
            None => assert!(answer["right"].is_null(), "{}: {answer}", case.expression),
        }
    }
}

/// Returns the folder of jq.
fn peers() -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "the harness says by it where the references are"
    )]
    std::env::var("PEERS_NODE").expect("PEERS_NODE is not set: start the tests by `tests/run`")
}

/// Asks jq for the results of each line: an input, a tab and an expression.
fn node(name: &str, peers: &str, lines: &str) -> Vec<Value> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&file, lines).unwrap();
    let output = Command::new("node").arg(PROGRAM).arg(peers).arg(&file).output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
