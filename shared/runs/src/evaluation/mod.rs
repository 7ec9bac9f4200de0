//! Executes `SubscriptionEvaluation`: asks a model whether an event meets the semantic condition of a
//! subscription, and continues as the run that delivers the event.
//!
//! The run carries the delivery, which is `evaluating` until the run ends or continues. The delivering run is
//! planned when the event is matched, so that an event which cannot be delivered costs no model call.

mod content;
mod evaluate;
mod question;
mod tools;

use std::time::Duration;

use events::filter::{EvaluatorKind, OnError, SemanticMode};
use events::records::deliveries::SemanticEvaluation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use workflow::{Context, DeliveryReport, Failure, Registry, RetryPolicy};

pub use evaluate::{Outcome, Question, evaluate};

pub const WORKFLOW_TYPE: &str = "SubscriptionEvaluation";
pub const EVALUATE: &str = "evaluate_condition";
/// Reason of a cancelled delivery whose event does not meet the condition.
pub const NOT_MATCHED: &str = "semantic_condition";
/// Time limit of one attempt.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(60);
/// Number of attempts; in each, the model's client retries by itself. The pauses between them are 5 s, 20 s,
/// 80 s and about 5, 20 and 20 minutes: with the attempts, less than an hour.
const ATTEMPTS: u32 = 7;
const FIRST_PAUSE_MS: u64 = 5_000;
const PAUSE_FACTOR: f64 = 4.0;
const LONGEST_PAUSE_MS: u64 = 20 * 60 * 1_000;

/// Adds the type to a registry, without its activity.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).unannounced(WORKFLOW_TYPE)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluationInput {
    #[serde(flatten)]
    pub question: Question,
    /// The run to continue as, unless the verdict stops the delivery.
    pub then: Then,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Then {
    pub workflow_type: String,
    /// Reference of the program that a run of an interpreting type executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Raw JSON, so that numbers keep all their digits.
    pub input: Box<RawValue>,
}

pub async fn run(context: Context, input: EvaluationInput) -> Result<Value, Failure> {
    let EvaluationInput { question, then } = input;
    let asked = context
        .activity::<Outcome>(EVALUATE, &question)
        .start_to_close(ATTEMPT_LIMIT)
        .retry(RetryPolicy {
            initial_interval_ms: FIRST_PAUSE_MS,
            backoff_coefficient: PAUSE_FACTOR,
            maximum_interval_ms: LONGEST_PAUSE_MS,
            ..RetryPolicy::attempts(ATTEMPTS)
        });
    let outcome = match asked.await {
        Ok(outcome) => outcome,
        Err(failure) if failure.is_canceled() => return Err(failure),
        Err(failure) => Outcome::NoVerdict(failure.message),
    };
    let condition = &question.condition;
    let (matched, rationale, error) = match outcome {
        Outcome::Verdict { matched, rationale } => (Some(matched), rationale, None),
        Outcome::NoVerdict(why) => (None, None, Some(why)),
        Outcome::Unwanted(why) => return Err(cancelled(&context, why, None)),
    };
    let evaluation = SemanticEvaluation {
        status: status(matched).to_owned(),
        mode: mode(condition.mode).to_owned(),
        evaluator_type: evaluator(condition.evaluator.kind).to_owned(),
        matched,
        rationale,
        error: error.clone(),
    };
    match (condition.mode, matched, error) {
        (SemanticMode::Enforce, Some(false), _) => {
            Err(cancelled(&context, NOT_MATCHED.to_owned(), Some(evaluation)))
        }
        (SemanticMode::Enforce, None, Some(why)) if condition.on_error == OnError::FailClosed => {
            context.report_delivery(DeliveryReport {
                last_error: Some(why.clone()),
                semantic_evaluation: Some(evaluation),
                ..DeliveryReport::default()
            });
            Err(Failure::permanent("EvaluationFailed", why))
        }
        _ => {
            context.report_delivery(DeliveryReport {
                semantic_evaluation: Some(evaluation),
                ..DeliveryReport::default()
            });
            Err(context.continue_as(&then.workflow_type, then.program, &then.input))
        }
    }
}

/// Ends the run and its delivery as cancelled.
fn cancelled(context: &Context, why: String, evaluation: Option<SemanticEvaluation>) -> Failure {
    context.report_delivery(DeliveryReport {
        last_error: Some(why),
        semantic_evaluation: evaluation,
        ..DeliveryReport::default()
    });
    context.cancel();
    Failure::canceled()
}

fn status(matched: Option<bool>) -> &'static str {
    match matched {
        Some(true) => "matched",
        Some(false) => "not_matched",
        None => "error",
    }
}

fn mode(mode: SemanticMode) -> &'static str {
    match mode {
        SemanticMode::Enforce => "enforce",
        SemanticMode::Shadow => "shadow",
    }
}

fn evaluator(kind: EvaluatorKind) -> &'static str {
    match kind {
        EvaluatorKind::Interaction => "interaction",
        EvaluatorKind::Agent => "agent",
    }
}
