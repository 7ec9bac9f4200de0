//! Replaces the parts of answers that differ from run to run, so that answers can be compared whole.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns a JSON value with placeholders for ids, times, request ids and the account and project of the
/// test.
pub fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redacted_text(text)),
        Value::Array(items) => items.iter().map(redacted).collect(),
        // Sort the fields, because the JSON library may keep another order.
        Value::Object(fields) => BTreeMap::from_iter(fields)
            .into_iter()
            .map(|(key, field)| {
                let value = match key.as_str() {
                    "request_id" if field.is_string() => Value::from("<request id>"),
                    _ => redacted(field),
                };
                (key.clone(), value)
            })
            .collect(),
        other => other.clone(),
    }
}

/// Replaces a time, ids of the service, and the random part that [`crate::unique`] made.
fn redacted_text(text: &str) -> String {
    if is_shaped(text, "0000-00-00T00:00:00.000Z") {
        return "<time>".to_owned();
    }
    let ids = replaced(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "<id>");
    replaced(&ids, "-xxxxxxxxxxxxxxxx", "")
}

fn replaced(text: &str, shape: &str, placeholder: &str) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match rest.get(..shape.len()) {
            Some(part) if is_shaped(part, shape) => {
                output.push_str(placeholder);
                rest = rest.get(shape.len()..).unwrap_or_default();
            }
            _ => {
                output.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    output
}

/// True if a text has a digit for each `0` of the shape, a lower-case hexadecimal digit for each `x`, and
/// otherwise equals the shape.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, sign)| match sign {
            b'0' => byte.is_ascii_digit(),
            b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            _ => byte == sign,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_replaced_and_the_rest_is_not() {
        let id = "01a1fb09-0a6c-7219-898e-9398b8993ee1";
        let result = redacted(&json!({
            "id": id,
            "message": format!("The prompt template '{id}' does not exist."),
            "created_at": "2026-01-02T03:04:05.678Z",
            "project": "project-0123456789abcdef",
            "request_id": "mine",
            "name": "é 0123",
            "version": 3
        }));
        let expected = json!({
            "id": "<id>",
            "message": "The prompt template '<id>' does not exist.",
            "created_at": "<time>",
            "project": "project",
            "request_id": "<request id>",
            "name": "é 0123",
            "version": 3
        });
        assert_eq!(result, expected);
    }
}
