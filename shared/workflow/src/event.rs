//! Defines the events of a run's history. Names and meanings are Temporal's.
//!
//! An event is written once and never changed. Its id is its place: 1, 2, 3 and so on, without a gap. Some
//! events are *commands* of the run's code (an activity scheduled, a timer started); the others come from
//! outside. Replayed code must request the same commands again, in the same order.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy};
use crate::payload::Payload;
pub use crate::started::{ParentRef, Started};
use crate::stored_time::millis;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// From 1.
    pub id: u64,
    /// Never before the previous event's time.
    #[serde(with = "millis")]
    pub time: UtcTime,
    #[serde(rename = "event")]
    pub kind: EventKind,
}

/// Time limit of an activity that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutKind {
    /// One attempt took too long, or its worker died.
    StartToClose,
    /// All attempts together took too long.
    ScheduleToClose,
    /// An attempt sent no heartbeat for too long.
    Heartbeat,
}

impl TimeoutKind {
    pub fn failure(self) -> Failure {
        let (kind, message) = match self {
            Self::StartToClose => (
                "StartToCloseTimeout",
                "The attempt took longer than its start-to-close timeout.",
            ),
            Self::ScheduleToClose => (
                "ScheduleToCloseTimeout",
                "The attempts together took longer than the schedule-to-close timeout.",
            ),
            Self::Heartbeat => (
                "HeartbeatTimeout",
                "The attempt sent no heartbeat within its heartbeat timeout.",
            ),
        };
        Failure::new(kind, message)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildOutcome {
    Completed(Payload),
    Failed(Failure),
    Canceled,
    Terminated,
    TimedOut,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// The first event of every run.
    WorkflowExecutionStarted(Box<Started>),
    WorkflowExecutionSignaled {
        name: String,
        input: Payload,
        /// Reference of the sender.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    WorkflowExecutionCancelRequested {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Reference of the caller.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    /// The code returned a result. The last event.
    WorkflowExecutionCompleted {
        result: Payload,
    },
    /// The code returned a failure. The last event.
    WorkflowExecutionFailed {
        failure: Failure,
    },
    /// The code ended after a request to cancel. The last event.
    WorkflowExecutionCanceled {
        /// Result of the code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Payload>,
    },
    /// A caller ended the run without a call of its code. The last event.
    WorkflowExecutionTerminated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Reference of the caller.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    /// The run's timeout expired. The last event.
    WorkflowExecutionTimedOut {},
    /// The code continues in a new run with an empty history. The last event.
    WorkflowExecutionContinuedAsNew {
        new_run_id: String,
        input: Payload,
        /// Workflow type of the new run, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workflow_type: Option<String>,
        /// Program of the new run, for a type that interprets programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
    },
    ActivityTaskScheduled {
        /// The same in every attempt and every replay.
        activity_id: String,
        name: String,
        input: Payload,
        #[serde(default, skip_serializing_if = "ActivityOptions::is_default")]
        options: ActivityOptions,
    },
    /// Start of the attempt that decided the activity. Written together with its end; earlier attempts leave
    /// no event.
    ActivityTaskStarted {
        scheduled_event_id: u64,
        /// From 1.
        attempt: u32,
        #[serde(with = "millis")]
        started_at: UtcTime,
        /// Failure of the previous attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_failure: Option<Failure>,
    },
    ActivityTaskCompleted {
        scheduled_event_id: u64,
        started_event_id: u64,
        result: Payload,
    },
    /// The last attempt failed.
    ActivityTaskFailed {
        scheduled_event_id: u64,
        started_event_id: u64,
        failure: Failure,
    },
    /// A time limit expired, and no attempt follows.
    ActivityTaskTimedOut {
        scheduled_event_id: u64,
        /// 0 if no attempt started.
        started_event_id: u64,
        timeout: TimeoutKind,
        /// Failure of the previous attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_failure: Option<Failure>,
    },
    /// The code dropped an activity; a later result is ignored.
    ActivityTaskCanceled {
        scheduled_event_id: u64,
    },
    TimerStarted {
        /// The same in every replay.
        timer_id: String,
        /// Delay from this event, in milliseconds.
        fire_after_ms: u64,
    },
    TimerFired {
        started_event_id: u64,
    },
    /// The code dropped a timer.
    TimerCanceled {
        started_event_id: u64,
    },
    /// The code requested a child run.
    StartChildWorkflowExecutionInitiated {
        workflow_id: String,
        run_id: String,
        workflow_type: String,
        input: Payload,
        /// Applies to the child if this run ends first.
        #[serde(default, skip_serializing_if = "ParentClosePolicy::is_default")]
        parent_close_policy: ParentClosePolicy,
        /// Program of the child, for a type that interprets programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
    },
    StartChildWorkflowExecutionFailed {
        initiated_event_id: u64,
        failure: Failure,
    },
    ChildWorkflowExecutionStarted {
        initiated_event_id: u64,
    },
    ChildWorkflowExecutionClosed {
        initiated_event_id: u64,
        outcome: ChildOutcome,
    },
    /// The code requested the cancellation of a child run.
    RequestCancelExternalWorkflowExecutionInitiated {
        /// The event that requested the child.
        initiated_event_id: u64,
    },
    /// The code recorded a decision or a result that its replays must find again.
    MarkerRecorded {
        /// Name of a patch, or `local:` and the number of the local work.
        name: String,
        /// Result of local work; None for a patch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Payload>,
    },
}

impl EventKind {
    /// Returns Temporal's name without `EVENT_TYPE_`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WorkflowExecutionStarted(_) => "WORKFLOW_EXECUTION_STARTED",
            Self::WorkflowExecutionSignaled { .. } => "WORKFLOW_EXECUTION_SIGNALED",
            Self::WorkflowExecutionCancelRequested { .. } => "WORKFLOW_EXECUTION_CANCEL_REQUESTED",
            Self::WorkflowExecutionCompleted { .. } => "WORKFLOW_EXECUTION_COMPLETED",
            Self::WorkflowExecutionFailed { .. } => "WORKFLOW_EXECUTION_FAILED",
            Self::WorkflowExecutionCanceled { .. } => "WORKFLOW_EXECUTION_CANCELED",
            Self::WorkflowExecutionTerminated { .. } => "WORKFLOW_EXECUTION_TERMINATED",
            Self::WorkflowExecutionTimedOut {} => "WORKFLOW_EXECUTION_TIMED_OUT",
            Self::WorkflowExecutionContinuedAsNew { .. } => "WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
            Self::ActivityTaskScheduled { .. } => "ACTIVITY_TASK_SCHEDULED",
            Self::ActivityTaskStarted { .. } => "ACTIVITY_TASK_STARTED",
            Self::ActivityTaskCompleted { .. } => "ACTIVITY_TASK_COMPLETED",
            Self::ActivityTaskFailed { .. } => "ACTIVITY_TASK_FAILED",
            Self::ActivityTaskTimedOut { .. } => "ACTIVITY_TASK_TIMED_OUT",
            Self::ActivityTaskCanceled { .. } => "ACTIVITY_TASK_CANCELED",
            Self::TimerStarted { .. } => "TIMER_STARTED",
            Self::TimerFired { .. } => "TIMER_FIRED",
            Self::TimerCanceled { .. } => "TIMER_CANCELED",
            Self::StartChildWorkflowExecutionInitiated { .. } => "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
            Self::StartChildWorkflowExecutionFailed { .. } => "START_CHILD_WORKFLOW_EXECUTION_FAILED",
            Self::ChildWorkflowExecutionStarted { .. } => "CHILD_WORKFLOW_EXECUTION_STARTED",
            Self::ChildWorkflowExecutionClosed { outcome, .. } => match outcome {
                ChildOutcome::Completed(_) => "CHILD_WORKFLOW_EXECUTION_COMPLETED",
                ChildOutcome::Failed(_) => "CHILD_WORKFLOW_EXECUTION_FAILED",
                ChildOutcome::Canceled => "CHILD_WORKFLOW_EXECUTION_CANCELED",
                ChildOutcome::Terminated => "CHILD_WORKFLOW_EXECUTION_TERMINATED",
                ChildOutcome::TimedOut => "CHILD_WORKFLOW_EXECUTION_TIMED_OUT",
            },
            Self::RequestCancelExternalWorkflowExecutionInitiated { .. } => {
                "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED"
            }
            Self::MarkerRecorded { .. } => "MARKER_RECORDED",
        }
    }

    /// Whether the run's code requested it.
    pub fn is_command(&self) -> bool {
        match self {
            Self::WorkflowExecutionCompleted { .. }
            | Self::WorkflowExecutionFailed { .. }
            | Self::WorkflowExecutionCanceled { .. }
            | Self::WorkflowExecutionContinuedAsNew { .. }
            | Self::ActivityTaskScheduled { .. }
            | Self::ActivityTaskCanceled { .. }
            | Self::TimerStarted { .. }
            | Self::TimerCanceled { .. }
            | Self::StartChildWorkflowExecutionInitiated { .. }
            | Self::RequestCancelExternalWorkflowExecutionInitiated { .. }
            | Self::MarkerRecorded { .. } => true,
            Self::WorkflowExecutionStarted(_)
            | Self::WorkflowExecutionSignaled { .. }
            | Self::WorkflowExecutionCancelRequested { .. }
            | Self::WorkflowExecutionTerminated { .. }
            | Self::WorkflowExecutionTimedOut { .. }
            | Self::ActivityTaskStarted { .. }
            | Self::ActivityTaskCompleted { .. }
            | Self::ActivityTaskFailed { .. }
            | Self::ActivityTaskTimedOut { .. }
            | Self::TimerFired { .. }
            | Self::StartChildWorkflowExecutionFailed { .. }
            | Self::ChildWorkflowExecutionStarted { .. }
            | Self::ChildWorkflowExecutionClosed { .. } => false,
        }
    }

    /// Whether replayed code reads its payload.
    pub fn is_read_by_code(&self) -> bool {
        !self.is_command() || matches!(self, Self::MarkerRecorded { .. })
    }

    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::WorkflowExecutionCompleted { .. }
                | Self::WorkflowExecutionFailed { .. }
                | Self::WorkflowExecutionCanceled { .. }
                | Self::WorkflowExecutionTerminated { .. }
                | Self::WorkflowExecutionTimedOut {}
                | Self::WorkflowExecutionContinuedAsNew { .. }
        )
    }

    pub fn payload_mut(&mut self) -> Option<&mut Payload> {
        match self {
            Self::WorkflowExecutionStarted(started) => Some(&mut started.input),
            Self::WorkflowExecutionSignaled { input, .. }
            | Self::ActivityTaskScheduled { input, .. }
            | Self::StartChildWorkflowExecutionInitiated { input, .. }
            | Self::WorkflowExecutionContinuedAsNew { input, .. } => Some(input),
            Self::WorkflowExecutionCompleted { result } | Self::ActivityTaskCompleted { result, .. } => {
                Some(result)
            }
            Self::WorkflowExecutionFailed { failure }
            | Self::ActivityTaskFailed { failure, .. }
            | Self::StartChildWorkflowExecutionFailed { failure, .. } => failure.details.as_mut(),
            Self::WorkflowExecutionCanceled { details } => details.as_mut(),
            Self::MarkerRecorded { result, .. } => result.as_mut(),
            Self::ActivityTaskStarted { last_failure, .. }
            | Self::ActivityTaskTimedOut { last_failure, .. } => last_failure.as_mut()?.details.as_mut(),
            Self::ChildWorkflowExecutionClosed { outcome, .. } => match outcome {
                ChildOutcome::Completed(result) => Some(result),
                ChildOutcome::Failed(failure) => failure.details.as_mut(),
                ChildOutcome::Canceled | ChildOutcome::Terminated | ChildOutcome::TimedOut => None,
            },
            Self::WorkflowExecutionCancelRequested { .. }
            | Self::WorkflowExecutionTerminated { .. }
            | Self::WorkflowExecutionTimedOut {}
            | Self::ActivityTaskCanceled { .. }
            | Self::TimerStarted { .. }
            | Self::TimerFired { .. }
            | Self::TimerCanceled { .. }
            | Self::ChildWorkflowExecutionStarted { .. }
            | Self::RequestCancelExternalWorkflowExecutionInitiated { .. } => None,
        }
    }

    pub(crate) fn failure_mut(&mut self) -> Option<&mut Failure> {
        match self {
            Self::WorkflowExecutionFailed { failure }
            | Self::ActivityTaskFailed { failure, .. }
            | Self::StartChildWorkflowExecutionFailed { failure, .. }
            | Self::ChildWorkflowExecutionClosed {
                outcome: ChildOutcome::Failed(failure),
                ..
            } => Some(failure),
            _ => None,
        }
    }
}
