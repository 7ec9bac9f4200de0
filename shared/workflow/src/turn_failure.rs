//! Describes why a turn failed. The run stays open: the turn is retried after a pause.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnFailureKind {
    /// The code requested other commands than the history has.
    NonDeterministic,
    Panic,
    /// The turn exceeded a limit, such as its time or the number or size of its commands.
    Stuck,
    UnknownType,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFailure {
    pub kind: TurnFailureKind,
    /// For people.
    pub message: String,
}

impl TurnFailure {
    fn new(kind: TurnFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub fn not_deterministic(message: impl Into<String>) -> Self {
        Self::new(TurnFailureKind::NonDeterministic, message)
    }

    pub fn panicked(message: impl Into<String>) -> Self {
        Self::new(TurnFailureKind::Panic, message)
    }

    pub fn stuck(message: impl Into<String>) -> Self {
        Self::new(TurnFailureKind::Stuck, message)
    }

    pub fn unknown_type(workflow_type: &str) -> Self {
        Self::new(
            TurnFailureKind::UnknownType,
            format!("No workflow type '{workflow_type}' is registered."),
        )
    }
}

impl std::fmt::Display for TurnFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for TurnFailure {}
