//! Renders a history as tasks: one object for each activity, timer, child run and signal.

use std::collections::BTreeMap;

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::events::seconds;
use super::{RunFailure, Shown};
use crate::event::{ChildOutcome, Event, EventKind};
use crate::payload::Payload;
use crate::state::RunState;

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryTaskStatus {
    /// Waits for its first or next attempt.
    Scheduled,
    /// An attempt is running, or the timer or child run is.
    Running,
    /// Succeeded.
    Completed,
    /// Failed, with no attempt left.
    Failed,
    /// Cancelled by the run, or ended with it.
    Canceled,
    /// Exceeded its time limit.
    TimedOut,
    /// Terminated by a caller.
    Terminated,
    /// A signal that arrived.
    Received,
}

/// An activity, timer, child run or signal of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryTask {
    /// `activity`, `timer`, `childWorkflow` or `signal`; it decides which of the ids are present.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Id of an activity, unique in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_id: Option<String>,
    /// Name under which the activity is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_name: Option<String>,
    /// Workflow type of a child run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// Workflow id of a child run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Run id of a child run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Name that the workflow's code listens for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_name: Option<String>,
    /// Id of a timer, unique in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_id: Option<String>,
    /// Seconds from the start of a timer until it fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// State of the task.
    pub status: HistoryTaskStatus,
    /// Time at which the run scheduled the task, or the signal arrived.
    pub scheduled: UtcTime,
    /// Start of the running attempt, or of the one that decided the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcTime>,
    /// Time at which the task ended; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<UtcTime>,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Arguments of the task, or the body of the signal.
    pub input: Vec<Shown>,
    /// Results; empty where there is none.
    pub result: Vec<Shown>,
    /// Why the task failed; null where it did not.
    pub error: Option<RunFailure>,
}

impl HistoryTask {
    fn new(kind: &'static str, event: &Event) -> Self {
        Self {
            kind,
            activity_id: None,
            activity_name: None,
            workflow_type: None,
            workflow_id: None,
            run_id: None,
            signal_name: None,
            timer_id: None,
            duration: None,
            status: HistoryTaskStatus::Scheduled,
            scheduled: event.time,
            started: None,
            completed: None,
            attempts: 1,
            input: Vec::new(),
            result: Vec::new(),
            error: None,
        }
    }

    fn ends(&mut self, event: &Event, status: HistoryTaskStatus) {
        self.status = status;
        self.completed = Some(event.time);
    }

    fn completes(&mut self, event: &Event, result: &Payload) {
        self.ends(event, HistoryTaskStatus::Completed);
        self.result = Shown::array(result);
    }

    fn fails(&mut self, event: &Event, error: RunFailure) {
        self.ends(event, HistoryTaskStatus::Failed);
        self.error = Some(error);
    }
}

/// Returns the tasks of a run, in the order in which they were requested or received. Open tasks are
/// completed from the state.
pub fn history_tasks(history: &[Event], state: &RunState) -> Vec<HistoryTask> {
    let mut tasks: BTreeMap<u64, HistoryTask> = BTreeMap::new();
    for event in history {
        match begun(event) {
            Some(task) => {
                tasks.insert(event.id, task);
            }
            None => go_on(&mut tasks, event),
        }
    }
    for (scheduled, activity) in &state.activities {
        if let Some(task) = tasks.get_mut(scheduled) {
            task.attempts = activity.attempt;
            task.started = activity.started_at;
            if activity.started_at.is_some() {
                task.status = HistoryTaskStatus::Running;
            }
        }
    }
    if let Some(closed_at) = state.closed_at {
        // Tasks that the run did not wait for end with it.
        for task in tasks.values_mut().filter(|task| task.completed.is_none()) {
            task.status = HistoryTaskStatus::Canceled;
            task.completed = Some(closed_at);
        }
    }
    tasks.into_values().collect()
}

