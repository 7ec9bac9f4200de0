//! Describes one run in full.

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::shown::initiated_by;
use super::{History, RunFailure, Shown};
use crate::event::EventKind;
use crate::payload::Payload;
use crate::state::{RunState, Visibility};
use crate::summary::execution_duration;

/// An activity that has not ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "PendingActivity")]
#[serde(rename_all = "camelCase")]
pub struct PendingActivityView {
    /// Id of the activity, unique in the run.
    pub activity_id: String,
    /// Name under which the activity is registered.
    pub activity_type: String,
    /// Number of the attempt that is running or comes next, from 1.
    pub attempt: u32,
    /// Most attempts; 0 means no limit.
    pub maximum_attempts: u32,
    /// Time at which the run scheduled the activity.
    pub scheduled: UtcTime,
    /// Time at which the running attempt began; absent between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_started_time: Option<UtcTime>,
    /// Time of the next attempt; absent while an attempt is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_time: Option<UtcTime>,
    /// Failure of the attempt before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<RunFailure>,
}

/// A turn of the workflow's code that failed and is tried again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingWorkflowTask {
    /// Number of failures in a row.
    pub attempt: u32,
    /// Failure of the last turn.
    pub last_failure: RunFailure,
    /// Time of the next turn.
    pub next_attempt_time: UtcTime,
}

/// A workflow run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkflowRun {
    /// `RUNNING`, `COMPLETED`, `FAILED`, `CANCELED`, `TERMINATED`, `CONTINUED_AS_NEW` or `TIMED_OUT`.
    pub status: String,
    /// Time at which the run began.
    pub started_at: UtcTime,
    /// Time at which the run ended; absent while it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// Time from start to end, in seconds; absent while the run is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_duration: Option<f64>,
    /// Id of this run, unique in the project.
    pub run_id: String,
    /// Id that the starter gave; later runs may have it again.
    pub workflow_id: String,
    /// Workflow type, whose code the run executes.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// Input that the run was started with; its shape depends on the type.
    pub input: Shown,
    /// What the workflow returned; absent while the run is running and where it returned nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Shown>,
    /// Notes that the starter attached to the run.
    pub memo: Map<String, Value>,
    /// Present with `include_history=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Activities that have not ended.
    #[serde(rename = "pendingActivities")]
    pub pending_activities: Vec<PendingActivityView>,
    /// Present where the last turn of the workflow's code failed.
    #[serde(rename = "pendingWorkflowTask", skip_serializing_if = "Option::is_none")]
    pub pending_workflow_task: Option<PendingWorkflowTask>,
    /// Why the run failed; null where it did not.
    pub error: Option<RunFailure>,
    /// Principal that started the run, such as `user:<user_id>`, or `unknown`.
    pub initiated_by: String,
    /// Which callers of the project see the run.
    pub visibility: Visibility,
}

impl WorkflowRun {
    /// Describes a run whose first event carries `input` and whose last event is `end`.
    pub fn new(state: &RunState, input: &Payload, end: Option<&EventKind>, history: Option<History>) -> Self {
        let result = match end {
            Some(EventKind::WorkflowExecutionCompleted { result }) => Some(Shown::new(result)),
            Some(EventKind::WorkflowExecutionCanceled { details }) => details.as_ref().map(Shown::new),
            _ => None,
        };
        let pending = state.activities.values().map(|activity| PendingActivityView {
            activity_id: activity.activity_id.clone(),
            activity_type: activity.name.clone(),
            attempt: activity.attempt,
            maximum_attempts: activity.options.retry.maximum_attempts,
            scheduled: activity.scheduled_at,
            last_started_time: activity.started_at,
            next_attempt_time: activity.next_attempt_at,
            last_failure: activity.last_failure.as_ref().map(RunFailure::from),
        });
        Self {
            status: state.status.as_str().to_owned(),
            started_at: state.started_at,
            closed_at: state.closed_at,
            execution_duration: execution_duration(state.started_at, state.closed_at),
            run_id: state.run_id.clone(),
            workflow_id: state.workflow_id.clone(),
            workflow_type: state.workflow_type.clone(),
            input: Shown::new(input),
            result,
            memo: state.about.memo.clone(),
            history,
            pending_activities: pending.collect(),
            pending_workflow_task: state.failed_turn.as_ref().map(|task| PendingWorkflowTask {
                attempt: task.attempt,
                last_failure: RunFailure::new(&format!("{:?}", task.failure.kind), &task.failure.message),
                next_attempt_time: task.next_attempt_at,
            }),
            error: end.and_then(RunFailure::of_end),
            initiated_by: initiated_by(&state.about),
            visibility: state.about.visibility,
        }
    }
}
