//! Builds the body of a request.

use serde_json::{Map, Value, json};

use crate::answer::Content;
use crate::provider::Call;
use crate::request::{Message, OutputSchema, ToolResult};

/// Name of the token limit for newer models of OpenAI. Most other servers know only `max_tokens`.
pub(super) const RENAMED_LIMIT: &str = "max_completion_tokens";

pub(super) fn build(call: &Call<'_>, streamed: bool, renamed_limit: bool) -> Value {
    let request = call.request;
    let mut messages = Vec::new();
    if let Some(system) = call.system() {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for message in call.messages() {
        add(message, &mut messages);
    }
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", call.model.into());
    set("messages", messages.into());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "function": { "name": tool.name, "description": tool.description, "parameters": tool.input_schema },
            })
        });
        set("tools", tools.collect());
    }
    if let Some(output) = call.native_output() {
        set("response_format", format(output));
    }
    if let Some(max_tokens) = request.max_tokens {
        let name = if renamed_limit {
            RENAMED_LIMIT
        } else {
            "max_tokens"
        };
        set(name, max_tokens.into());
    }
    if let Some(temperature) = request.temperature {
        // Converted through its shortest text: 0.2 as a double would be 0.20000000298.
        set("temperature", temperature.to_string().parse::<f64>().ok().into());
    }
    if streamed {
        set("stream", true.into());
        set("stream_options", json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn add(message: &Message, messages: &mut Vec<Value>) {
    match message {
        Message::User { text } => messages.push(json!({ "role": "user", "content": text })),
        Message::Assistant { content } => messages.extend(assistant(content)),
        Message::Tool { results } => messages.extend(results.iter().map(result)),
    }
}

fn assistant(content: &[Content]) -> Option<Value> {
    let text: String = content.iter().filter_map(Content::text).collect();
    let calls: Vec<Value> = content
        .iter()
        .filter_map(|part| match part {
            Content::Text { .. } => None,
            Content::ToolCall(call) => Some(json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments.to_string() },
            })),
        })
        .collect();
    match (text.is_empty(), calls.is_empty()) {
        (true, true) => None,
        (false, true) => Some(json!({ "role": "assistant", "content": text })),
        (true, false) => Some(json!({ "role": "assistant", "content": null, "tool_calls": calls })),
        (false, false) => Some(json!({ "role": "assistant", "content": text, "tool_calls": calls })),
    }
}

fn result(result: &ToolResult) -> Value {
    json!({ "role": "tool", "tool_call_id": result.id, "content": result.told() })
}

/// Describes the output format. OpenAI refuses `strict` for a schema outside its subset; other servers
/// enforce any schema without it.
fn format(output: &OutputSchema) -> Value {
    json!({
        "type": "json_schema",
        "json_schema": { "name": output.name, "schema": output.schema, "strict": is_strict(&output.schema) },
    })
}

/// Returns whether each object of a schema requires all its properties and forbids others.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => {
            let is_object = keywords.contains_key("properties")
                || keywords.get("type").and_then(Value::as_str) == Some("object");
            (!is_object || is_closed(keywords)) && keywords.values().all(is_strict)
        }
        Value::Array(parts) => parts.iter().all(is_strict),
        _ => true,
    }
}

fn is_closed(keywords: &Map<String, Value>) -> bool {
    let required = keywords.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|names| names.iter().any(|other| other == name));
    let properties = keywords.get("properties").and_then(Value::as_object);
    keywords.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_some_and(|properties| properties.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_is_asked_for_where_the_schema_is_of_the_subset() {
        let closed = |properties: Value, required: Value| {
            json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            })
        };
        assert!(is_strict(&closed(
            json!({ "a": { "type": "string" } }),
            json!(["a"])
        )));
        assert!(!is_strict(&closed(json!({ "a": {}, "b": {} }), json!(["a"]))));
        assert!(!is_strict(&json!({ "type": "object" })));
        let inner = json!({ "type": "object", "properties": {} });
        assert!(!is_strict(&closed(
            json!({ "a": { "type": "array", "items": inner } }),
            json!(["a"])
        )));
    }
}
