//! Assembles an answer from the parts that a provider sends.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};
use tracing::warn;

use crate::answer::{Content, StopReason, ToolCall};
use crate::provider::{Call, Failure};

/// Maximum length of an unknown stop reason in a log line, in characters.
const MAX_LOGGED_CHARS: usize = 64;

/// Part of an answer, as far as it has arrived.
enum Part {
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

/// Received parts by number.
#[derive(Default)]
pub struct Assembly(BTreeMap<u64, Part>);

impl Assembly {
    /// Adds text to a part.
    pub fn text(&mut self, number: u64, text: &str) {
        let part = self.0.entry(number).or_insert_with(|| Part::Text(String::new()));
        if let Part::Text(so_far) = part {
            so_far.push_str(text);
        }
    }

    /// Adds to a tool call. The first id and name are kept, because some servers repeat them with each piece.
    pub fn call(&mut self, number: u64, id: Option<&str>, name: Option<&str>, arguments: &str) {
        let part = self.0.entry(number).or_insert_with(|| Part::Call {
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        if let Part::Call {
            id: known_id,
            name: known_name,
            arguments: so_far,
        } = part
        {
            if known_id.is_empty() {
                known_id.push_str(id.unwrap_or_default());
            }
            if known_name.is_empty() {
                known_name.push_str(name.unwrap_or_default());
            }
            so_far.push_str(arguments);
        }
    }

    pub(crate) fn last(&self) -> Option<u64> {
        self.0.keys().next_back().copied()
    }

    /// Returns the content and the stop reason. A call of the output tool becomes the answer's text, as the
    /// model wrote it.
    pub fn finish(self, call: &Call<'_>, reason: Ended<'_>) -> Result<(Vec<Content>, StopReason), Failure> {
        let is_cut = reason == Ended::For(StopReason::MaxTokens);
        let output_tool = call.native_output().map(|output| output.name.as_str());
        let (mut content, mut output) = (Vec::new(), None);
        let mut ids = HashSet::new();
        for part in self.0.into_values() {
            match part {
                Part::Text(text) if text.is_empty() => {}
                Part::Text(text) => content.push(Content::Text { text }),
                Part::Call { name, .. } if name.is_empty() => {
                    return Err(Failure::bad_answer(
                        "calls a tool without a name; repeat the call",
                    ));
                }
                Part::Call { name, arguments, .. } if Some(name.as_str()) == output_tool => {
                    output = Some(arguments);
                }
                Part::Call { id, name, arguments } => match object(&arguments) {
                    Some(arguments) => {
                        let id = own_id(id, call.calls_before(), &mut ids);
                        content.push(Content::ToolCall(ToolCall { id, name, arguments }));
                    }
                    // The call was cut off with the answer.
                    None if is_cut => {}
                    None => {
                        return Err(Failure::bad_answer(
                            "calls a tool with arguments that are not a JSON object; repeat the call",
                        ));
                    }
                },
            }
        }
        let has_calls = content.iter().any(|part| part.text().is_none());
        if let Some(text) = output.filter(|_| !has_calls) {
            content = vec![Content::Text { text }];
        } else if reason == Ended::For(StopReason::ToolUse) && !has_calls {
            return Err(Failure::bad_answer(
                "says that it calls tools, and calls none; repeat the call",
            ));
        }
        let stop = match reason {
            Ended::For(stop @ (StopReason::MaxTokens | StopReason::Refused)) => stop,
            // Several servers report a normal end for an answer with tool calls.
            _ if has_calls => StopReason::ToolUse,
            Ended::For(_) => StopReason::End,
            Ended::Unknown(reason) => {
                let reason: String = reason.chars().take(MAX_LOGGED_CHARS).collect();
                warn!(
                    model = call.model,
                    reason, "unknown stop reason; taken as the end of the answer"
                );
                StopReason::End
            }
        };
        Ok((content, stop))
    }
}

/// The provider's reason for the end of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ended<'a> {
    For(StopReason),
    /// A word that is not known here.
    Unknown(&'a str),
}

/// Parses the arguments of a tool. Empty arguments and null mean a tool without parameters.
fn object(arguments: &str) -> Option<Value> {
    if arguments.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Null) => Some(Value::Object(Map::new())),
        Ok(object @ Value::Object(_)) => Some(object),
        _ => None,
    }
}

/// Returns the provider's id, or one that is unique in the conversation.
fn own_id(mut id: String, before: usize, ids: &mut HashSet<String>) -> String {
    let mut number = before + ids.len();
    while id.is_empty() || ids.contains(&id) {
        number += 1;
        id = format!("call_{number}");
    }
    ids.insert(id.clone());
    id
}
