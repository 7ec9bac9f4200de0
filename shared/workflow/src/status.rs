//! Defines the status of a run.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunStatus {
    Running,
    /// The code returned a result.
    Completed,
    /// The code returned a failure.
    Failed,
    /// Cancelled, after its code cleaned up.
    Canceled,
    /// Ended without a call of its code.
    Terminated,
    /// Another run continues it.
    ContinuedAsNew,
    TimedOut,
}

impl RunStatus {
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Terminated,
        Self::ContinuedAsNew,
        Self::TimedOut,
    ];

    /// Returns the text that the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Canceled => "CANCELED",
            Self::Terminated => "TERMINATED",
            Self::ContinuedAsNew => "CONTINUED_AS_NEW",
            Self::TimedOut => "TIMED_OUT",
        }
    }

    pub const fn is_closed(self) -> bool {
        !matches!(self, Self::Running)
    }
}

impl std::str::FromStr for RunStatus {
    type Err = platform::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| platform::Error::internal(format!("a run has the status '{text}'")))
    }
}
