//! Checks the operators, the size and the nesting of a condition.

use platform::{Error, Result};
use serde_json::{Map, Value};

/// Maximum size of a condition, in bytes of JSON.
pub const MAX_BYTES: usize = 32_768;
/// Maximum number of values in a condition.
const MAX_NODES: usize = 2_000;
/// Maximum nesting depth of operations.
const MAX_DEPTH: usize = 32;
/// Maximum nesting depth of loops over arrays.
const MAX_LOOPS: u32 = 2;

/// Operators that loop over an array.
pub(super) const LOOPS: [&str; 6] = ["map", "filter", "reduce", "all", "none", "some"];
/// Operators that combine all their arguments.
pub(super) const JOINS: [&str; 4] = ["cat", "merge", "missing", "missing_some"];
/// Operators that scan the texts or arrays among their arguments.
pub(super) const SCANS: [&str; 11] = [
    "in", "substr", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "var",
];
/// Operators that return one of their arguments.
pub(super) const CHOICES: [&str; 4] = ["if", "?:", "or", "and"];
/// Operators that convert any value to a boolean.
const TRUTHS: [&str; 2] = ["!", "!!"];
/// Operators that return a number.
pub(super) const ARITHMETIC: [&str; 7] = ["max", "min", "+", "-", "*", "/", "%"];
/// Operators that compare by order.
pub(super) const ORDERINGS: [&str; 4] = ["<", "<=", ">", ">="];
/// Operators that need two arguments, and operators that need one.
const OF_TWO: [&str; 14] = [
    "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "map", "filter", "all", "none", "some",
];
const OF_ONE: [&str; 10] = ["max", "min", "+", "-", "*", "/", "%", "substr", "cat", "reduce"];
/// Operators forbidden within a `reduce`: each round could enlarge the result of the last one.
const GROWING: [&str; 6] = ["cat", "merge", "missing", "missing_some", "map", "reduce"];

/// Checks a condition, whose JSON is `text`. Fails with 400 and the fault.
pub(super) fn check(text: &str, rule: &Value) -> Result<()> {
    if text.len() > MAX_BYTES {
        return Err(refusal(&format!("has more than {MAX_BYTES} bytes")));
    }
    let mut nodes = 0;
    value(rule, &mut nodes, Place::default())
}

/// Position of a value in the condition.
#[derive(Clone, Copy, Default)]
struct Place {
    depth: usize,
    loops: u32,
    in_reduce: bool,
}

fn value(value: &Value, nodes: &mut usize, place: Place) -> Result<()> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(refusal(&format!("is made of more than {MAX_NODES} values")));
    }
    if place.depth > MAX_DEPTH {
        return Err(refusal(&format!("nests deeper than {MAX_DEPTH} levels")));
    }
    match value {
        Value::Array(items) if place.in_reduce && items.iter().any(Value::is_object) => Err(refusal(
            "makes an array of operations in a 'reduce', where nothing may grow",
        )),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| self::value(item, nodes, deeper(place))),
        Value::Object(fields) => operation(fields, nodes, place),
        _ => Ok(()),
    }
}

fn operation(fields: &Map<String, Value>, nodes: &mut usize, place: Place) -> Result<()> {
    let mut entries = fields.iter();
    let (Some((operator, given)), None) = (entries.next(), entries.next()) else {
        return Err(refusal(
            "has an object that is no operation; an operation is an object with one field, as in {\"var\": \"action\"}",
        ));
    };
    let operator = operator.as_str();
    let is_loop = LOOPS.contains(&operator);
    let known = [&JOINS[..], &SCANS, &CHOICES, &TRUTHS, &ARITHMETIC];
    if !is_loop && !known.iter().any(|operators| operators.contains(&operator)) {
        return Err(refusal(&format!(
            "has the operator '{operator}', which JSONLogic does not know"
        )));
    }
    if place.in_reduce && GROWING.contains(&operator) {
        return Err(refusal(&format!(
            "has the operator '{operator}' in a 'reduce', where nothing may grow"
        )));
    }
    if is_loop && place.loops == MAX_LOOPS {
        return Err(refusal(&format!(
            "goes through arrays within arrays more than {MAX_LOOPS} deep"
        )));
    }
    let least = match operator {
        _ if OF_TWO.contains(&operator) => 2,
        _ if OF_ONE.contains(&operator) => 1,
        _ => 0,
    };
    if arguments(given).len() < least {
        return Err(refusal(&format!(
            "has the operator '{operator}' with fewer arguments than it needs"
        )));
    }
    for (number, argument) in arguments(given).iter().enumerate() {
        // The first argument is the array; the others are evaluated in each round.
        let in_rounds = is_loop && number > 0;
        let place = Place {
            loops: place.loops + u32::from(in_rounds),
            in_reduce: place.in_reduce || (in_rounds && operator == "reduce"),
            ..deeper(place)
        };
        value(argument, nodes, place)?;
    }
    Ok(())
}

fn deeper(place: Place) -> Place {
    Place {
        depth: place.depth + 1,
        ..place
    }
}

/// Returns the arguments of an operation: a list, or a single value that counts as a list of one.
pub(super) fn arguments(given: &Value) -> &[Value] {
    match given {
        Value::Array(arguments) => arguments,
        single => std::slice::from_ref(single),
    }
}

pub(super) fn refusal(why: &str) -> Error {
    Error::invalid(format!("The condition in 'filter.condition' {why}."))
}
