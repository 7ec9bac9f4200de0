//! Defines the requests to a model.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Content;
use crate::error::{ModelError, ModelErrorKind};
use crate::output;

/// Maximum length of a model's name, in characters: the longest ARN that Bedrock accepts.
const MAX_MODEL_CHARS: usize = 2_048;
/// Maximum nesting depth of JSON: the parser's limit, because code may build deeper values.
const MAX_DEPTH: usize = 128;
/// Maximum length of the name of a tool or an output, in characters: the limit of both wire formats.
const MAX_NAME_CHARS: usize = 64;

/// A conversation to continue. It has no `Debug`, so that no log line prints one.
#[derive(Clone, Default, PartialEq)]
pub struct Request {
    /// Replaces the configured model.
    pub model: Option<String>,
    /// Instructions before the conversation.
    pub system: Option<String>,
    /// Oldest message first.
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    /// Form of the answer, where it must be JSON.
    pub output: Option<OutputSchema>,
    /// Maximum number of tokens of the answer. Default: the provider's limit.
    pub max_tokens: Option<u32>,
    /// 0 to 2. Default: the provider's.
    pub temperature: Option<f32>,
    /// Time limit of the whole call, including retries and a repair round. Default: the client's.
    pub time_limit: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        /// Must not be blank.
        text: String,
    },
    /// An earlier answer of the model. One without content is left out.
    Assistant {
        /// As in the [`Answer`](crate::Answer).
        content: Vec<Content>,
    },
    /// Results of the tool calls in the previous message, one per call.
    Tool { results: Vec<ToolResult> },
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    /// Whether the tool failed; the text says why.
    pub failed: bool,
}

impl ToolResult {
    /// Returns the text for the model, with a mark for a failure: not all models of Bedrock accept a status,
    /// and OpenAI's form has none. Replaces a blank text, which some models refuse.
    pub fn told(&self) -> String {
        let text = match self.text.trim() {
            "" => "(empty)",
            _ => self.text.as_str(),
        };
        match self.failed {
            true => format!("Error: {text}"),
            false => text.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// 1 to 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments, which must be an object.
    pub input_schema: Value,
}

/// Form of a structured answer. The schema is compiled and applied in this process, without a limit on
/// processor time: an untrusted schema must be checked in the sandbox first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    /// Tells the model what the output is; 1 to 64 of `[A-Za-z0-9_-]`, and not the name of a tool.
    pub name: String,
    /// JSON Schema with `"type": "object"` at its root, which both wire formats require.
    pub schema: Value,
    /// Schema that an answer must satisfy, where it is less strict than what the model is asked for. Default:
    /// the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Value>,
}

impl OutputSchema {
    /// Fails for a schema that no call accepts: invalid, too large, with external references, or not of an
    /// object.
    pub fn check(&self) -> Result<(), ModelError> {
        output::Schema::compile(self).map(drop)
    }
}

impl Request {
    /// Fails for a request that no provider accepts, with a sentence that quotes no data.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if let Some(model) = &self.model
            && (model.is_empty()
                || model.chars().nth(MAX_MODEL_CHARS).is_some()
                || model.chars().any(char::is_control))
        {
            return refused("its model is not 1 to 2,048 printable characters");
        }
        if !matches!(
            self.messages.last(),
            Some(Message::User { .. } | Message::Tool { .. })
        ) {
            return refused("its last message must be of the user, or results of tools");
        }
        let is_blank = |message: &Message| match message {
            Message::User { text } => text.trim().is_empty(),
            Message::Tool { results } => results.is_empty(),
            Message::Assistant { .. } => false,
        };
        if self.messages.iter().any(is_blank) {
            return refused("it has a message of the user without text, or one of tools without a result");
        }
        if self
            .temperature
            .is_some_and(|value| !(0.0..=2.0).contains(&value))
        {
            return refused("its temperature is not from 0 to 2");
        }
        if self.max_tokens == Some(0) {
            return refused("it allows no token");
        }
        let mut names = HashSet::new();
        let output = self.output.iter().map(|output| output.name.as_str());
        for name in self.tools.iter().map(|tool| tool.name.as_str()).chain(output) {
            if !is_name(name) {
                return refused(
                    "the name of a tool or of its output is not 1 to 64 letters, digits, hyphens or underscores",
                );
            }
            if !names.insert(name) {
                return refused("two of its tools, or a tool and its output, have one name");
            }
        }
        if self.tools.iter().any(|tool| !tool.input_schema.is_object()) {
            return refused("the input schema of a tool is not an object");
        }
        let schemas = self.tools.iter().map(|tool| &tool.input_schema);
        let schemas = schemas.chain(self.output.iter().map(|output| &output.schema));
        let contents = self.messages.iter().filter_map(|message| match message {
            Message::Assistant { content } => Some(content),
            Message::User { .. } | Message::Tool { .. } => None,
        });
        let calls = contents.flatten().filter_map(|part| match part {
            Content::ToolCall(call) => Some(&call.arguments),
            Content::Text { .. } => None,
        });
        if schemas.chain(calls).any(|value| is_deeper(value, MAX_DEPTH)) {
            return refused("a schema, or the arguments of a tool call, nest more than 128 deep");
        }
        Ok(())
    }
}

