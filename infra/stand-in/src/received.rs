//! Represents the requests that the stand-in received.

use platform::config::Secret;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/chat/completions`.
    OpenAi,
    /// `POST /model/{id}/converse` and `/model/{id}/converse-stream`.
    Bedrock,
}

#[derive(Clone, Debug)]
pub struct Received {
    pub wire: Wire,
    /// The path; for Bedrock it contains the model's name.
    pub path: String,
    /// Value of the header `authorization`.
    pub authorization: Option<Secret>,
    /// Whether the request asks for a streamed answer.
    pub streamed: bool,
    pub body: Value,
}

impl Received {
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

    /// Returns the text of the last message, which is the user's or holds tool results.
    pub fn last(&self) -> String {
        self.messages().last().map(texts).unwrap_or_default()
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        let messages = self.body.get("messages").and_then(Value::as_array);
        messages.into_iter().flatten()
    }
}

/// Returns the texts in a message or a system block, in either wire format.
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
