//! Why an activity, a child run or a whole run failed.

use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::payload::Payload;

/// The `type` of a failure that stands for a cancellation.
pub const CANCELED: &str = "Canceled";

/// Why something failed, as it is kept in history and shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// One sentence for people.
    pub message: String,
    /// What kind of failure it is, for code: retry policies name the ones that are not worth another attempt.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it comes from, such as the activity's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// More, for code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
    /// Whether another attempt is pointless, whatever the retry policy says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_retryable: bool,
    /// The run that the code continues as instead of failing.
    #[serde(skip)]
    pub(crate) continue_as_new: Option<Box<NextRun>>,
}

/// The run that a run continues as.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NextRun {
    /// Input of its code.
    pub input: Payload,
    /// Its type and program, where the type is another.
    pub other: Option<(String, Option<String>)>,
}

impl Failure {
    /// A failure of this kind.
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

    /// The same, and another attempt is pointless.
    pub fn permanent(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            non_retryable: true,
            ..Self::new(kind, message)
        }
    }

    /// What was waited for was cancelled.
    pub fn canceled() -> Self {
        Self::permanent(CANCELED, "It was cancelled.")
    }

    /// The process that carried out an attempt ended before the attempt did.
    pub(crate) fn worker_lost() -> Self {
        Self::new(
            "WorkerLost",
            "The process that carried out the attempt ended before the attempt did.",
        )
    }

    /// Whether it stands for a cancellation.
    pub fn is_canceled(&self) -> bool {
        self.kind == CANCELED
    }

    /// Says where it comes from.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds more, for code.
    #[must_use]
    pub fn with_details(mut self, details: Payload) -> Self {
        self.details = Some(details);
        self
    }
}

impl Failure {
    /// Cuts the message after so many characters.
    pub(crate) fn shorten(&mut self, most: usize) {
        shorten(&mut self.message, most);
    }
}

/// Cuts a text after so many characters.
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

/// A failed call of the platform: one that may pass is worth another attempt. What was behind it is in the log and nowhere else.
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
