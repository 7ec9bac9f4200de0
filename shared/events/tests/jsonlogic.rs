//! Compares conditions with json-logic-js, which defines JSONLogic, on generated rules and events.
//!
//! `tests/run` installs them and sets `PEERS_NODE`.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

use events::condition::{Condition, Subject};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

/// Conditions as people write them; `holds` is what json-logic-js makes of each.
const STRANGERS: &str = include_str!("../../../tests/data/strangers/conditions.jsonl");
const RULES: usize = 20_000;
/// Number of generated rules that must pass the check.
const LEAST_COMPILED: usize = 15_000;
const SEED: u64 = 43;

fn modules() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "the harness says by it where the references are"
    )]
    let modules = std::env::var("PEERS_NODE");
    modules
        .expect("PEERS_NODE is not set: start the tests by `tests/run`")
        .into()
}

/// Returns what json-logic-js makes of each rule; None where it throws.
fn reference(modules: &Path, cases: &[(Value, Value)]) -> Vec<Option<bool>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    std::fs::write(&file, serde_json::to_vec(cases).unwrap()).unwrap();
    let mut node = Command::new("node");
    node.arg("../../tests/peers/jsonlogic/evaluate.mjs")
        .arg(modules)
        .arg(&file);
    let output = node.output().expect("node starts");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Compares the cases whose rule is accepted, and returns their number.
fn compare(modules: &Path, cases: &[(Value, Value)]) -> usize {
    let (mut compiled, mut differences) = (0, Vec::new());
    for ((rule, data), expected) in cases.iter().zip(reference(modules, cases)) {
        let Some(rule) = rule.as_object() else { continue };
        let Ok(condition) = Condition::compile(rule) else {
            continue;
        };
        compiled += 1;
        let result = condition
            .holds(&mut Subject::new(&data.to_string()).unwrap())
            .ok();
        if result != expected {
            let rule = json!(rule);
            differences.push(format!(
                "{rule} on {data}: {result:?}, and {expected:?} in json-logic-js"
            ));
        }
    }
    let shown = differences
        .iter()
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(differences.is_empty(), "{} differ:\n{shown}", differences.len());
    compiled
}

#[test]
fn everyday_conditions_have_the_results_of_json_logic_js() {
    let cases: Vec<Value> = STRANGERS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let event = |case: &Value| json!({ "action": "opened", "details": { "payload": case["payload"] } });
    let mut differences = Vec::new();
    for case in &cases {
        let condition = Condition::compile(case["condition"].as_object().unwrap()).unwrap();
        let holds = condition.holds(&mut Subject::new(&event(case).to_string()).unwrap());
        if holds.as_ref().ok() != case["holds"].as_bool().as_ref() {
            differences.push(format!("{case}: {holds:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let modules = modules();
    let rules: Vec<_> = cases
        .iter()
        .map(|case| (case["condition"].clone(), event(case)))
        .collect();
    for (case, expected) in cases.iter().zip(reference(&modules, &rules)) {
        assert_eq!(case["holds"].as_bool(), expected, "{case}");
    }
}

#[test]
fn generated_rules_have_the_results_of_json_logic_js() {
    let modules = modules();
    let mut random = StdRng::seed_from_u64(SEED);
    let cases: Vec<_> = (0..RULES)
        .map(|_| (rule(&mut random, 0), event(&mut random)))
        .collect();
    let compiled = compare(&modules, &cases);
    assert!(compiled >= LEAST_COMPILED, "{compiled} rules pass the check");
}

const PATHS: [&str; 24] = [
    "",
    "action",
    "n",
    "f",
    "t",
    "empty",
    "zero",
    "null",
    "yes",
    "no",
    "list",
    "list.0",
    "list.length",
    "texts",
    "texts.1.0",
    "nested",
    "nested.a.b",
    "nested.items",
    "nested.items.1.price",
    "object",
    "nothing",
    "n.x",
    "emoji",
    "current",
];

fn event(random: &mut StdRng) -> Value {
    let scalars = scalars();
    let mut any = || scalars.choose(random).unwrap().clone();
    json!({
        "action": "opened", "n": 7, "f": 1.5, "t": any(), "empty": "", "zero": 0, "null": null, "yes": true, "no": false,
        "list": [any(), any(), any()], "texts": ["a", "b1", "10"],
        "nested": { "a": { "b": any() }, "items": [{ "price": any(), "name": "x" }, { "price": 30 }, any()] },
        "object": {}, "emoji": "a😀\u{ffff}é",
    })
}

fn scalars() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(7),
        json!(1.5),
        json!(-0.5),
        json!(1e21),
        json!(9_007_199_254_740_993_u64),
        json!(""),
        json!(" "),
        json!("0"),
        json!("1"),
        json!("7"),
        json!("07"),
        json!("1e1"),
        json!("0x10"),
        json!("5 items"),
        json!("-2.5kg"),
        json!("true"),
        json!("false"),
        json!("null"),
        json!("a"),
        json!("opened"),
        json!("open"),
        json!("10"),
        json!("9"),
        json!("Infinity"),
        json!("NaN"),
        json!("a,b"),
        json!("x.y"),
        json!("😀"),
        json!("[object Object]"),
        json!("undefined"),
        json!([]),
        json!([1]),
        json!([[2]]),
        json!(["a", "b"]),
        json!([null]),
        json!("list"),
        json!("nothing"),
        json!("nested.a"),
    ]
}

const OPERATORS: [(&str, usize, usize); 35] = [
    ("+", 1, 3),
    ("all", 2, 2),
    ("and", 0, 3),
    ("cat", 0, 3),
    ("/", 2, 2),
    ("==", 2, 2),
    ("filter", 2, 2),
    (">", 2, 2),
    (">=", 2, 2),
    ("===", 2, 2),
    ("if", 0, 5),
    ("?:", 3, 3),
    ("in", 2, 2),
    ("!!", 0, 1),
    ("<", 2, 3),
    ("<=", 2, 3),
    ("log", 1, 1),
    ("map", 2, 2),
    ("max", 1, 3),
    ("merge", 0, 3),
    ("min", 1, 3),
    ("missing", 0, 3),
    ("missing_some", 2, 2),
    ("*", 1, 3),
    ("none", 2, 2),
    ("!", 0, 1),
    ("!=", 2, 2),
    ("!==", 2, 2),
    ("or", 0, 3),
    ("reduce", 2, 3),
    ("%", 2, 2),
    ("some", 2, 2),
    ("substr", 1, 3),
    ("-", 1, 2),
    ("var", 0, 2),
];

fn rule(random: &mut StdRng, depth: usize) -> Value {
    let (operator, least, most) = *OPERATORS.choose(random).unwrap();
    let count = random.random_range(least..=most);
    let arguments: Vec<_> = (0..count).map(|_| argument(random, depth + 1)).collect();
    // One argument may stand without a list.
    match <[Value; 1]>::try_from(arguments) {
        Ok([single]) if random.random_bool(0.5) => json!({ operator: single }),
        Ok(single) => json!({ operator: single }),
        Err(arguments) => json!({ operator: arguments }),
    }
}

fn argument(random: &mut StdRng, depth: usize) -> Value {
    match random.random_range(0..10) {
        0..=3 if depth < 4 => rule(random, depth),
        4..=7 => {
            let path = PATHS.choose(random).unwrap();
            json!({ "var": path })
        }
        8 if depth < 4 => {
            let count = random.random_range(0..3);
            (0..count).map(|_| argument(random, depth + 1)).collect()
        }
        _ => scalars().choose(random).unwrap().clone(),
    }
}
