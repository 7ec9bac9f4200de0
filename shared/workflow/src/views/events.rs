//! A history as its events. Names are Temporal's; what belongs to an event stands under one key that says what it is about.

use std::collections::BTreeMap;

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{FailureView, shown_array};
use crate::event::{ChildOutcome, Event, EventKind};

/// What an event says of an activity.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityView {
    /// Its registered name.
    pub name: String,
    /// Its id in the run.
    pub id: String,
    /// Its input.
    pub input: Vec<Value>,
    /// The event that asked for it.
    pub scheduled_event_id: String,
    /// The event of the attempt that decided how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_event_id: Option<String>,
}

/// What an event says of a timer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimerView {
    /// Its id in the run.
    pub id: String,
    /// Seconds until it fires.
    pub duration: f64,
    /// The event that began it.
    pub started_event_id: String,
}

/// What an event says of a signal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignalView {
    /// Its name.
    pub name: String,
    /// What it carries.
    pub input: Vec<Value>,
    /// Who sent it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub identity: String,
}

/// What an event says of a child run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChildView {
    /// Its type.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
    /// Its input.
    pub input: Vec<Value>,
    /// The event that asked for it.
    pub initiated_event_id: String,
}

/// What an event says of the run itself.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowView {
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// What it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<Value>>,
    /// Who started it, asked it to stop or ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Why it was asked to stop or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Value>,
    /// The run that goes on in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_run_id: Option<String>,
    /// The run that it goes on in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_run_id: Option<String>,
}

/// An event of a history.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventView {
    /// Its place in the history, from 1.
    pub event_id: u64,
    /// When it was written.
    pub event_time: UtcTime,
    /// What happened: Temporal's name.
    pub event_type: String,
    /// Its place once more, as a text.
    pub task_id: String,
    /// For what was tried several times, which attempt; 1 otherwise.
    pub attempt: u32,
    /// The activity that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivityView>,
    /// The timer that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<TimerView>,
    /// The signal that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalView>,
    /// The child run that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildView>,
    /// What it says of the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowView>,
    /// The patch whose new way the code took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Vec<Value>>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// The events of a run, oldest first.
pub fn event_views(history: &[Event]) -> Vec<EventView> {
    let mut known = Known::default();
    for event in history {
        known.note(event);
    }
    history.iter().map(|event| view(event, &known)).collect()
}

/// What later events say about those that began something.
#[derive(Default)]
struct Known<'a> {
    begun: BTreeMap<u64, &'a EventKind>,
    started: BTreeMap<u64, (u64, u32)>,
}

impl<'a> Known<'a> {
    fn note(&mut self, event: &'a Event) {
        match &event.kind {
            EventKind::ActivityTaskScheduled { .. }
            | EventKind::TimerStarted { .. }
            | EventKind::StartChildWorkflowExecutionInitiated { .. } => {
                self.begun.insert(event.id, &event.kind);
            }
            EventKind::ActivityTaskStarted {
                scheduled_event_id,
                attempt,
                ..
            } => {
                self.started.insert(*scheduled_event_id, (event.id, *attempt));
            }
            _ => {}
        }
    }

    fn activity(&self, scheduled: u64) -> Option<ActivityView> {
        let EventKind::ActivityTaskScheduled {
            activity_id,
            name,
            input,
            ..
        } = self.begun.get(&scheduled)?
        else {
            return None;
        };
        Some(ActivityView {
            name: name.clone(),
            id: activity_id.clone(),
            input: shown_array(input),
            scheduled_event_id: scheduled.to_string(),
            started_event_id: self.started.get(&scheduled).map(|(event, _)| event.to_string()),
        })
    }

    fn timer(&self, started: u64) -> Option<TimerView> {
        let EventKind::TimerStarted {
            timer_id,
            fire_after_ms,
        } = self.begun.get(&started)?
        else {
            return None;
        };
        Some(TimerView {
            id: timer_id.clone(),
            duration: seconds(*fire_after_ms),
            started_event_id: started.to_string(),
        })
    }

    fn child(&self, initiated: u64) -> Option<ChildView> {
        let EventKind::StartChildWorkflowExecutionInitiated {
            workflow_id,
            run_id,
            workflow_type,
            input,
            ..
        } = self.begun.get(&initiated)?
        else {
            return None;
        };
        Some(ChildView {
            workflow_type: workflow_type.clone(),
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
            input: shown_array(input),
            initiated_event_id: initiated.to_string(),
        })
    }
}

/// Seconds of so many milliseconds.
pub(super) fn seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