fn begun(event: &Event) -> Option<HistoryTask> {
    match &event.kind {
        EventKind::ActivityTaskScheduled {
            activity_id,
            name,
            input,
            ..
        } => Some(HistoryTask {
            activity_id: Some(activity_id.clone()),
            activity_name: Some(name.clone()),
            input: Shown::array(input),
            ..HistoryTask::new("activity", event)
        }),
        EventKind::TimerStarted {
            timer_id,
            fire_after_ms,
        } => Some(HistoryTask {
            timer_id: Some(timer_id.clone()),
            duration: Some(seconds(*fire_after_ms)),
            status: HistoryTaskStatus::Running,
            started: Some(event.time),
            ..HistoryTask::new("timer", event)
        }),
        EventKind::StartChildWorkflowExecutionInitiated {
            workflow_id,
            run_id,
            workflow_type,
            input,
            ..
        } => Some(HistoryTask {
            workflow_type: Some(workflow_type.clone()),
            workflow_id: Some(workflow_id.clone()),
            run_id: Some(run_id.clone()),
            input: Shown::array(input),
            ..HistoryTask::new("childWorkflow", event)
        }),
        EventKind::WorkflowExecutionSignaled { name, input, .. } => Some(HistoryTask {
            signal_name: Some(name.clone()),
            status: HistoryTaskStatus::Received,
            started: Some(event.time),
            completed: Some(event.time),
            input: Shown::array(input),
            ..HistoryTask::new("signal", event)
        }),
        _ => None,
    }
}

fn go_on(tasks: &mut BTreeMap<u64, HistoryTask>, event: &Event) {
    let mut task = |begun_by: &u64, change: &dyn Fn(&mut HistoryTask)| {
        if let Some(task) = tasks.get_mut(begun_by) {
            change(task);
        }
    };
    match &event.kind {
        EventKind::ActivityTaskStarted {
            scheduled_event_id,
            attempt,
            started_at,
            ..
        } => task(scheduled_event_id, &|task| {
            task.started = Some(*started_at);
            task.attempts = *attempt;
        }),
        EventKind::ActivityTaskCompleted {
            scheduled_event_id,
            result,
            ..
        } => task(scheduled_event_id, &|task| task.completes(event, result)),
        EventKind::ActivityTaskFailed {
            scheduled_event_id,
            failure,
            ..
        } => task(scheduled_event_id, &|task| task.fails(event, failure.into())),
        EventKind::ActivityTaskTimedOut {
            scheduled_event_id,
            timeout,
            ..
        } => task(scheduled_event_id, &|task| {
            task.ends(event, HistoryTaskStatus::TimedOut);
            task.error = Some((&timeout.failure()).into());
        }),
        EventKind::ActivityTaskCanceled { scheduled_event_id } => {
            task(scheduled_event_id, &|task| {
                task.ends(event, HistoryTaskStatus::Canceled);
            });
        }
        EventKind::TimerFired { started_event_id } => {
            task(started_event_id, &|task| {
                task.ends(event, HistoryTaskStatus::Completed);
            });
        }
        EventKind::TimerCanceled { started_event_id } => {
            task(started_event_id, &|task| {
                task.ends(event, HistoryTaskStatus::Canceled);
            });
        }
        EventKind::ChildWorkflowExecutionStarted { initiated_event_id } => {
            task(initiated_event_id, &|task| {
                task.status = HistoryTaskStatus::Running;
                task.started = Some(event.time);
            });
        }
        EventKind::StartChildWorkflowExecutionFailed {
            initiated_event_id,
            failure,
        } => task(initiated_event_id, &|task| task.fails(event, failure.into())),
        EventKind::ChildWorkflowExecutionClosed {
            initiated_event_id,
            outcome,
        } => task(initiated_event_id, &|task| match outcome {
            ChildOutcome::Completed(result) => task.completes(event, result),
            ChildOutcome::Failed(failure) => task.fails(event, failure.into()),
            ChildOutcome::Canceled => task.ends(event, HistoryTaskStatus::Canceled),
            ChildOutcome::Terminated => task.ends(event, HistoryTaskStatus::Terminated),
            ChildOutcome::TimedOut => task.ends(event, HistoryTaskStatus::TimedOut),
        }),
        _ => {}
    }
}
