//! Answers of a model.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model's message.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// In the model's order. May be empty, which some models answer to the results of tools. With
    /// [`output`](Self::output) it is one text: the output as JSON.
    pub content: Vec<Content>,
    /// The structured output, valid against the request's schema. None where the request has no schema, and
    /// where the model calls tools first.
    pub output: Option<Value>,
    /// Why the answer ends.
    pub stop: StopReason,
    /// Tokens of the whole call; those of a repair round included.
    pub usage: Usage,
    /// Name of the model as the provider tells it, else as it was asked for.
    pub model: String,
}

impl Answer {
    /// The texts of the answer, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::text).collect()
    }

    /// The tool calls of the answer, in the model's order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|content| match content {
            Content::ToolCall(call) => Some(call),
            Content::Text { .. } => None,
        })
    }
}

/// Leaves out the texts of the model, so that a log line with an answer is safe.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("parts", &self.content.len())
            .field("stop", &self.stop)
            .field("usage", &self.usage)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A part of a model's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool that the model wants carried out; its result is to come in a message of tool results.
    ToolCall(ToolCall),
}

impl Content {
    /// A part that is this text.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::ToolCall(_) => None,
        }
    }
}

/// A tool that the model wants carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, or `call_<number>` where it gives none or one twice.
    pub id: String,
    /// Not empty, but a model may name a tool that the request does not have.
    pub name: String,
    /// A JSON object. It need not satisfy the tool's schema.
    pub arguments: Value,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model said all that it wanted to.
    End,
    /// The answer has tool calls, and the model waits for their results.
    ToolUse,
    /// The limit of tokens cut the answer off. A tool call that was cut is left out.
    MaxTokens,
    /// The model or a filter refused; the text may be cut off, or a filter's own.
    Refused,
}

/// Tokens of a call; 0 where the provider does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Those of the input that the provider read from its cache; None where it does not tell.
    pub cached_tokens: Option<u64>,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = match (self.cached_tokens, other.cached_tokens) {
            (None, None) => None,
            (one, another) => Some(one.unwrap_or(0).saturating_add(another.unwrap_or(0))),
        };
    }
}
