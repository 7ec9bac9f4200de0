//! Parses the answers of a server. A whole answer and a piece of a stream have the same form.
//!
//! Servers differ in the fields that they leave out, so a field is read only where it is used, and an
//! unexpected value of an unused field is ignored.

use serde_json::Value;

use super::failure;
use crate::answer::{StopReason, Usage};
use crate::assembly::{Assembly, Ended};
use crate::provider::{Call, Failure, Reply};

/// Part number of the text; tool calls follow it.
const TEXT: u64 = 0;

/// Answer as far as it has arrived.
#[derive(Default)]
pub(super) struct Reading {
    parts: Assembly,
    reason: Option<String>,
    usage: Usage,
    model: Option<String>,
    has_choice: bool,
    has_refused: bool,
}

impl Reading {
    /// Reads an object from the server; returns the new text.
    pub(super) fn take(&mut self, sent: &Value) -> Result<String, Failure> {
        if !sent.is_object() {
            return Err(Failure::bad_answer(
                "is JSON of another form than a chat endpoint's",
            ));
        }
        if let Some(error) = sent.get("error").filter(|error| !error.is_null()) {
            return Err(failure::of_event(error));
        }
        if let Some(model) = sent.get("model").and_then(Value::as_str) {
            self.model = Some(model.to_owned()).filter(|model| !model.is_empty());
        }
        if let Some(usage) = sent.get("usage").filter(|usage| usage.is_object()) {
            self.usage = told(usage);
        }
        let choices = sent.get("choices").and_then(Value::as_array);
        let Some(choice) = choices.and_then(|choices| choices.first()) else {
            return Ok(String::new());
        };
        self.has_choice = true;
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.reason = Some(reason.to_owned());
        }
        let message = choice.get("delta").or_else(|| choice.get("message"));
        let Some(message) = message else {
            return Ok(String::new());
        };
        let mut text = text(message.get("content"));
        if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
            && !refusal.is_empty()
        {
            self.has_refused = true;
            text.push_str(refusal);
        }
        self.parts.text(TEXT, &text);
        for call in message
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.take_call(call);
        }
        Ok(text)
    }

    fn take_call(&mut self, call: &Value) {
        let id = call.get("id").and_then(Value::as_str);
        let name = call.pointer("/function/name").and_then(Value::as_str);
        let arguments = match call.pointer("/function/arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(object) => object.to_string(),
        };
        let last = self.parts.last().unwrap_or(TEXT);
        let number = match call.get("index").and_then(Value::as_u64) {
            Some(index) => index.saturating_add(TEXT + 1),
            // Without an index, a name starts another call.
            None if name.is_some_and(|name| !name.is_empty()) || last == TEXT => last.saturating_add(1),
            None => last,
        };
        self.parts.call(number, id, name, &arguments);
    }

    /// Returns whether the server gave a stop reason.
    pub(super) fn has_ended(&self) -> bool {
        self.reason.is_some()
    }

    /// Builds the answer once nothing more arrives.
    pub(super) fn finish(self, call: &Call<'_>) -> Result<Reply, Failure> {
        if !self.has_choice {
            return Err(Failure::bad_answer("has no choice"));
        }
        let reason = match self.reason.as_deref() {
            _ if self.has_refused => Ended::For(StopReason::Refused),
            None | Some("stop" | "eos" | "") => Ended::For(StopReason::End),
            Some("tool_calls" | "function_call") => Ended::For(StopReason::ToolUse),
            Some("length") => Ended::For(StopReason::MaxTokens),
            Some("content_filter") => Ended::For(StopReason::Refused),
            Some(other) => Ended::Unknown(other),
        };
        let (content, stop) = self.parts.finish(call, reason)?;
        Ok(Reply {
            content,
            stop,
            usage: self.usage,
            model: self.model,
        })
    }
}

/// Parses an answer that arrived as a whole.
pub(super) fn whole(body: &[u8], call: &Call<'_>) -> Result<Reply, Failure> {
    let sent: Value = serde_json::from_slice(body).map_err(|_| Failure::bad_answer("is not JSON"))?;
    let mut reading = Reading::default();
    reading.take(&sent)?;
    reading.finish(call)
}

/// Returns the text, or the joined texts of a list of parts. Some servers send the model's reasoning as parts
/// of another type, which are left out.
fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => String::new(),
    }
}

fn told(usage: &Value) -> Usage {
    let number = |pointer| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input_tokens: number("/prompt_tokens").unwrap_or(0),
        output_tokens: number("/completion_tokens").unwrap_or(0),
        cached_tokens: number("/prompt_tokens_details/cached_tokens"),
    }
}
