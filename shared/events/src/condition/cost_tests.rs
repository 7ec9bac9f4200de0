//! Tests the actual cost of conditions on events against the computed bound.
#![cfg(test)]

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Maximum memory per step, in bytes: a value of 16 to 32 bytes, twice that while its list grows, and the
/// reserve of the arena.
const BYTES_OF_STEP: f64 = 160.0;
/// Size of an arena before the first evaluation.
const FIRST_BYTES: f64 = 65_536.0;

const OPERATORS: [&str; 38] = [
    "map",
    "filter",
    "reduce",
    "all",
    "none",
    "some",
    "cat",
    "merge",
    "missing",
    "missing_some",
    "in",
    "substr",
    "==",
    "===",
    "!=",
    "!==",
    "<",
    "<=",
    ">",
    ">=",
    "var",
    "if",
    "?:",
    "or",
    "and",
    "!",
    "!!",
    "max",
    "min",
    "+",
    "-",
    "*",
    "/",
    "%",
    "map",
    "cat",
    "merge",
    "reduce",
];

const PATHS: [&str; 13] = [
    "",
    "action",
    "details",
    "details.numbers",
    "details.texts",
    "details.rows",
    "details.rows.0.cells",
    "cells",
    "accumulator",
    "current",
    "current.cells",
    "accumulator.cells",
    "nothing",
];

fn rule() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::sample::select(&PATHS[..]).prop_map(|path| json!({ "var": path })),
        1 => any::<i32>().prop_map(|number| json!(number)),
        1 => "[a-z0-9]{0,200}".prop_map(|text| json!(text)),
        1 => vec(0..9_u8, 0..40).prop_map(|items| json!(items)),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let operator = prop::sample::select(&OPERATORS[..]);
        (operator, vec(inner, 1..4)).prop_map(|(operator, given)| json!({ operator: given }))
    })
}

fn event() -> impl Strategy<Value = String> {
    let texts = vec("[a-z]{0,100}", 0..40);
    let rows = vec(vec(0..1_000_u32, 0..40), 0..40);
    ("[a-z]{0,3000}", vec(any::<i64>(), 0..400), texts, rows).prop_map(|(action, numbers, texts, rows)| {
        let rows: Vec<_> = rows.iter().map(|cells| json!({ "cells": cells })).collect();
        json!({ "action": action, "details": { "numbers": numbers, "texts": texts, "rows": rows } })
            .to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// For any condition and event, an evaluation uses no more memory than the computed steps allow.
    #[test]
    fn memory_is_bounded_by_the_steps(rule in rule(), event in event()) {
        let Value::Object(fields) = &rule else { return Ok(()) };
        let Ok(condition) = Condition::compile(fields) else { return Ok(()) };
        let subject = Subject::new(&event).unwrap();
        let steps = condition.cost.on(subject.size);
        if steps > MAX_STEPS {
            return Ok(());
        }
        let arena = Bump::new();
        arena.set_allocation_limit(Some(MAX_MEMORY_BYTES));
        let _ = ENGINE.evaluate(&condition.logic, &subject.data, &arena);
        let taken = arena.allocated_bytes() as f64;
        prop_assert!(
            taken <= FIRST_BYTES + BYTES_OF_STEP * steps,
            "{taken} bytes for {steps} steps of {rule} on {} bytes", event.len()
        );
    }
}
