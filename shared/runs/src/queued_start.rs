//! Executes `QueuedStart`: carries out a delivery to a workflow whose runs start one after another.
//!
//! The run waits for its turn among the deliveries of its workflow id, starts the target's run as its child, and
//! ends with it. A run of the workflow id that something else started is waited for too.

use std::time::Duration;

use events::records::lanes::LanePlace;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::{Context, Failure, Registry, RetryPolicy};

use crate::evaluation::Then;
use crate::lanes::{self, TURN};

pub const WORKFLOW_TYPE: &str = "QueuedStart";
/// Name of the activity that looks whether the delivery has its turn.
pub const LOOK: &str = "look_for_turn";
/// Pause while another run has the workflow id, in milliseconds.
const TAKEN_PAUSE_MS: u64 = 10_000;
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
        Err(failure) => {
            lanes::leave(&context, &lane).await;
            Err(failure)
        }
    }
}

enum End {
    Done(Box<RawValue>),
    Renewed(QueuedInput),
}

async fn start_in_turn(context: &Context, mut input: QueuedInput) -> Result<End, Failure> {
    let turns = context.signals(TURN);
    loop {
        if context.history_length() > MAX_EVENTS {
            return Ok(End::Renewed(input));
        }
        let look = Look {
            lane: input.lane.clone(),
            waits: input.waits,
        };
        let looked = context.activity::<Option<u64>>(LOOK, &look);
        let looked = looked.schedule_to_close(Duration::from_secs(24 * 3_600));
        if let Some(pause_ms) = looked.retry(RetryPolicy::default()).await? {
            if pause_ms > lanes::SETTLE_MS {
                input.waits += 1;
            }
            lanes::pause(context, pause_ms, &turns).await?;
            continue;
        }
        match start(context, &input).await {
            Err(failure) if failure.kind == TAKEN => lanes::pause(context, TAKEN_PAUSE_MS, &turns).await?,
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
