//! A history as its tasks: what began, went on and ended, as one object.

use std::collections::BTreeMap;

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::events::seconds;
use super::{FailureView, shown_array};
use crate::event::{ChildOutcome, Event, EventKind};
use crate::payload::Payload;
use crate::state::RunState;

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It was asked for.
    Scheduled,
    /// It goes on.
    Running,
    /// It has ended as wanted.
    Completed,
    /// It has failed.
    Failed,
    /// It was no longer wanted.
    Canceled,
    /// It took longer than it may.
    TimedOut,
    /// Somebody ended it.
    Terminated,
    /// It came.
    Received,
}

/// One activity, timer, child run or signal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// `activity`, `timer`, `childWorkflow` or `signal`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The activity's id in its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_id: Option<String>,
    /// The activity's registered name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_name: Option<String>,
    /// The child's workflow type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// The child's workflow id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// The child's run id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The signal's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_name: Option<String>,
    /// The timer's id in its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_id: Option<String>,
    /// Seconds until the timer fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// How far it is.
    pub status: TaskStatus,
    /// When it was asked for, or came.
    pub scheduled: UtcTime,
    /// When the attempt began that decided how it ended, or that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcTime>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<UtcTime>,
    /// Attempts so far.
    pub attempts: u32,
    /// Its input.
    pub input: Vec<Value>,
    /// What came of it.
    pub result: Vec<Value>,
    /// Why it failed; null where it did not.
    pub error: Option<FailureView>,
}

impl TaskView {
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
            status: TaskStatus::Scheduled,
            scheduled: event.time,
            started: None,
            completed: None,
            attempts: 1,
            input: Vec::new(),
            result: Vec::new(),
            error: None,
        }
    }

    fn ends(&mut self, event: &Event, status: TaskStatus) {
        self.status = status;
        self.completed = Some(event.time);
    }

    fn completes(&mut self, event: &Event, result: &Payload) {
        self.ends(event, TaskStatus::Completed);
        self.result = shown_array(result);
    }

    fn fails(&mut self, event: &Event, error: FailureView) {
        self.ends(event, TaskStatus::Failed);
        self.error = Some(error);
    }
}

/// The tasks of a run, in the order in which they were asked for or came. What goes on is told by the state.
pub fn task_views(history: &[Event], state: &RunState) -> Vec<TaskView> {
    let mut tasks: BTreeMap<u64, TaskView> = BTreeMap::new();
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
                task.status = TaskStatus::Running;
            }
        }
    }
    if let Some(closed_at) = state.closed_at {
        // What the run did not wait for ends with it.
        for task in tasks.values_mut().filter(|task| task.completed.is_none()) {
            task.status = TaskStatus::Canceled;
            task.completed = Some(closed_at);
        }
    }
    tasks.into_values().collect()
}

fn begun(event: &Event) -> Option<TaskView> {
    match &event.kind {
        EventKind::ActivityTaskScheduled {
            activity_id,
            name,
            input,
            ..
        } => Some(TaskView {
            activity_id: Some(activity_id.clone()),
            activity_name: Some(name.clone()),
            input: shown_array(input),
            ..TaskView::new("activity", event)
        }),
        EventKind::TimerStarted {
            timer_id,
            fire_after_ms,
        } => Some(TaskView {
            timer_id: Some(timer_id.clone()),
            duration: Some(seconds(*fire_after_ms)),
            status: TaskStatus::Running,
            started: Some(event.time),
            ..TaskView::new("timer", event)
        }),
        EventKind::StartChildWorkflowExecutionInitiated {
            workflow_id,
            run_id,
            workflow_type,
            input,
            ..
        } => Some(TaskView {
            workflow_type: Some(workflow_type.clone()),
            workflow_id: Some(workflow_id.clone()),
            run_id: Some(run_id.clone()),
            input: shown_array(input),
            ..TaskView::new("childWorkflow", event)
        }),
        EventKind::WorkflowExecutionSignaled { name, input, .. } => Some(TaskView {
            signal_name: Some(name.clone()),
            status: TaskStatus::Received,
            started: Some(event.time),
            completed: Some(event.time),
            input: shown_array(input),
            ..TaskView::new("signal", event)
        }),
        _ => None,
    }
}

fn go_on(tasks: &mut BTreeMap<u64, TaskView>, event: &Event) {
    let mut task = |begun_by: &u64, change: &dyn Fn(&mut TaskView)| {
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
            task.ends(event, TaskStatus::TimedOut);
            task.error = Some(FailureView::new("Timeout", timeout.as_str()));
        }),
        EventKind::ActivityTaskCanceled { scheduled_event_id } => {
            task(scheduled_event_id, &|task| task.ends(event, TaskStatus::Canceled));
        }
        EventKind::TimerFired { started_event_id } => {
            task(started_event_id, &|task| task.ends(event, TaskStatus::Completed));
        }
        EventKind::TimerCanceled { started_event_id } => {
            task(started_event_id, &|task| task.ends(event, TaskStatus::Canceled));
        }
        EventKind::ChildWorkflowExecutionStarted { initiated_event_id } => {
            task(initiated_event_id, &|task| {
                task.status = TaskStatus::Running;
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
            ChildOutcome::Canceled => task.ends(event, TaskStatus::Canceled),
            ChildOutcome::Terminated => task.ends(event, TaskStatus::Terminated),
            ChildOutcome::TimedOut => task.ends(event, TaskStatus::TimedOut),
        }),
        _ => {}
    }
}
