//! Defines the workflow type, its input, and the progress of a conversation.

use events::target::{AGENT_TYPE, MAX_ITERATIONS};
use models::{Message, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workflow::state::{About, Visibility};
use workflow::{Failure, WorkflowType};

use super::definition::Agent;
use crate::interactions::GENERAL;

pub const WORKFLOW_TYPE: WorkflowType<ConversationInput, Value> = WorkflowType::new(AGENT_TYPE)
    .signals(&[USER_INPUT])
    .queries(&[CONVERSATION, "__state"]);
/// Signal that continues a conversation.
pub const USER_INPUT: &str = "UserInput";
/// Query that returns the messages.
pub const CONVERSATION: &str = "Conversation";

/// Maximum number of model turns where the input sets none.
const DEFAULT_ITERATIONS: u32 = 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConversationInput {
    /// Id of an interaction, `app:<name>` or `sys:<name>`; `sys:general` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_ref: Option<String>,
    /// Data with which the prompts of the interaction are rendered.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// Maximum number of model turns between two user messages, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Whether the run waits for the user after each answer instead of ending with it.
    #[serde(default)]
    pub interactive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// `event_subscription` for a run that a subscription starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// The event in the form of `$event_ref`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_ref: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<String>,
    /// State of the conversation from the runs before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) carried: Option<Box<Carried>>,
}

/// State of a conversation for the run that continues it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    pub agent: Agent,
    pub messages: Vec<Message>,
    pub progress: Progress,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Number of model turns, also of the runs before.
    pub turns: u32,
    /// Number of model turns since the last user message.
    pub iteration: u32,
    pub usage: Usage,
    /// Number of empty answers in a row.
    pub empty_answers: u32,
    /// Number of results that broke the output schema.
    pub faulty_results: u32,
    /// Name and arguments of the last tool call, as JSON.
    pub last_call: Option<String>,
    /// How often the last call was repeated in a row.
    pub repeats: u32,
    pub last_tool: Option<String>,
    /// Beginning of the answer that the model is continuing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unfinished: String,
    /// How often the model was asked to continue it.
    #[serde(default)]
    pub continuations: u32,
}

impl ConversationInput {
    pub(super) fn max_iterations(&self) -> Result<u32, Failure> {
        match self.max_iterations.unwrap_or(DEFAULT_ITERATIONS) {
            most @ 1..=MAX_ITERATIONS => Ok(most),
            other => Err(Failure::permanent(
                "InvalidInput",
                format!("The field 'max_iterations' is {other}. It is from 1 to {MAX_ITERATIONS}."),
            )),
        }
    }

    pub(super) fn reference(&self) -> &str {
        self.interaction_ref.as_deref().unwrap_or(GENERAL)
    }
}

/// Completes the `About` of a run of this type from its input, for the start of the run.
pub fn about(input: &Value, mut about: About) -> About {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    about.interaction_name = Some(text("interaction_ref").unwrap_or(GENERAL).to_owned());
    // A misspelt word fails the run, and must not show it to the project.
    about.visibility = match input.get("visibility") {
        None | Some(Value::Null) => about.visibility,
        Some(visibility) if visibility == "project" => Visibility::Project,
        Some(_) => Visibility::Private,
    };
    for name in ["source_type", "subscription_id", "event_ref", "delivery_id"] {
        if let Some(value) = input.get(name).filter(|value| !value.is_null()) {
            about.memo.insert(name.to_owned(), value.clone());
        }
    }
    about
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_start_says_what_the_run_is_about() {
        let input = json!({ "visibility": "private", "source_type": "event_subscription", "event_ref": { "id": "e" } });
        let about = about(&input, About::default());
        assert_eq!(about.interaction_name.as_deref(), Some("sys:general"));
        assert_eq!(about.visibility, Visibility::Private);
        assert_eq!(
            Value::from(about.memo),
            json!({ "source_type": "event_subscription", "event_ref": { "id": "e" } })
        );
    }

    #[test]
    fn run_with_a_misspelt_visibility_is_private() {
        for word in [
            json!("Private"),
            json!("private "),
            json!(true),
            json!(["private"]),
        ] {
            let about = about(&json!({ "visibility": word }), About::default());
            assert_eq!(about.visibility, Visibility::Private, "{word}");
        }
        for word in [json!("project"), Value::Null] {
            let about = about(&json!({ "visibility": word }), About::default());
            assert_eq!(about.visibility, Visibility::Project, "{word}");
        }
    }

    #[test]
    fn too_many_iterations_are_refused() {
        let input = |value: Value| {
            serde_json::from_value::<ConversationInput>(json!({ "max_iterations": value })).unwrap()
        };
        assert_eq!(input(Value::Null).max_iterations().unwrap(), 20);
        for number in [0, 101] {
            assert_eq!(
                input(json!(number)).max_iterations().unwrap_err().kind,
                "InvalidInput"
            );
        }
    }
}
