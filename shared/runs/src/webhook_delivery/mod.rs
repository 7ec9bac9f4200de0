//! `WebhookDelivery`: posts an event to a receiver, again and again until he takes it or has refused it for good.
//!
//! Each attempt is an activity of its own, and what comes between two is a timer, which the signal [`RETRY`] ends early. After a pause of
//! some minutes the run goes on as a new one: the contract has the timestamp of a delivery set when its workflow starts, and receivers
//! refuse one that is older than a quarter of an hour.

mod attempt;
mod request;
mod verdict;

use std::time::Duration;

use events::delivery::DeliveryRef;
use platform::UtcTime;
use platform::records::deliveries::DeliveryAttempt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::future::{Either, select};
use workflow::{Context, DeliveryReport, Failure, Registry, RetryPolicy};

pub use attempt::{Webhooks, attempt};
pub use verdict::RETRY_SCHEDULE_MS;

/// The name of the type.
pub const WORKFLOW_TYPE: &str = "WebhookDelivery";
/// The name of the activity that makes an attempt.
pub const ATTEMPT: &str = "webhook_attempt";
/// The signal after which the next attempt is made at once.
pub const RETRY: &str = "Retry";
/// The age from which on the next attempt is made by a new run, in milliseconds.
const MAX_AGE_MS: u64 = 5 * 60 * 1_000;
/// Longest that an attempt may take: the longest that a receiver may, and what is read and written around it.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(60);
/// How long an attempt is tried that fails because something of ours is away.
const ALL_LIMIT: Duration = Duration::from_secs(24 * 3_600);
/// Most attempts of a delivery, those that somebody asked for included: its record must not grow without end.
pub const MAX_ATTEMPTS: u32 = 400;

/// Adds the type to a registry, without its activity.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).unannounced(WORKFLOW_TYPE)
}

/// What a delivery begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Input {
    /// The event.
    pub event_id: String,
    /// The delivery, and its next attempt.
    #[serde(flatten)]
    pub delivery: DeliveryRef,
    /// Attempts that were made before it since somebody asked for the delivery.
    #[serde(default)]
    pub tried: usize,
    /// Since when the next attempt is waited for that the runs before could not make; None where none is late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_since: Option<UtcTime>,
}

/// What an attempt is called with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AttemptInput {
    /// The event.
    pub event_id: String,
    /// The delivery, and which attempt it is.
    #[serde(flatten)]
    pub delivery: DeliveryRef,
    /// Attempts that were made before it since somebody asked for the delivery.
    pub tried: usize,
    /// When the run began: the timestamp that is signed.
    pub started_at: UtcTime,
}

/// What an attempt came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The attempt; None where nothing was sent.
    pub attempt: Option<DeliveryAttempt>,
    /// What follows.
    pub next: Next,
}

/// What follows on an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Nothing: the receiver took it.
    Done,
    /// Another attempt after so many milliseconds.
    After(u64),
    /// Nothing: it failed for good.
    GiveUp(String),
    /// Nothing: nobody wants it any longer.
    Unwanted(String),
    /// The same attempt by a new run: this one began too long ago to sign with its time.
    Renew,
}

/// The code of the type.
pub async fn run(context: Context, input: Input) -> Result<Value, Failure> {
    let Input {
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
        // All runs together have no longer for it than one.
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
                return Err(context.continue_as_new(&Input {
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
            // Whoever asks for another attempt has changed something: the schedule begins anew.
            Either::Right(_) => 0,
        };
        waiting.cancel();
        delivery.attempt += 1;
        if context.now().millis_since(context.started_at()) > MAX_AGE_MS {
            return Err(context.continue_as_new(&Input {
                event_id,
                delivery,
                tried,
                late_since: None,
            }));
        }
    }
}
