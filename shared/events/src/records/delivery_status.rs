//! Defines the states of deliveries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryStatus {
    /// The semantic condition is being evaluated.
    Evaluating,
    /// Waits for its first attempt.
    Pending,
    /// An attempt is under way, or the started run is.
    Running,
    /// The last attempt failed, and the next one is due at `next_attempt_at`.
    Retrying,
    /// The receiver accepted it, or the started run completed.
    Succeeded,
    /// No attempt follows.
    Failed,
    /// Its subscription was disabled or deleted, its semantic condition is not met, or its run was stopped.
    Cancelled,
}

impl DeliveryStatus {
    pub const ALL: [Self; 7] = [
        Self::Evaluating,
        Self::Pending,
        Self::Running,
        Self::Retrying,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Evaluating => "evaluating",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether no further change follows without a request.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}