fn view(event: &Event, known: &Known<'_>) -> EventView {
    let mut view = EventView {
        event_id: event.id,
        event_time: event.time,
        event_type: format!("EVENT_TYPE_{}", event.kind.name()),
        task_id: event.id.to_string(),
        attempt: 1,
        activity: None,
        timer: None,
        signal: None,
        child: None,
        workflow: None,
        patch: None,
        result: None,
        failure: None,
    };
    match &event.kind {
        EventKind::WorkflowExecutionStarted(started) => {
            view.workflow = Some(WorkflowView {
                workflow_type: Some(started.workflow_type.clone()),
                input: Some(shown_array(&started.input)),
                identity: given(&started.initiated_by),
                parent: started
                    .parent
                    .as_ref()
                    .map(|parent| json!({ "workflow_id": parent.workflow_id, "run_id": parent.run_id })),
                continued_run_id: started.continued_from.clone(),
                ..WorkflowView::default()
            });
        }
        EventKind::WorkflowExecutionSignaled {
            name,
            input,
            identity,
        } => {
            view.signal = Some(SignalView {
                name: name.clone(),
                input: shown_array(input),
                identity: identity.clone(),
            });
        }
        EventKind::WorkflowExecutionCancelRequested { reason, identity }
        | EventKind::WorkflowExecutionTerminated { reason, identity } => {
            view.workflow = Some(WorkflowView {
                identity: given(identity),
                reason: reason.clone(),
                ..WorkflowView::default()
            });
        }
        EventKind::WorkflowExecutionCompleted { result } => view.result = Some(shown_array(result)),
        EventKind::WorkflowExecutionFailed { failure } => view.failure = Some(failure.into()),
        EventKind::WorkflowExecutionCanceled { details } => view.result = details.as_ref().map(shown_array),
        EventKind::WorkflowExecutionTimedOut {} => {}
        EventKind::WorkflowExecutionContinuedAsNew { new_run_id, input } => {
            view.workflow = Some(WorkflowView {
                new_run_id: Some(new_run_id.clone()),
                input: Some(shown_array(input)),
                ..WorkflowView::default()
            });
        }
        EventKind::ActivityTaskScheduled { .. } => view.activity = known.activity(event.id),
        EventKind::ActivityTaskStarted {
            scheduled_event_id,
            attempt,
            last_failure,
            ..
        } => {
            view.attempt = *attempt;
            view.activity = known.activity(*scheduled_event_id);
            view.failure = last_failure.as_ref().map(FailureView::from);
        }
        EventKind::ActivityTaskCompleted {
            scheduled_event_id,
            result,
            ..
        } => {
            view.ends_activity(known, *scheduled_event_id);
            view.result = Some(shown_array(result));
        }
        EventKind::ActivityTaskFailed {
            scheduled_event_id,
            failure,
            ..
        } => {
            view.ends_activity(known, *scheduled_event_id);
            view.failure = Some(failure.into());
        }
        EventKind::ActivityTaskTimedOut {
            scheduled_event_id,
            timeout,
            ..
        } => {
            view.ends_activity(known, *scheduled_event_id);
            view.failure = Some(FailureView::new("Timeout", timeout.as_str()));
        }
        EventKind::ActivityTaskCanceled { scheduled_event_id } => {
            view.ends_activity(known, *scheduled_event_id);
        }
        EventKind::TimerStarted { .. } => view.timer = known.timer(event.id),
        EventKind::TimerFired { started_event_id } | EventKind::TimerCanceled { started_event_id } => {
            view.timer = known.timer(*started_event_id);
        }
        EventKind::StartChildWorkflowExecutionInitiated { .. } => view.child = known.child(event.id),
        EventKind::StartChildWorkflowExecutionFailed {
            initiated_event_id,
            failure,
        } => {
            view.child = known.child(*initiated_event_id);
            view.failure = Some(failure.into());
        }
        EventKind::ChildWorkflowExecutionStarted { initiated_event_id }
        | EventKind::RequestCancelExternalWorkflowExecutionInitiated { initiated_event_id } => {
            view.child = known.child(*initiated_event_id);
        }
        EventKind::ChildWorkflowExecutionClosed {
            initiated_event_id,
            outcome,
        } => {
            view.child = known.child(*initiated_event_id);
            match outcome {
                ChildOutcome::Completed(result) => view.result = Some(shown_array(result)),
                ChildOutcome::Failed(failure) => view.failure = Some(failure.into()),
                ChildOutcome::Canceled | ChildOutcome::Terminated | ChildOutcome::TimedOut => {}
            }
        }
        EventKind::MarkerRecorded { name } => view.patch = Some(name.clone()),
    }
    view
}

impl EventView {
    fn ends_activity(&mut self, known: &Known<'_>, scheduled: u64) {
        self.activity = known.activity(scheduled);
        if let Some((_, attempt)) = known.started.get(&scheduled) {
            self.attempt = *attempt;
        }
    }
}

fn given(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
