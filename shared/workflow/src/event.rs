//! What happened to a run, in order: the events of its history. Names and meanings are Temporal's.
//!
//! An event is written once and never changed. Its id is its place: 1, 2, 3 and so on, without a gap. Some events say what the run's
//! code asked for (a *command*: an activity scheduled, a timer started), the others what came from outside; replaying code
//! has to ask for the same commands again, in the same order.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::options::{ActivityOptions, ParentClosePolicy};
use crate::payload::Payload;
pub use crate::started::{ParentRef, Started};
use crate::stored_time::millis;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the history, from 1.
    pub id: u64,
    /// When it was written; never before the event before it.
    #[serde(with = "millis")]
    pub time: UtcTime,
    /// What happened.
    #[serde(rename = "event")]
    pub kind: EventKind,
}

/// Which of its time limits something went past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutKind {
    /// One attempt took longer than it may, or whoever carried it out is gone.
    StartToClose,
    /// All attempts together took longer than they may.
    ScheduleToClose,
    /// An attempt has not been heard of for longer than it may be silent.
    Heartbeat,
}

impl TimeoutKind {
    /// The failure that a timeout is.
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

/// How a child run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildOutcome {
    /// With a result.
    Completed(Payload),
    /// With a failure.
    Failed(Failure),
    /// It was cancelled.
    Canceled,
    /// It was terminated.
    Terminated,
    /// It took longer than it may.
    TimedOut,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventKind {
    /// The first event of every run.
    WorkflowExecutionStarted(Box<Started>),
    /// A signal came.
    WorkflowExecutionSignaled {
        /// Its name.
        name: String,
        /// What it carries.
        input: Payload,
        /// Who sent it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    /// Somebody asked the run to stop.
    WorkflowExecutionCancelRequested {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    /// The code returned a result. Nothing comes after it.
    WorkflowExecutionCompleted {
        /// The result.
        result: Payload,
    },
    /// The code returned a failure. Nothing comes after it.
    WorkflowExecutionFailed {
        /// The failure.
        failure: Failure,
    },
    /// The code ended after it was asked to stop. Nothing comes after it.
    WorkflowExecutionCanceled {
        /// What it returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Payload>,
    },
    /// Somebody ended the run; its code was not asked. Nothing comes after it.
    WorkflowExecutionTerminated {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        identity: String,
    },
    /// The run took longer than it may. Nothing comes after it.
    WorkflowExecutionTimedOut {},
    /// The code goes on in a new run, with an empty history. Nothing comes after it.
    WorkflowExecutionContinuedAsNew {
        /// The new run.
        new_run_id: String,
        /// What it begins with.
        input: Payload,
        /// Its workflow type, where that is another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workflow_type: Option<String>,
        /// What it executes, where its type interprets programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
    },
    /// The code asked for an activity.
    ActivityTaskScheduled {
        /// Its id, the same in every attempt and every replay.
        activity_id: String,
        /// The registered name.
        name: String,
        /// Its input.
        input: Payload,
        /// Its limits and retries.
        #[serde(default, skip_serializing_if = "ActivityOptions::is_default")]
        options: ActivityOptions,
    },
    /// The attempt that decided how an activity ends began. Written together with that end: attempts before it leave no event.
    ActivityTaskStarted {
        /// The activity.
        scheduled_event_id: u64,
        /// Which attempt it was, from 1.
        attempt: u32,
        /// When it began.
        #[serde(with = "millis")]
        started_at: UtcTime,
        /// How the attempt before it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_failure: Option<Failure>,
    },
    /// An activity returned.
    ActivityTaskCompleted {
        /// The activity.
        scheduled_event_id: u64,
        /// Its start.
        started_event_id: u64,
        /// What it returned.
        result: Payload,
    },
    /// An activity failed, and there is no further attempt.
    ActivityTaskFailed {
        /// The activity.
        scheduled_event_id: u64,
        /// Its start.
        started_event_id: u64,
        /// The failure of the last attempt.
        failure: Failure,
    },
    /// An activity took too long, and there is no further attempt.
    ActivityTaskTimedOut {
        /// The activity.
        scheduled_event_id: u64,
        /// Its start; 0 where no attempt began.
        started_event_id: u64,
        /// Which limit.
        timeout: TimeoutKind,
        /// How the attempt before it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_failure: Option<Failure>,
    },
    /// The code no longer wants an activity; what it returns later is ignored.
    ActivityTaskCanceled {
        /// The activity.
        scheduled_event_id: u64,
    },
    /// The code asked for a timer.
    TimerStarted {
        /// Its id, the same in every replay.
        timer_id: String,
        /// From this event on, in milliseconds.
        fire_after_ms: u64,
    },
    /// A timer's time came.
    TimerFired {
        /// Its start.
        started_event_id: u64,
    },
    /// The code no longer wants a timer.
    TimerCanceled {
        /// Its start.
        started_event_id: u64,
    },
    /// The code asked for a child run.
    StartChildWorkflowExecutionInitiated {
        /// The child's workflow id.
        workflow_id: String,
        /// The child's run id.
        run_id: String,
        /// The child's workflow type.
        workflow_type: String,
        /// The child's input.
        input: Payload,
        /// What becomes of it when this run ends first.
        #[serde(default, skip_serializing_if = "ParentClosePolicy::is_default")]
        parent_close_policy: ParentClosePolicy,
        /// What the child executes, where its type interprets programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<String>,
    },
    /// A child run was not started.
    StartChildWorkflowExecutionFailed {
        /// The asking.
        initiated_event_id: u64,
        /// Why not.
        failure: Failure,
    },
    /// A child run was started.
    ChildWorkflowExecutionStarted {
        /// The asking.
        initiated_event_id: u64,
    },
    /// A child run ended.
    ChildWorkflowExecutionClosed {
        /// The asking.
        initiated_event_id: u64,
        /// How.
        outcome: ChildOutcome,
    },
    /// The code asked a child run to stop.
    RequestCancelExternalWorkflowExecutionInitiated {
        /// The asking for the child.
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
    /// Its name as Temporal writes it, without `EVENT_TYPE_`.
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

    /// Whether the run's code asked for it.
    pub fn is_command(&self) -> bool {
        matches!(
            self,
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
                | Self::MarkerRecorded { .. }
        )
    }

    /// Whether replaying code reads its payload.
    pub fn is_read_by_code(&self) -> bool {
        !self.is_command() || matches!(self, Self::MarkerRecorded { .. })
    }

    /// Whether the run's code may go on because of it.
    pub fn is_stimulus(&self) -> bool {
        !self.is_command() && !self.is_terminal() && !matches!(self, Self::ActivityTaskStarted { .. })
    }

    /// Whether it ends the run.
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

    /// The payload that it carries, where it carries one.
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

    /// The failure that it tells of, where it tells of one.
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
