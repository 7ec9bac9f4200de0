//! What a conversation begins with.

use models::{Message, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workflow::Failure;
use workflow::state::{About, Visibility};

use super::definition::Agent;
use crate::interactions::GENERAL;

/// Turns of the model where nothing is said.
const DEFAULT_ITERATIONS: u32 = 20;
/// Most turns of the model without a word of the user.
pub const MAX_ITERATIONS: u32 = 100;

/// What a run begins with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Input {
    /// Id of an interaction, `app:<name>` or `sys:<name>`; `sys:general` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_ref: Option<String>,
    /// What the prompts of the interaction are rendered with.
    #[serde(default)]
    pub data: Map<String, Value>,
    /// Most turns of the model without a word of the user, 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Whether the run waits for the user after each answer, rather than to end with it.
    #[serde(default)]
    pub interactive: bool,
    /// Who sees the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// `event_subscription` for a run that a subscription starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_type: Option<String>,
    /// The subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// The event, as `$event_ref` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_ref: Option<Value>,
    /// The delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<String>,
    /// What the runs before this one came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) carried: Option<Box<Carried>>,
}

/// What a conversation is, for the run that continues it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    pub agent: Agent,
    pub messages: Vec<Message>,
    pub progress: Progress,
}

/// How far a conversation is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Turns of the model in all.
    pub turns: u32,
    /// Those since the last word of the user.
    pub iteration: u32,
    pub usage: Usage,
    /// Empty answers in a row.
    pub empty_answers: u32,
    /// Results that broke the output schema.
    pub faulty_results: u32,
    /// Name and arguments of the last tool call, as JSON.
    pub last_call: Option<String>,
    /// How often it was repeated in a row.
    pub repeats: u32,
    pub last_tool: Option<String>,
}

impl Input {
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

/// Adds to what a run is about what its input says: for the start of a run of this type.
pub fn about(input: &Value, mut about: About) -> About {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    about.interaction_name = Some(text("interaction_ref").unwrap_or(GENERAL).to_owned());
    if text("visibility") == Some("private") {
        about.visibility = Visibility::Private;
    }
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
    fn too_many_iterations_are_refused() {
        let input =
            |value: Value| serde_json::from_value::<Input>(json!({ "max_iterations": value })).unwrap();
        assert_eq!(input(Value::Null).max_iterations().unwrap(), 20);
        for number in [0, 101] {
            assert_eq!(
                input(json!(number)).max_iterations().unwrap_err().kind,
                "InvalidInput"
            );
        }
    }
}
