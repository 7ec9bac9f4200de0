//! Implements the activity that asks the model.
//!
//! It fails only on transient errors, and the engine retries it. Any other reason for a missing verdict
//! becomes the outcome, and the subscription decides what happens next.

use std::time::Duration;

use events::envelope::Envelope;
use events::filter::{EvaluatorKind, SemanticCondition};
use events::payload;
use events::subscription::StoredSubscription;
use models::{Answer, Message, ModelError, Request};
use platform::UtcTime;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::info;
use workflow::{ActivityContext, Failure};

use super::content::excerpt;
use super::question::{MAX_EXCERPT_BYTES, request, verdict};
use super::tools;
use crate::interactions::{CLASSIFIER, Resolved};
use crate::model_usage::ModelCall;
use crate::services::Services;

/// Maximum number of model calls of the evaluator `agent`.
const MAX_TURNS: usize = 5;
/// Time limit for all model calls of an attempt, below the time limit of the attempt.
const MODEL_LIMIT: Duration = Duration::from_secs(55);

/// An event, and the condition to evaluate on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub event_id: String,
    pub subscription_id: String,
    /// The condition at the time of the match.
    pub condition: SemanticCondition,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Verdict {
        matched: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rationale: Option<String>,
    },
    /// The model gave no verdict, for this reason, and a retry would not help.
    NoVerdict(String),
    /// The subscription no longer takes events, for this reason.
    Unwanted(String),
}

pub async fn evaluate(
    services: Services,
    context: ActivityContext,
    question: Question,
) -> Result<Outcome, Failure> {
    let outcome = asked(&services, &context, &question).await?;
    let (verdict, error) = match &outcome {
        Outcome::Verdict { matched, .. } => (Some(*matched), None),
        Outcome::NoVerdict(why) | Outcome::Unwanted(why) => (None, Some(why)),
    };
    info!(
        account = context.tenant.account(),
        project = context.tenant.project(),
        event_id = question.event_id,
        subscription_id = question.subscription_id,
        run_id = context.run_id,
        attempt = context.attempt,
        verdict,
        error,
        "semantic condition evaluated"
    );
    Ok(outcome)
}

async fn asked(
    services: &Services,
    context: &ActivityContext,
    question: &Question,
) -> Result<Outcome, Failure> {
    let (tenant, objects) = (&context.tenant, &services.webhooks.objects);
    let (event, subscription) = futures::future::join(
        services.webhooks.events.find(tenant, &question.event_id),
        services
            .webhooks
            .subscriptions
            .find(tenant, &question.subscription_id),
    )
    .await;
    let Some(subscription) = subscription? else {
        return Ok(Outcome::Unwanted("The subscription was deleted.".to_owned()));
    };
    let subscription = StoredSubscription::from_record(&subscription)?;
    if !subscription.enabled {
        return Ok(Outcome::Unwanted(subscription.why_disabled()));
    }
    let Some(event) = event? else {
        return Ok(Outcome::NoVerdict("The event is no longer kept.".to_owned()));
    };
    let event = payload::whole(objects, &event).await?;
    let condition = &question.condition;
    let evaluator = &condition.evaluator;
    let reference = evaluator.interaction_ref.as_deref().unwrap_or(CLASSIFIER);
    let interaction = match services.interactions.resolve(tenant, reference).await {
        Err(refusal) if !refusal.is_transient() => {
            return Ok(Outcome::NoVerdict(refusal.message().to_owned()));
        }
        resolved => resolved?,
    };
    // Templates get no data of the event: otherwise an outsider would write the system text.
    let data = json!({ "instruction": condition.instruction });
    let rendered = match services.interactions.render(&interaction, &data) {
        Err(refusal) => return Ok(Outcome::NoVerdict(refusal.message().to_owned())),
        Ok(rendered) => rendered,
    };
    let excerpt = match evaluator.enrich_with_content {
        true => Some(excerpt(objects, tenant, &event, (0, MAX_EXCERPT_BYTES)).await?),
        false => None,
    };
    let request = request(
        &interaction,
        rendered,
        &condition.instruction,
        &event,
        excerpt.as_ref(),
    )?;
    let mut conversation = Conversation {
        services,
        context,
        interaction: &interaction,
        began_at: services.webhooks.clock.now(),
        calls: 0,
    };
    match evaluator.kind {
        EvaluatorKind::Interaction => conversation.once(request).await,
        EvaluatorKind::Agent => conversation.as_agent(request, &event).await,
    }
}

/// Model calls of one attempt.
struct Conversation<'a> {
    services: &'a Services,
    context: &'a ActivityContext,
    interaction: &'a Resolved,
    began_at: UtcTime,
    calls: usize,
}

impl Conversation<'_> {
    async fn once(&mut self, mut request: Request) -> Result<Outcome, Failure> {
        match self.call(&mut request).await {
            Ok(answer) => Ok(outcome(&answer)),
            Err(error) => without_answer(&error),
        }
    }

    async fn as_agent(&mut self, mut request: Request, event: &Envelope) -> Result<Outcome, Failure> {
        for turn in 1..=MAX_TURNS {
            // The last call has no tools, so that its answer must be a verdict.
            request.tools = match turn < MAX_TURNS {
                true => tools::tools(),
                false => Vec::new(),
            };
            let answer = match self.call(&mut request).await {
                Ok(answer) => answer,
                Err(error) => return without_answer(&error),
            };
            if answer.output.is_some() || answer.tool_calls().next().is_none() {
                return Ok(outcome(&answer));
            }
            let mut results = Vec::new();
            for call in answer.tool_calls() {
                let objects = &self.services.webhooks.objects;
                results.push(tools::carry_out(self.context, objects, event, call).await?);
            }
            request.messages.push(Message::Assistant {
                content: answer.content,
            });
            request.messages.push(Message::Tool { results });
        }
        Ok(Outcome::NoVerdict(format!(
            "The model gave no verdict in {MAX_TURNS} turns."
        )))
    }

    async fn call(&mut self, request: &mut Request) -> Result<Answer, ModelError> {
        let spent = self.services.webhooks.clock.now().millis_since(self.began_at);
        request.time_limit = Some(MODEL_LIMIT.saturating_sub(Duration::from_millis(spent)));
        self.calls += 1;
        let answered = self.services.model.converse(request, None).await;
        let (model, usage) = match &answered {
            Ok(answer) => (answer.model.as_str(), answer.usage),
            Err(error) => (
                self.interaction.model.as_deref().unwrap_or_default(),
                error.usage(),
            ),
        };
        if answered.is_ok() || usage != models::Usage::default() {
            let call = ModelCall {
                number: self.calls,
                model,
                interaction: Some(&self.interaction.id),
                usage,
            };
            self.services.model_usage.publish(self.context, &call).await;
        }
        answered
    }
}

fn outcome(answer: &Answer) -> Outcome {
    match answer.output.as_ref().and_then(verdict) {
        Some((matched, rationale)) => Outcome::Verdict { matched, rationale },
        None => Outcome::NoVerdict("The model gave no verdict.".to_owned()),
    }
}

fn without_answer(error: &ModelError) -> Result<Outcome, Failure> {
    match error.is_transient() {
        true => Err(Failure::new("ModelUnavailable", error.message())),
        false => Ok(Outcome::NoVerdict(error.message().to_owned())),
    }
}