fn is_deeper(value: &Value, depth: usize) -> bool {
    match (value, depth.checked_sub(1)) {
        (Value::Array(list), Some(depth)) => list.iter().any(|value| is_deeper(value, depth)),
        (Value::Object(fields), Some(depth)) => fields.values().any(|value| is_deeper(value, depth)),
        (Value::Array(_) | Value::Object(_), None) => true,
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn refused(why: &str) -> Result<(), ModelError> {
    Err(ModelError::new(
        ModelErrorKind::BadRequest,
        format!("The request to the language model is not valid: {why}."),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({ "type": "object" }),
        }
    }

    #[test]
    fn json_nests_as_deep_as_a_parser_takes_it() {
        let nested = |depth: usize| (1..depth).fold(json!({}), |inner, _| Value::from_iter([("a", inner)]));
        for (depth, is_taken) in [(128, true), (129, false), (1_000, false)] {
            let request = Request {
                messages: vec![Message::user("x")],
                tools: vec![Tool {
                    input_schema: nested(depth),
                    ..tool("a")
                }],
                ..Request::default()
            };
            assert_eq!(request.check().is_ok(), is_taken, "{depth}");
        }
    }

    #[test]
    fn what_no_provider_takes_is_refused_before_it_is_sent() {
        let good = Request {
            messages: vec![Message::user("x")],
            ..Request::default()
        };
        assert!(good.check().is_ok());
        let with = |change: fn(&mut Request)| {
            let mut request = good.clone();
            change(&mut request);
            request.check().unwrap_err().to_string()
        };
        for (refusal, reason) in [
            (with(|request| request.model = Some(String::new())), "its model"),
            (
                with(|request| request.model = Some("a\nb".to_owned())),
                "its model",
            ),
            (with(|request| request.messages.clear()), "last message"),
            (
                with(|request| request.messages.push(Message::Assistant { content: Vec::new() })),
                "last message",
            ),
            (
                with(|request| request.messages = vec![Message::user(" \n")]),
                "without text",
            ),
            (
                with(|request| request.messages.push(Message::Tool { results: Vec::new() })),
                "without a result",
            ),
            (
                with(|request| request.temperature = Some(f32::NAN)),
                "temperature",
            ),
            (with(|request| request.max_tokens = Some(0)), "no token"),
            (with(|request| request.tools = vec![tool("a b")]), "64 letters"),
            (with(|request| request.tools = vec![tool("")]), "64 letters"),
            (
                with(|request| request.tools = vec![tool("a"), tool("a")]),
                "one name",
            ),
            (
                with(|request| {
                    request.tools = vec![tool("a")];
                    request.output = Some(OutputSchema {
                        name: "a".to_owned(),
                        schema: json!({}),
                        accepted: None,
                    });
                }),
                "one name",
            ),
            (
                with(|request| {
                    request.tools = vec![Tool {
                        input_schema: json!(true),
                        ..tool("a")
                    }];
                }),
                "not an object",
            ),
        ] {
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
