//! Comparing and reckoning as JavaScript does: a text that is no number makes a comparison false and a sum nothing, where the library
//! would give up the whole condition. So each such operation is put into one that catches its error.

use serde_json::{Map, Value, json};

use super::check::{ARITHMETIC, ORDERINGS};

/// The condition that means what JSONLogic has it mean.
pub(super) fn forgiving(rule: &Value) -> Value {
    match rule {
        Value::Array(items) => items.iter().map(forgiving).collect(),
        Value::Object(fields) => {
            let operation: Map<_, _> = fields
                .iter()
                .map(|(operator, given)| (operator.clone(), forgiving(given)))
                .collect();
            let operator = operation.keys().next().map_or("", String::as_str);
            if ORDERINGS.contains(&operator) {
                json!({ "try": [operation, false] })
            } else if ARITHMETIC.contains(&operator) {
                json!({ "try": [operation, null] })
            } else {
                Value::Object(operation)
            }
        }
        other => other.clone(),
    }
}
