//! Describes failures to callers.

use schemars::JsonSchema;
use serde::Serialize;

use super::Shown;
use crate::event::EventKind;
use crate::failure::Failure;

/// Why a run, an activity or a child run failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunFailure {
    /// Explanation for people.
    pub message: String,
    /// Type that the code gave the failure, or one of the engine: `StartToCloseTimeout`,
    /// `ScheduleToCloseTimeout`, `HeartbeatTimeout` or `WorkerLost` of an activity, `Timeout` of a run or
    /// child run, `Terminated`, `Panic`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Origin of the failure, such as the name of an activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Data that the code attached, any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Shown>,
}

impl RunFailure {
    /// Returns the failure that ended a run; None for an end without failure and for an event that is not an
    /// end.
    pub fn of_end(end: &EventKind) -> Option<Self> {
        match end {
            EventKind::WorkflowExecutionFailed { failure } => Some(failure.into()),
            EventKind::WorkflowExecutionTimedOut {} => {
                Some(Self::new("Timeout", "The run took longer than it may."))
            }
            EventKind::WorkflowExecutionTerminated { reason, .. } => {
                let reason = reason.as_deref().unwrap_or("The run was terminated.");
                Some(Self::new("Terminated", reason))
            }
            _ => None,
        }
    }

    /// Makes a failure without source and details.
    pub(super) fn new(kind: &str, message: &str) -> Self {
        Self {
            message: message.to_owned(),
            kind: kind.to_owned(),
            source: None,
            details: None,
        }
    }
}

impl From<&Failure> for RunFailure {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.message.clone(),
            kind: failure.kind.clone(),
            source: failure.source.clone(),
            details: failure.details.as_ref().map(Shown::new),
        }
    }
}
