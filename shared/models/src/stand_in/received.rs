//! Requests that the stand-in got.

use platform::config::Secret;
use serde_json::Value;

use super::Wire;

/// A request.
#[derive(Clone, Debug)]
pub struct Received {
    /// The wire format.
    pub wire: Wire,
    /// The path, with the model's name in that of Bedrock.
    pub path: String,
    /// The header `authorization`.
    pub authorization: Option<Secret>,
    /// Whether the answer is to come in parts.
    pub streamed: bool,
    /// The body.
    pub body: Value,
}

impl Received {
    /// The system text.
    pub fn system(&self) -> String {
        match self.wire {
            Wire::OpenAi => self
                .messages()
                .filter(|message| message["role"] == "system")
                .map(texts)
                .collect(),
            Wire::Bedrock => self.body.get("system").map(texts).unwrap_or_default(),
        }
    }

    /// The text of the last message: of the user, or of the results of tools.
    pub fn last(&self) -> String {
        self.messages().last().map(texts).unwrap_or_default()
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        let messages = self.body.get("messages").and_then(Value::as_array);
        messages.into_iter().flatten()
    }
}

/// The texts in what a message or a system block has, whatever the form.
fn texts(value: &Value) -> String {
    match value {
        Value::Array(list) => list.iter().map(texts).collect(),
        Value::Object(fields) => {
            let inner = ["content", "text", "toolResult"].map(|name| fields.get(name));
            inner
                .into_iter()
                .flatten()
                .map(|value| value.as_str().map_or_else(|| texts(value), str::to_owned))
                .collect()
        }
        _ => String::new(),
    }
}
