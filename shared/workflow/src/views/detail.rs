//! One run in full.

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{FailureView, HistoryView, initiated_by, shown};
use crate::event::EventKind;
use crate::payload::Payload;
use crate::state::{RunState, Visibility};
use crate::summary::execution_duration;

/// An activity that has not ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingActivityView {
    /// Its id in the run.
    pub activity_id: String,
    /// Its registered name.
    pub activity_type: String,
    /// The attempt that is under way or comes next, from 1.
    pub attempt: u32,
    /// Attempts in all; 0 for no limit.
    pub maximum_attempts: u32,
    /// When it was asked for.
    pub scheduled: UtcTime,
    /// When the attempt began that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_started_time: Option<UtcTime>,
    /// When the next attempt begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_time: Option<UtcTime>,
    /// How the attempt before failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<FailureView>,
}

/// A turn of the run's code that came to nothing and is tried again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingWorkflowTask {
    /// How often in a row it came to nothing.
    pub attempt: u32,
    /// Why the last time.
    pub last_failure: FailureView,
    /// When it is tried next.
    pub next_attempt_time: UtcTime,
}

/// One run in full.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunDetail {
    /// Whether it goes on, and how it ended.
    pub status: String,
    /// When it began.
    pub started_at: UtcTime,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// How long it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_duration: Option<f64>,
    /// Its run id.
    pub run_id: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// What it began with.
    pub input: Value,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// What whoever started it left with it.
    pub memo: Map<String, Value>,
    /// Its history, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryView>,
    /// Its activities that have not ended.
    #[serde(rename = "pendingActivities")]
    pub pending_activities: Vec<PendingActivityView>,
    /// The turn of its code that came to nothing, if the last one did.
    #[serde(rename = "pendingWorkflowTask", skip_serializing_if = "Option::is_none")]
    pub pending_workflow_task: Option<PendingWorkflowTask>,
    /// Why it failed; null where it did not.
    pub error: Option<FailureView>,
    /// Who started it.
    pub initiated_by: String,
    /// Who may see it.
    pub visibility: Visibility,
}

impl RunDetail {
    /// Of a run, whose first event carries `input` and whose last one is `end`.
    pub fn new(
        state: &RunState,
        input: &Payload,
        end: Option<&EventKind>,
        history: Option<HistoryView>,
    ) -> Self {
        let (result, error) = match end {
            Some(EventKind::WorkflowExecutionCompleted { result }) => (Some(shown(result)), None),
            Some(EventKind::WorkflowExecutionCanceled { details }) => (details.as_ref().map(shown), None),
            Some(EventKind::WorkflowExecutionFailed { failure }) => (None, Some(failure.into())),
            Some(EventKind::WorkflowExecutionTimedOut {}) => {
                let failure = FailureView::new("Timeout", "The run took longer than it may.");
                (None, Some(failure))
            }
            Some(EventKind::WorkflowExecutionTerminated { reason, .. }) => {
                let reason = reason.as_deref().unwrap_or("The run was terminated.");
                (None, Some(FailureView::new("Terminated", reason)))
            }
            _ => (None, None),
        };
        let pending = state.activities.values().map(|activity| PendingActivityView {
            activity_id: activity.activity_id.clone(),
            activity_type: activity.name.clone(),
            attempt: activity.attempt,
            maximum_attempts: activity.options.retry.maximum_attempts,
            scheduled: activity.scheduled_at,
            last_started_time: activity.started_at,
            next_attempt_time: activity.next_attempt_at,
            last_failure: activity.last_failure.as_ref().map(FailureView::from),
        });
        Self {
            status: state.status.as_str().to_owned(),
            started_at: state.started_at,
            closed_at: state.closed_at,
            execution_duration: execution_duration(state.started_at, state.closed_at),
            run_id: state.run_id.clone(),
            workflow_id: state.workflow_id.clone(),
            workflow_type: state.workflow_type.clone(),
            input: shown(input),
            result,
            memo: state.about.memo.clone(),
            history,
            pending_activities: pending.collect(),
            pending_workflow_task: state.failed_task.as_ref().map(|task| PendingWorkflowTask {
                attempt: task.attempt,
                last_failure: FailureView::new(&format!("{:?}", task.failure.kind), &task.failure.message),
                next_attempt_time: task.next_attempt_at,
            }),
            error,
            initiated_by: initiated_by(&state.about),
            visibility: state.about.visibility,
        }
    }
}
