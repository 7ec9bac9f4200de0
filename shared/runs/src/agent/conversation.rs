//! Keeps the messages of a conversation within size limits.

use std::collections::HashSet;

use models::{Content, Message, ToolResult};
use serde_json::{Value, json};
use workflow::Failure;

use super::shortened::shortened;
use super::tools::ask_user;

/// Maximum size of a conversation that the model receives.
pub const MAX_BYTES: usize = 1_000_000;
/// Maximum size of one user message, and of one tool result.
pub const MAX_MESSAGE_BYTES: usize = 50_000;
/// Size to which an old message is cut where the conversation is too long.
const OLD_BYTES: usize = 500;
/// Number of last messages that are never cut.
const NEW_MESSAGES: usize = 4;

/// Messages of a conversation, oldest first.
#[derive(Default)]
pub struct Conversation {
    messages: Vec<Message>,
    bytes: usize,
}

impl Conversation {
    pub fn from_messages(messages: Vec<Message>) -> Self {
        let bytes = messages.iter().map(bytes).sum();
        Self { messages, bytes }
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn push(&mut self, message: Message) {
        self.bytes += bytes(&message);
        self.messages.push(message);
    }

    /// Cuts old messages where the conversation is too long. Fails where it is still too long afterwards.
    pub fn fit(&mut self) -> Result<(), Failure> {
        let old = self.messages.len().saturating_sub(NEW_MESSAGES);
        for message in self.messages.iter_mut().take(old) {
            if self.bytes <= MAX_BYTES {
                return Ok(());
            }
            self.bytes = self.bytes.saturating_sub(bytes(message));
            cut(message);
            self.bytes += bytes(message);
        }
        match self.bytes <= MAX_BYTES {
            true => Ok(()),
            false => Err(Failure::permanent(
                "ConversationTooLong",
                format!(
                    "The conversation has {} bytes; {MAX_BYTES} is the most. Begin another one with less data.",
                    self.bytes
                ),
            )),
        }
    }

    /// Returns the conversation for the query `Conversation`, which people read.
    pub fn shown(&self) -> Value {
        let calls = self.messages.iter().flat_map(|message| match message {
            Message::Assistant { content } => content.as_slice(),
            Message::User { .. } | Message::Tool { .. } => &[],
        });
        let questions = calls.filter_map(|part| match part {
            Content::ToolCall(call) if call.name == ask_user::NAME => Some(call.id.as_str()),
            Content::ToolCall(_) | Content::Text { .. } => None,
        });
        let questions = questions.collect();
        self.messages
            .iter()
            .map(|message| shown(message, &questions))
            .collect()
    }
}

fn bytes(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |json| json.len())
}

fn cut(message: &mut Message) {
    let shorter = |text: &mut String| {
        *text = shortened(std::mem::take(text), OLD_BYTES, "it is long ago");
    };
    match message {
        Message::User { text } => shorter(text),
        Message::Tool { results } => results.iter_mut().for_each(|result| shorter(&mut result.text)),
        Message::Assistant { content } => {
            for part in content {
                match part {
                    Content::Text { text } => shorter(text),
                    Content::ToolCall(call) if call.arguments.to_string().len() > OLD_BYTES => {
                        call.arguments = json!({ "cut": "it is long ago" });
                    }
                    Content::ToolCall(_) => {}
                }
            }
        }
    }
}

/// Shows a message. `questions` has the ids of the calls that asked the user; their results have the answer.
fn shown(message: &Message, questions: &HashSet<&str>) -> Value {
    match message {
        Message::User { text } => json!({ "role": "user", "text": text }),
        Message::Assistant { content } => {
            let text: String = content.iter().filter_map(Content::text).collect();
            let calls = content.iter().filter_map(|part| match part {
                Content::ToolCall(call) => {
                    Some(json!({ "id": call.id, "name": call.name, "arguments": call.arguments }))
                }
                Content::Text { .. } => None,
            });
            json!({ "role": "assistant", "text": text, "tool_calls": calls.collect::<Vec<_>>() })
        }
        Message::Tool { results } => {
            let result = |ToolResult { id, text, failed }: &ToolResult| {
                let answer = ask_user::answer(text).filter(|_| questions.contains(id.as_str()));
                match answer {
                    Some(answer) => {
                        json!({ "tool_call_id": id, "text": text, "is_error": failed, "answer": answer })
                    }
                    None => json!({ "tool_call_id": id, "text": text, "is_error": failed }),
                }
            };
            json!({ "role": "tool", "results": results.iter().map(result).collect::<Vec<_>>() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_results_are_cut_first_and_the_last_messages_stay() {
        let result = |number: usize| Message::Tool {
            results: vec![ToolResult {
                id: number.to_string(),
                text: "x".repeat(MAX_MESSAGE_BYTES),
                failed: false,
            }],
        };
        let mut conversation = Conversation::from_messages((0..40).map(result).collect());
        conversation.fit().unwrap();
        assert!(conversation.bytes() <= MAX_BYTES);
        let sizes: Vec<_> = conversation.messages().iter().map(bytes).collect();
        assert!(sizes[0] < 1_000 && sizes[39] > MAX_MESSAGE_BYTES, "{sizes:?}");
        assert_eq!(conversation.bytes(), sizes.iter().sum::<usize>());
    }

    #[test]
    fn a_last_message_that_is_too_long_fails() {
        let mut conversation = Conversation::from_messages(vec![Message::user("x".repeat(MAX_BYTES))]);
        assert_eq!(conversation.fit().unwrap_err().kind, "ConversationTooLong");
    }
}
