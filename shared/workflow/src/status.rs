//! Whether a run goes on, and how it ended.

use serde::{Deserialize, Serialize};

/// Whether a run goes on, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// Its code returned a result.
    Completed,
    /// Its code returned a failure.
    Failed,
    /// It was cancelled, and its code has cleaned up.
    Canceled,
    /// It was ended without its code being asked.
    Terminated,
    /// It goes on as another run.
    ContinuedAsNew,
    /// It took longer than it may.
    TimedOut,
}

impl RunStatus {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Terminated,
        Self::ContinuedAsNew,
        Self::TimedOut,
    ];

    /// Its text, as in the API.
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

    /// Whether it has ended.
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
