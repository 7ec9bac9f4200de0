//! Makes comparisons and arithmetic behave as in JavaScript: a text that is no number makes a comparison
//! false and a sum null, while the library would abort the whole condition. So each such operation is wrapped
//! in one that catches its error.

use serde_json::{Map, Value, json};

use super::check::{ARITHMETIC, ORDERINGS};

/// Rewrites a condition so that it has the meaning that JSONLogic defines.
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
