//! Describes why an activity, a child run or a run failed.

use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::payload::Payload;

/// `type` of a cancellation.
pub const CANCELED: &str = "Canceled";

/// Stored in the history and shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// One sentence for people.
    pub message: String,
    /// Kind for programs; a retry policy lists the kinds that it does not retry.
    #[serde(rename = "type")]
    pub kind: String,
    /// Origin, such as the activity's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
    /// Forbids another attempt, whatever the retry policy says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_retryable: bool,
    /// Run that the code continues as instead of failing.
    #[serde(skip)]
    pub(crate) continue_as_new: Option<Box<NextRun>>,
}

/// Run that continues a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NextRun {
    pub input: Payload,
    /// Type and program, if the type differs.
    pub other: Option<(String, Option<String>)>,
}

impl Failure {
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: kind.into(),
            source: None,
            details: None,
            non_retryable: false,
            continue_as_new: None,
        }
    }

    /// Returns a failure that forbids another attempt.
    pub fn permanent(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            non_retryable: true,
            ..Self::new(kind, message)
        }
    }

    pub fn canceled() -> Self {
        Self::permanent(CANCELED, "It was cancelled.")
    }

    /// Failure of an attempt whose process ended.
    pub(crate) fn worker_lost() -> Self {
        Self::new(
            "WorkerLost",
            "The process that carried out the attempt ended before the attempt did.",
        )
    }

    pub fn is_canceled(&self) -> bool {
        self.kind == CANCELED
    }

    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    #[must_use]
    pub fn with_details(mut self, details: Payload) -> Self {
        self.details = Some(details);
        self
    }
}

impl Failure {
    pub(crate) fn shorten(&mut self, most: usize) {
        shorten(&mut self.message, most);
    }
}

pub(crate) fn shorten(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Failure {}

/// Converts a failed call of the platform: a transient one is retried. The cause is only in the log.
impl From<platform::Error> for Failure {
    fn from(error: platform::Error) -> Self {
        if error.is_transient() {
            warn!(cause = %error, "a call of the platform failed within a run");
        }
        Self {
            non_retryable: !error.is_transient(),
            ..Self::new(error.kind().code(), error.message())
        }
    }
}
