//! Why a turn of a run came to nothing. The run itself goes on: the turn is tried again, after a pause.

use serde::{Deserialize, Serialize};

/// Which kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskFailureKind {
    /// Code and history parted.
    NonDeterministic,
    /// The code panicked.
    Panic,
    /// The code never gave way.
    Stuck,
    /// No code of the run's type is registered.
    UnknownType,
}

/// Why a turn came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFailure {
    /// Which kind of failure it is.
    pub kind: TaskFailureKind,
    /// For people.
    pub message: String,
}

impl TaskFailure {
    fn new(kind: TaskFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Code and history parted.
    pub fn not_deterministic(message: impl Into<String>) -> Self {
        Self::new(TaskFailureKind::NonDeterministic, message)
    }

    /// The code panicked.
    pub fn panicked(message: impl Into<String>) -> Self {
        Self::new(TaskFailureKind::Panic, message)
    }

    /// The code never gave way.
    pub fn stuck(message: impl Into<String>) -> Self {
        Self::new(TaskFailureKind::Stuck, message)
    }

    /// No code of this type is registered.
    pub fn unknown_type(workflow_type: &str) -> Self {
        Self::new(
            TaskFailureKind::UnknownType,
            format!("No workflow type '{workflow_type}' is registered."),
        )
    }
}

impl std::fmt::Display for TaskFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for TaskFailure {}
