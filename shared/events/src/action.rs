//! Defines the actions of events that the platform itself publishes. Other services and senders choose their
//! own.

/// Action of an event of the category `billing`: a model answered.
pub const INFERENCE_COMPLETED: &str = "inference_completed";

/// Action of an event about a workflow run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAction {
    Started,
    Completed,
    /// Also when the run exceeds its time limit.
    Failed,
    /// The run ended after a cancel request.
    Canceled,
    /// The run was ended at once, without a chance to clean up.
    Terminated,
}

impl RunAction {
    pub const ALL: [Self; 5] = [
        Self::Started,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Terminated,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "workflow_started",
            Self::Completed => "workflow_completed",
            Self::Failed => "workflow_failed",
            Self::Canceled => "workflow_canceled",
            Self::Terminated => "workflow_terminated",
        }
    }
}
