//! Executes `WebhookDelivery`: sends an event to a receiver and retries until the receiver accepts it,
//! refuses it permanently, or the last attempt fails.
//!
//! Each attempt is an activity of its own. Between two attempts the run waits for a timer, which the signal
//! [`RETRY`] ends early. After a pause of some minutes the run continues as a new one: the contract sets the
//! timestamp of a delivery when its workflow starts, and receivers refuse a timestamp older than 15 minutes.
//!
//! Where the target says so, a delivery waits before its first request: for the deliveries of its lane that
//! are before it (`crate::lanes`), and for the second that its rate gives it. Both waits are timers of the
//! run.
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
use events::records::lanes::LanePlace;
use events::records::rates::Slot;
use platform::UtcTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workflow::future::{Either, select};
use workflow::turn::Signals;
use workflow::{Context, DeliveryReport, Failure, Registry, RetryPolicy};

use attempt::EARLY_MS;
pub use attempt::{Webhooks, attempt};
pub use outcome::{AttemptInput, Next, Outcome};
pub use request::Request;

use crate::lanes;
use outcome::is_zero;

pub const WORKFLOW_TYPE: &str = workflow::records::FREQUENT_TYPE;
/// Name of the activity that makes an attempt.
pub const ATTEMPT: &str = "webhook_attempt";
/// Signal that starts the next attempt at once.
pub const RETRY: &str = "Retry";
/// Wait for a reserved second from which the delivery looks for another rate on its way, in milliseconds.
const LONG_WAIT_MS: u64 = 60_000;
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
    /// Place of the delivery in its lane; None where it waits for no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LanePlace>,
    /// How often it has waited for its turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits: u32,
    /// Second that is reserved for the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<Slot>,
}

pub async fn run(context: Context, input: WebhookInput) -> Result<Value, Failure> {
    let lane = input.lane.clone();
    let end = deliver(&context, input).await;
    if let (Some(lane), false) = (lane, matches!(end, Ok(End::Renewed(_)))) {
        lanes::leave(&context, &lane).await;
    }
    match end? {
        End::Delivered { report, attempts } => {
            context.report_delivery(report);
            Ok(json!({ "attempts": attempts }))
        }
        End::Failed { report, why } => {
            context.report_delivery(report);
            Err(Failure::permanent("DeliveryFailed", why))
        }
        End::Unwanted(report) => {
            context.report_delivery(report);
            context.cancel();
            Err(Failure::canceled())
        }
        End::Renewed(input) => Err(context.continue_as_new(&input)),
    }
}

enum End {
    Delivered {
        report: DeliveryReport,
        attempts: u32,
    },
    Failed {
        report: DeliveryReport,
        why: String,
    },
    Unwanted(DeliveryReport),
    /// Another run continues with this input.
    Renewed(WebhookInput),
}

async fn deliver(context: &Context, input: WebhookInput) -> Result<End, Failure> {
    let WebhookInput {
        event_id,
        mut delivery,
        mut tried,
        mut late_since,
        lane,
        mut waits,
        mut slot,
    } = input;
    let (retries, turns) = (context.signals(RETRY), context.signals(lanes::TURN));
    loop {
        let call = AttemptInput {
            event_id: event_id.clone(),
            delivery: delivery.clone(),
            tried,
            started_at: context.started_at(),
            lane: lane.clone(),
            waits,
            slot: slot.take(),
        };
        let renewed = |delivery, tried, late_since, (waits, slot)| {
            End::Renewed(WebhookInput {
                event_id: event_id.clone(),
                delivery,
                tried,
                late_since,
                lane: lane.clone(),
                waits,
                slot,
            })
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
                let attempts = delivery.attempt;
                return Ok(End::Delivered { report, attempts });
            }
            Next::GiveUp(why) => {
                let report = DeliveryReport {
                    last_error: Some(why.clone()),
                    ..report
                };
                return Ok(End::Failed { report, why });
            }
            Next::Unwanted(why) => {
                return Ok(End::Unwanted(DeliveryReport {
                    last_error: Some(why),
                    ..report
                }));
            }
            Next::Renew => return Ok(renewed(delivery, tried, Some(since), (waits, None))),
            Next::WaitForTurn(pause_ms) => {
                let is_behind = pause_ms > lanes::SETTLE_MS;
                waits = if is_behind { waits + 1 } else { waits };
                lanes::pause(context, pause_ms, &turns).await?;
                drop_signals(&retries);
                if is_old(context) {
                    return Ok(renewed(delivery, tried, None, (waits, None)));
                }
                continue;
            }
            Next::WaitForSlot(next) => {
                slot = Some(next);
                // An attempt that is early waits for the rest itself.
                let lead_ms = next.lead_ms(context.now());
                let pause_ms = match lead_ms {
                    // The rate may change meanwhile, so a long wait looks again on its way.
                    LONG_WAIT_MS.. => lead_ms / 2,
                    EARLY_MS.. => lead_ms - EARLY_MS,
                    _ => lead_ms,
                };
                context.timer(Duration::from_millis(pause_ms)).await?;
                drop_signals(&retries);
                if is_old(context) {
                    return Ok(renewed(delivery, tried, None, (waits, slot)));
                }
                continue;
            }
            Next::After(_) if delivery.attempt >= MAX_ATTEMPTS => {
                let why = format!("It was tried {MAX_ATTEMPTS} times.");
                return Ok(End::Failed { report, why });
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
        if is_old(context) {
            return Ok(renewed(delivery, tried, None, (waits, None)));
        }
    }
}

/// Drops requests to retry that came before the next attempt, which must wait in spite of them.
fn drop_signals(retries: &Signals) {
    while retries.try_receive::<Value>().is_some() {}
}

/// Whether another run should continue, which signs with a later time.
fn is_old(context: &Context) -> bool {
    context.now().millis_since(context.started_at()) > MAX_AGE_MS
}
