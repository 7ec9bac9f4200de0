//! Actions of the events that the platform itself publishes. Other services and senders choose their own.

/// The action of an event of the category `billing`: a model answered.
pub const INFERENCE_COMPLETED: &str = "inference_completed";

/// What an event says of a workflow run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// The run began.
    Started,
    /// The run returned a result.
    Completed,
    /// The run failed, or took longer than its time limit.
    Failed,
    /// The run ended after a request to cancel it.
    Canceled,
    /// The run was ended at once.
    Terminated,
}

impl RunAction {
    /// Every action.
    pub const ALL: [Self; 5] = [
        Self::Started,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Terminated,
    ];

    /// The event's `action`.
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
