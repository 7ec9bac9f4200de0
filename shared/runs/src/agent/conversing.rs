//! Holds a conversation that is under way, and takes in the messages of the user.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use models::Message;
use serde_json::Value;
use workflow::{Context, Failure};

use super::conversation::{Conversation, MAX_MESSAGE_BYTES};
use super::definition::Agent;
use super::input::{ConversationInput, Progress, USER_INPUT};
use super::shortened::shortened;

/// State that queries read.
pub(super) struct Shown {
    pub agent_name: String,
    pub conversation: Conversation,
    pub progress: Progress,
    pub waits_for: Option<&'static str>,
}

pub(super) struct Conversing {
    pub context: Context,
    pub input: ConversationInput,
    pub agent: Agent,
    pub shown: Rc<RefCell<Shown>>,
    pub max_iterations: u32,
    /// Total size of the conversations in the turns of this run.
    pub given_bytes: usize,
}

impl Conversing {
    pub fn shown(&self) -> Ref<'_, Shown> {
        self.shown.borrow()
    }

    pub fn push(&self, message: Message) {
        self.shown.borrow_mut().conversation.push(message);
    }

    pub fn waits_for(&self, what: Option<&'static str>) {
        self.shown.borrow_mut().waits_for = what;
    }

    /// Takes in the user messages that arrived meanwhile.
    pub fn hear(&self) {
        let signals = self.context.signals(USER_INPUT);
        while let Some(signal) = signals.try_receive::<Value>() {
            self.heard(signal.unwrap_or_default());
        }
    }

    /// Adds a user message and allows further turns. Ignores a message without text, and returns false.
    pub fn heard(&self, signal: Value) -> bool {
        let text = user_text(signal);
        if text.trim().is_empty() {
            return false;
        }
        self.push(Message::user(text));
        let mut shown = self.shown.borrow_mut();
        shown.progress.iteration = 0;
        shown.progress.repeats = 0;
        true
    }

    /// Waits for the next user message.
    pub async fn listen(&self) -> Result<(), Failure> {
        self.waits_for(Some(USER_INPUT));
        let signals = self.context.signals(USER_INPUT);
        while !self.heard(signals.receive::<Value>().await?) {}
        Ok(())
    }
}

/// Returns the text of a user message: its `message` where that is the only field, else the whole signal as
/// JSON.
pub(super) fn user_text(signal: Value) -> String {
    let text = match &signal {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => match (fields.len(), fields.get("message").and_then(Value::as_str)) {
            (1, Some(text)) => text.to_owned(),
            (0, _) => String::new(),
            _ => signal.to_string(),
        },
        other => other.to_string(),
    };
    shortened(text, MAX_MESSAGE_BYTES, "send less at a time")
}
