//! Executes `WebhookDelivery`: sends an event to a receiver and retries until the receiver accepts it,
//! refuses it permanently, or the last attempt fails.
//!
//! Each attempt is an activity of its own. Between two attempts the run waits for a timer, which the signal
//! [`RETRY`] ends early. After a pause of some minutes the run continues as a new one: the contract sets the
//! timestamp of a delivery when its workflow starts, and receivers refuse a timestamp older than 15 minutes.
//!
//! Its runs start and end without events; otherwise a subscription to workflow events would deliver its own
//! deliveries. Hints at the runs of one subscription form a group of the fair queue, so a slow receiver
//! delays only its own deliveries. The sweeper, which wakes a run after a longer pause, knows the account
//! alone, so its hints form a group of the account.

mod attempt;
mod outcome;
mod request;
mod verdict;

use std::time::Duration;

use events::delivery::DeliveryRef;
use platform::UtcTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::future::{Either, select};
use workflow::{Context, DeliveryReport, Failure, Registry, RetryPolicy};

pub use attempt::{Webhooks, attempt};
pub use outcome::{AttemptInput, Next, Outcome};
pub use request::Request;
pub use verdict::RETRY_SCHEDULE_MS;

pub const WORKFLOW_TYPE: &str = workflow::records::FREQUENT_TYPE;
/// Name of the activity that makes an attempt.
pub const ATTEMPT: &str = "webhook_attempt";
/// Signal that starts the next attempt at once.
pub const RETRY: &str = "Retry";
/// Age of a run from which a new run makes the next attempt, in milliseconds.
const MAX_AGE_MS: u64 = 5 * 60 * 1_000;
/// Time limit of an attempt: the longest timeout of a receiver, plus the reads and writes around it.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for the retries of an attempt that fails because the platform is unavailable.
const ALL_LIMIT: Duration = Duration::from_secs(24 * 3_600);
/// Maximum number of attempts of a delivery, manual retries included: its record must not grow without limit.
pub const MAX_ATTEMPTS: u32 = 400;

/// Adds the type to a registry, without its activity.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).unannounced(WORKFLOW_TYPE)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WebhookInput {
    pub event_id: String,
    /// The delivery, and the number of its next attempt.
    #[serde(flatten)]
    pub delivery: DeliveryRef,
    /// Attempts before it since the last manual retry.
    #[serde(default)]
    pub tried: usize,
    /// Time since which the next attempt is overdue, because earlier runs could not make it; None where it is
    /// not overdue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_since: Option<UtcTime>,
}

pub async fn run(context: Context, input: WebhookInput) -> Result<Value, Failure> {
    let WebhookInput {
        event_id,
        mut delivery,
        mut tried,
        mut late_since,
    } = input;
    let retries = context.signals(RETRY);
    loop {
        let call = AttemptInput {
            event_id: event_id.clone(),
            delivery: delivery.clone(),
            tried,
            started_at: context.started_at(),
        };
        let made = context.activity::<Outcome>(ATTEMPT, &call);
        // The limit applies to all runs together.
        let since = late_since.take().unwrap_or(context.started_at());
        let late = Duration::from_millis(context.started_at().millis_since(since));
        let left = ALL_LIMIT.saturating_sub(late).max(ATTEMPT_LIMIT);
        let made = made.start_to_close(ATTEMPT_LIMIT).schedule_to_close(left);
        let made = made.retry(RetryPolicy::default());
        let Outcome { attempt, next } = made.await?;
        let error = attempt.as_ref().and_then(|attempt| attempt.error.clone());
        let report = DeliveryReport {
            attempt,
            last_error: error,
            ..DeliveryReport::default()
        };
        let pause_ms = match next {
            Next::Done => {
                context.report_delivery(report);
                return Ok(json!({ "attempts": delivery.attempt }));
            }
            Next::GiveUp(why) => {
                context.report_delivery(DeliveryReport {
                    last_error: Some(why.clone()),
                    ..report
                });
                return Err(Failure::permanent("DeliveryFailed", why));
            }
            Next::Unwanted(why) => {
                context.report_delivery(DeliveryReport {
                    last_error: Some(why),
                    ..report
                });
                context.cancel();
                return Err(Failure::canceled());
            }
            Next::Renew => {
                return Err(context.continue_as_new(&WebhookInput {
                    event_id,
                    delivery,
                    tried,
                    late_since: Some(since),
                }));
            }
            Next::After(_) if delivery.attempt >= MAX_ATTEMPTS => {
                context.report_delivery(report);
                let why = format!("It was tried {MAX_ATTEMPTS} times.");
                return Err(Failure::permanent("DeliveryFailed", why));
            }
            Next::After(pause_ms) => pause_ms,
        };
        context.report_delivery(DeliveryReport {
            next_attempt_at: Some(context.now().plus_ms(pause_ms)),
            ..report
        });
        let waiting = context.scope();
        let pause = waiting.timer(Duration::from_millis(pause_ms));
        tried = match select(pause, retries.receive::<Value>()).await {
            Either::Left((passed, _)) => {
                passed?;
                tried + 1
            }
            // A manual retry starts the schedule from the beginning, because its caller has probably fixed
            // something.
            Either::Right(_) => 0,
        };
        waiting.cancel();
        delivery.attempt += 1;
        if context.now().millis_since(context.started_at()) > MAX_AGE_MS {
            return Err(context.continue_as_new(&WebhookInput {
                event_id,
                delivery,
                tried,
                late_since: None,
            }));
        }
    }
}
