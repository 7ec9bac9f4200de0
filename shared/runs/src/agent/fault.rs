//! Defines why a tool call has no result.

use std::fmt;

use workflow::Failure;

/// Why a tool call was refused or failed, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub enum Fault {
    /// The model reads it.
    Refused(Refusal),
    /// Another attempt may succeed.
    Failed(Failure),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The model reads the refusal of an API call; the engine retries a transient error.
impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure.non_retryable && !failure.is_canceled() {
            true => Self::Refused(Refusal(format!("{}: {}", failure.kind, failure.message))),
            false => Self::Failed(failure),
        }
    }
}
