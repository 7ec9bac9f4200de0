//! Defines why a call has no output.

use process::flow::{Kind, ProcessError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::Failure;

/// Error of a call. [`CallError::at`] adds the position of the task.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallError {
    pub(super) kind: ErrorKind,
    /// Status of the response, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    pub(super) detail: String,
    /// Status, headers and content of the response, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorKind {
    Configuration,
    Expression,
    Authorization,
    Communication,
}

/// Why an attempt of the activity ends without an output.
pub(super) enum Ended {
    /// The task gets this error.
    Error(CallError),
    /// The platform is unavailable: the attempt is repeated.
    Failure(Failure),
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Self {
        Self::Error(error)
    }
}

impl From<platform::Error> for Ended {
    fn from(error: platform::Error) -> Self {
        Self::Failure(error.into())
    }
}

impl CallError {
    pub(super) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            detail: detail.into(),
            response: None,
        }
    }

    /// Converts it to the error of the task at `pointer`.
    pub fn at(self, pointer: &str) -> ProcessError {
        let kind = match self.kind {
            ErrorKind::Configuration => Kind::Configuration,
            ErrorKind::Expression => Kind::Expression,
            ErrorKind::Authorization => Kind::Authorization,
            ErrorKind::Communication => Kind::Communication,
        };
        let error = ProcessError::new(kind, self.detail, pointer);
        ProcessError {
            status: self.status.unwrap_or(error.status),
            response: self
                .response
                .and_then(|response| process::Data::from_raw(response).ok()),
            ..error
        }
    }
}
