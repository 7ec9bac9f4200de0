//! Renders a history as events with Temporal's names; the data of an event is under one key that names its
//! subject.

use std::collections::BTreeMap;

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{RunFailure, Shown};
use crate::event::{ChildOutcome, Event, EventKind};

/// Activity of an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventActivity {
    /// Name under which the activity is registered.
    pub name: String,
    /// Id of the activity, unique in the run.
    pub id: String,
    /// Arguments of the activity.
    pub input: Vec<Shown>,
    /// Id of the event that scheduled the activity.
    pub scheduled_event_id: String,
    /// Id of the event of the attempt that decided the outcome; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_event_id: Option<String>,
}

/// Timer of an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventTimer {
    /// Id of the timer, unique in the run.
    pub id: String,
    /// Seconds from its start until it fires.
    pub duration: f64,
    /// Id of the event that started the timer.
    pub started_event_id: String,
}

/// Signal of an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventSignal {
    /// Name that the workflow's code listens for.
    pub name: String,
    /// Body of the signal.
    pub input: Vec<Shown>,
    /// Principal that sent the signal; absent where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity: String,
}

/// Child run of an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventChild {
    /// Workflow type of the child run.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// Workflow id of the child run.
    pub workflow_id: String,
    /// Run id of the child run.
    pub run_id: String,
    /// Arguments of the child run.
    pub input: Vec<Shown>,
    /// Id of the event that asked for the child run.
    pub initiated_event_id: String,
}

/// What an event says about the run itself.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventWorkflow {
    /// Workflow type of the run.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<String>,
    /// Arguments of the run, or of the run that continues it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<Shown>>,
    /// Principal that started, cancelled or terminated the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Reason that this principal gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Run that started this one, as `workflow_id` and `run_id`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Value>,
    /// Id of the run that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_run_id: Option<String>,
    /// Id of the run that continues this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_run_id: Option<String>,
}

/// An event of a run's history.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistoryEvent {
    /// Position in the history, from 1.
    pub event_id: u64,
    /// Time of the event. The start of an attempt is written with its end and carries the time at which it
    /// began.
    pub event_time: UtcTime,
    /// What happened, such as `EVENT_TYPE_ACTIVITY_TASK_SCHEDULED`; the names are Temporal's.
    pub event_type: String,
    /// The same as `event_id`, as a string.
    pub task_id: String,
    /// Number of the attempt, from 1; always 1 for events without attempts.
    pub attempt: u32,
    /// Present on events of an activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<EventActivity>,
    /// Present on events of a timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<EventTimer>,
    /// Present on events of a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<EventSignal>,
    /// Present on events of a child run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<EventChild>,
    /// Present on events of the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<EventWorkflow>,
    /// Name of the patch whose new code the run took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Result of an activity, a child run or the run; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Vec<Shown>>,
    /// Failure of an attempt, a child run or the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<RunFailure>,
}

/// Returns the events of a run, oldest first.
pub fn history_events(history: &[Event]) -> Vec<HistoryEvent> {
    let mut known = Known::default();
    for event in history {
        known.note(event);
    }
    history.iter().map(|event| view(event, &known)).collect()
}

/// Data that an event takes from other events of the same activity, timer or child run.
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

    fn activity(&self, scheduled: u64) -> Option<EventActivity> {
        let EventKind::ActivityTaskScheduled {
            activity_id,
            name,
            input,
            ..
        } = self.begun.get(&scheduled)?
        else {
            return None;
        };
        Some(EventActivity {
            name: name.clone(),
            id: activity_id.clone(),
            input: Shown::array(input),
            scheduled_event_id: scheduled.to_string(),
            started_event_id: self.started.get(&scheduled).map(|(event, _)| event.to_string()),
        })
    }

    fn timer(&self, started: u64) -> Option<EventTimer> {
        let EventKind::TimerStarted {
            timer_id,
            fire_after_ms,
        } = self.begun.get(&started)?
        else {
            return None;
        };
        Some(EventTimer {
            id: timer_id.clone(),
            duration: seconds(*fire_after_ms),
            started_event_id: started.to_string(),
        })
    }

    fn child(&self, initiated: u64) -> Option<EventChild> {
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
        Some(EventChild {
            workflow_type: workflow_type.clone(),
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
            input: Shown::array(input),
            initiated_event_id: initiated.to_string(),
        })
    }
}

pub(super) fn seconds(millis: u64) -> f64 {
    std::time::Duration::from_millis(millis).as_secs_f64()
}

fn view(event: &Event, known: &Known<'_>) -> HistoryEvent {
    let mut view = HistoryEvent {
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
            view.workflow = Some(EventWorkflow {
                workflow_type: Some(started.workflow_type.clone()),
                input: Some(Shown::array(&started.input)),
                identity: given(&started.initiated_by),
                parent: started
                    .parent
                    .as_ref()
                    .map(|parent| json!({ "workflow_id": parent.workflow_id, "run_id": parent.run_id })),
                continued_run_id: started.continued_from.clone(),
                ..EventWorkflow::default()
            });
        }
        EventKind::WorkflowExecutionSignaled {
            name,
            input,
            identity,
        } => {
            view.signal = Some(EventSignal {
                name: name.clone(),
                input: Shown::array(input),
                identity: identity.clone(),
            });
        }
        EventKind::WorkflowExecutionCancelRequested { reason, identity }
        | EventKind::WorkflowExecutionTerminated { reason, identity } => {
            view.workflow = Some(EventWorkflow {
                identity: given(identity),
                reason: reason.clone(),
                ..EventWorkflow::default()
            });
        }
        EventKind::WorkflowExecutionCompleted { result } => view.result = Some(Shown::array(result)),
        EventKind::WorkflowExecutionFailed { failure } => view.failure = Some(failure.into()),
        EventKind::WorkflowExecutionCanceled { details } => view.result = details.as_ref().map(Shown::array),
        EventKind::WorkflowExecutionTimedOut {} => {}
        EventKind::WorkflowExecutionContinuedAsNew {
            new_run_id, input, ..
        } => {
            view.workflow = Some(EventWorkflow {
                new_run_id: Some(new_run_id.clone()),
                input: Some(Shown::array(input)),
                ..EventWorkflow::default()
            });
        }
        EventKind::ActivityTaskScheduled { .. } => view.activity = known.activity(event.id),
        EventKind::ActivityTaskStarted {
            scheduled_event_id,
            attempt,
            started_at,
            last_failure,
        } => {
            view.event_time = *started_at;
            view.attempt = *attempt;
            view.activity = known.activity(*scheduled_event_id);
            view.failure = last_failure.as_ref().map(RunFailure::from);
        }
        EventKind::ActivityTaskCompleted {
            scheduled_event_id,
            result,
            ..
        } => {
            view.ends_activity(known, *scheduled_event_id);
            view.result = Some(Shown::array(result));
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
            view.failure = Some((&timeout.failure()).into());
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
                ChildOutcome::Completed(result) => view.result = Some(Shown::array(result)),
                ChildOutcome::Failed(failure) => view.failure = Some(failure.into()),
                ChildOutcome::Canceled | ChildOutcome::Terminated | ChildOutcome::TimedOut => {}
            }
        }
        EventKind::MarkerRecorded { name, result } => match result {
            Some(result) => view.result = Some(Shown::array(result)),
            None => view.patch = Some(name.clone()),
        },
    }
    view
}

impl HistoryEvent {
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
