//! Converts JSON to and from the SDK's documents.

use aws_smithy_types::{Document, Number};
use serde_json::Value;

pub(super) fn from_json(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(value) => Document::Bool(*value),
        Value::Number(number) => Document::Number(match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Number::PosInt(number),
            (None, Some(number)) => Number::NegInt(number),
            (None, None) => Number::Float(number.as_f64().unwrap_or(0.0)),
        }),
        Value::String(text) => Document::String(text.clone()),
        Value::Array(list) => Document::Array(list.iter().map(from_json).collect()),
        Value::Object(object) => Document::Object(
            object
                .iter()
                .map(|(name, value)| (name.clone(), from_json(value)))
                .collect(),
        ),
    }
}

pub(super) fn to_json(document: &Document) -> Value {
    match document {
        Document::Null => Value::Null,
        Document::Bool(value) => Value::Bool(*value),
        Document::Number(Number::PosInt(number)) => Value::from(*number),
        Document::Number(Number::NegInt(number)) => Value::from(*number),
        Document::Number(Number::Float(number)) => Value::from(*number),
        Document::String(text) => Value::String(text.clone()),
        Document::Array(list) => list.iter().map(to_json).collect(),
        Document::Object(object) => object
            .iter()
            .map(|(name, value)| (name.clone(), to_json(value)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_comes_back_as_it_went() {
        let value = json!({
            "null": null, "yes": true, "text": "é\n", "list": [0, -1, 1.5, u64::MAX, i64::MIN, [], {}],
        });
        assert_eq!(to_json(&from_json(&value)), value);
    }
}
