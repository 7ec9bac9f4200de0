//! Implements the activity that asks the model for its next message.

use std::time::Duration;

use models::{Content, Message, ModelError, ModelErrorKind, Request, StopReason, Usage};
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Failure, RetryPolicy};

use super::definition::Agent;
use super::partial_text::PartialText;
use super::services::Services;
use super::tools;
use crate::model_usage::ModelCall;

pub const MODEL_TURN: ActivityType<Turn, Turned> = ActivityType::new("agent_model_turn");

/// Time limit of a model call, including the retries of its client.
const TIME_LIMIT: Duration = Duration::from_secs(150);
/// Time limit of one attempt: the model call, and the last update messages after it.
pub(super) const ATTEMPT: Duration = Duration::from_secs(180);
/// Longest pause between heartbeats; a longer one means that the worker died.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(30);
/// Maximum size of a message of the model, as JSON.
pub(super) const MAX_ANSWER_BYTES: usize = 300_000;

/// Retries after 2, 4, 8, 16 and 32 seconds. Before that, the model's client retries by itself.
pub(super) fn retries() -> RetryPolicy {
    RetryPolicy {
        initial_interval_ms: 2_000,
        ..RetryPolicy::attempts(6)
    }
}

#[derive(Serialize, Deserialize)]
pub struct Turn {
    /// Number of the turn in the conversation.
    pub(super) number: u32,
    pub(super) agent: Agent,
    pub(super) messages: Vec<Message>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turned {
    pub(super) content: Vec<Content>,
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
    pub(super) model: String,
}

pub(super) async fn model_turn(
    services: Services,
    context: ActivityContext,
    turn: Turn,
) -> Result<Turned, Failure> {
    let tools = tools::offered(&turn.agent);
    let request = Request {
        model: turn.agent.model,
        system: turn.agent.system,
        messages: turn.messages,
        tools,
        output: None,
        max_tokens: turn.agent.max_output_tokens,
        temperature: turn.agent.temperature,
        time_limit: Some(TIME_LIMIT),
    };
    let partial = PartialText::new(turn.number, context.attempt);
    let mut sink = partial.sink();
    let asked = services.model.converse(&request, Some(&mut sink));
    let answered = partial.published_while(&context, asked).await?;
    let (model, usage) = match &answered {
        Ok(answer) => (answer.model.as_str(), answer.usage),
        Err(error) => (request.model.as_deref().unwrap_or_default(), error.usage()),
    };
    if let Some(billing) = services.usage.filter(|_| usage != Usage::default()) {
        let call = ModelCall {
            number: 1,
            model,
            interaction: Some(&turn.agent.id),
            usage,
        };
        billing.publish(&context, &call).await;
    }
    let answer = answered.map_err(failure)?;
    let turned = Turned {
        content: answer.content,
        stop: answer.stop,
        usage: answer.usage,
        model: answer.model,
    };
    let bytes = serde_json::to_string(&turned).map_or(usize::MAX, |json| json.len());
    if bytes > MAX_ANSWER_BYTES {
        return Err(Failure::permanent(
            "ModelAnswerTooLarge",
            format!(
                "The model's message has {bytes} bytes; {MAX_ANSWER_BYTES} is the most. Limit 'max_output_tokens'."
            ),
        ));
    }
    Ok(turned)
}

/// Converts an error of the model. The message quotes neither the prompt nor the answer, and leaves out the
/// provider's own message.
fn failure(error: ModelError) -> Failure {
    let kind = match error.kind() {
        ModelErrorKind::NotConfigured => {
            return Failure::permanent(
                "ModelNotConfigured",
                "No language model is configured. The operator sets MILLRACE_MODEL_PROVIDER to bedrock or openai, \
                 MILLRACE_MODEL to the model's name, and for openai MILLRACE_MODEL_BASE_URL and, where the server wants a key, \
                 MILLRACE_MODEL_API_KEY or MILLRACE_MODEL_API_KEY_SECRET.",
            );
        }
        ModelErrorKind::Timeout => "ModelTimeout",
        ModelErrorKind::Throttled => "ModelThrottled",
        ModelErrorKind::Unavailable => "ModelUnavailable",
        ModelErrorKind::Refused => "ModelRefused",
        ModelErrorKind::BadAnswer => "ModelBadAnswer",
        ModelErrorKind::BadRequest => "ModelBadRequest",
        ModelErrorKind::Unauthorized => "ModelUnauthorized",
    };
    // The client does not treat an unusable answer as transient, but the next answer may be usable.
    if error.is_transient() || error.kind() == ModelErrorKind::BadAnswer {
        Failure::new(kind, error.message())
    } else {
        Failure::permanent(kind, error.message())
    }
}
