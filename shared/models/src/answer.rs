//! Defines the answers of a model.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// In the model's order. May be empty: some models answer so to tool results. With
    /// [`output`](Self::output) it is one text, the output as JSON.
    pub content: Vec<Content>,
    /// Structured output, valid against the request's schema. None where the request has no schema, or where
    /// the model calls tools first.
    pub output: Option<Value>,
    pub stop: StopReason,
    /// Tokens of the whole call, including a repair round.
    pub usage: Usage,
    /// Name of the model from the provider; the requested name where the provider gives none.
    pub model: String,
}

impl Answer {
    /// Returns the texts of the answer, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::text).collect()
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|content| match content {
            Content::ToolCall(call) => Some(call),
            Content::Text { .. } => None,
        })
    }
}

/// Leaves out the texts of the model, so that an answer is safe to log.
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

/// Part of a model's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
    },
    /// Tool call; its result must follow in a message of tool results.
    ToolCall(ToolCall),
}

impl Content {
    pub fn of_text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text; None for a tool call.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::ToolCall(_) => None,
        }
    }
}

/// A tool call that the model requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id from the provider, or `call_<number>` where it gives no id or repeats one.
    pub id: String,
    /// Not empty, but the request may not have a tool of this name.
    pub name: String,
    /// JSON object. It may not satisfy the tool's schema.
    pub arguments: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished its answer.
    End,
    /// The answer contains tool calls, and the model waits for their results.
    ToolUse,
    /// The token limit cut the answer off. A tool call that was cut is left out.
    MaxTokens,
    /// The model or a filter refused; the text may be cut off, or be the filter's.
    Refused,
}

/// Token counts of a call; 0 where the provider gives none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt, including cached ones.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Input tokens that the provider read from its cache; None where it does not say.
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
