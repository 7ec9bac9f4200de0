//! Executes `QueuedStart`: carries out a delivery to a workflow whose runs start one after another.
//!
//! The run waits for its turn among the deliveries of its workflow id, starts the target's run as its child,
//! and ends with it. A run of the workflow id that something else started is waited for too.

use std::time::Duration;

use events::records::lanes::LanePlace;
use events::subscription::StoredSubscription;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::{ActivityContext, Context, DeliveryReport, Failure, Registry, RetryPolicy};

use crate::evaluation::Then;
use crate::lanes::{self, TURN};
use crate::webhook_delivery::Webhooks;

pub const WORKFLOW_TYPE: &str = workflow::records::QUEUED_TYPE;
/// Name of the activity that looks whether the delivery has its turn.
pub const LOOK: &str = "look_for_turn";
/// First pause while another run has the workflow id, in milliseconds; doubled each time, up to
/// [`LONGEST_TAKEN_PAUSE_MS`].
const TAKEN_PAUSE_MS: u64 = 10_000;
const LONGEST_TAKEN_PAUSE_MS: u64 = 5 * 60_000;
/// Events after which the run continues as a new one.
const MAX_EVENTS: u64 = 2_000;
/// Failure of a child whose workflow id has an open run.
const TAKEN: &str = "WorkflowAlreadyStarted";

/// Adds the type to a registry, without its activity.
pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, run).unannounced(WORKFLOW_TYPE)
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuedInput {
    pub lane: LanePlace,
    /// Workflow id of the run to start.
    pub workflow_id: String,
    pub then: Then,
    /// How often the delivery has waited for its turn.
    #[serde(default)]
    pub waits: u32,
}

/// Result of the activity [`LOOK`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    Begins,
    /// Another delivery is first: look again after this pause, in milliseconds.
    WaitsMs(u64),
    /// The subscription no longer wants the event, for this reason.
    Unwanted(String),
}

/// Input of the activity [`LOOK`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Look {
    pub lane: LanePlace,
    pub waits: u32,
}

pub async fn run(context: Context, input: QueuedInput) -> Result<Box<RawValue>, Failure> {
    let lane = input.lane.clone();
    match start_in_turn(&context, input).await {
        Ok(End::Renewed(input)) => Err(context.continue_as_new(&input)),
        Ok(End::Done(result)) => {
            lanes::leave(&context, &lane).await;
            Ok(result)
        }
        Ok(End::Unwanted(why)) => {
            lanes::leave(&context, &lane).await;
            context.report_delivery(DeliveryReport {
                last_error: Some(why),
                ..DeliveryReport::default()
            });
            context.cancel();
            Err(Failure::canceled())
        }
        Err(failure) => {
            lanes::leave(&context, &lane).await;
            Err(failure)
        }
    }
}

enum End {
    Done(Box<RawValue>),
    Unwanted(String),
    Renewed(QueuedInput),
}

async fn start_in_turn(context: &Context, mut input: QueuedInput) -> Result<End, Failure> {
    let turns = context.signals(TURN);
    let mut taken = 0_u32;
    loop {
        if context.history_length() > MAX_EVENTS {
            return Ok(End::Renewed(input));
        }
        let look = Look {
            lane: input.lane.clone(),
            waits: input.waits,
        };
        let turn = context.activity::<Turn>(LOOK, &look);
        let turn = turn.schedule_to_close(Duration::from_secs(24 * 3_600));
        match turn.retry(RetryPolicy::default()).await? {
            Turn::Begins => {}
            Turn::WaitsMs(pause_ms) => {
                if pause_ms > lanes::SETTLE_MS {
                    input.waits += 1;
                }
                lanes::pause(context, pause_ms, &turns).await?;
                continue;
            }
            Turn::Unwanted(why) => return Ok(End::Unwanted(why)),
        }
        match start(context, &input).await {
            Err(failure) if failure.kind == TAKEN => {
                let pause_ms = TAKEN_PAUSE_MS.saturating_mul(1 << taken.min(10));
                taken += 1;
                lanes::pause(context, pause_ms.min(LONGEST_TAKEN_PAUSE_MS), &turns).await?;
            }
            ended => return ended.map(End::Done),
        }
    }
}

async fn start(context: &Context, input: &QueuedInput) -> Result<Box<RawValue>, Failure> {
    let Then {
        workflow_type,
        program,
        input: given,
    } = &input.then;
    let child = context.child::<Box<RawValue>>(workflow_type, given);
    let child = child.workflow_id(&input.workflow_id);
    match program {
        Some(program) => child.program(program.clone()).await,
        None => child.await,
    }
}

/// Carries out [`LOOK`]. The subscription may have been disabled or deleted since the event was matched.
pub async fn look(webhooks: Webhooks, context: ActivityContext, look: Look) -> Result<Turn, Failure> {
    let tenant = &context.tenant;
    let id = look.lane.subscription_id();
    let Some(record) = webhooks.subscriptions.find(tenant, id).await? else {
        return Ok(Turn::Unwanted("The subscription was deleted.".to_owned()));
    };
    let subscription = StoredSubscription::from_record(&record)?;
    if !subscription.enabled {
        return Ok(Turn::Unwanted(subscription.why_disabled()));
    }
    let pause_ms = webhooks.turns.wait(tenant, &look.lane, look.waits).await?;
    Ok(pause_ms.map_or(Turn::Begins, Turn::WaitsMs))
}
