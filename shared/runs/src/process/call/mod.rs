//! Makes HTTP calls in activities.
//!
//! The turn evaluates everything that contains no secrets. A part that contains a secret reaches the activity
//! as an expression with its data, so that the history holds no secret. What comes back is kept without the
//! secrets that went out.

mod answer;
mod authentication;
mod body;
mod content;
pub(super) mod http;
mod keyring;
pub(super) mod openapi;
mod part;
mod request;

use process::flow::{Kind, ProcessError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::{Failure, Payload};

use keyring::Keyring;

pub(super) use authentication::Authentication;
pub(super) use part::Part;

/// Error of a call. [`CallError::at`] adds the position of the task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallError {
    kind: ErrorKind,
    /// Status of the response, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    detail: String,
    /// Status, headers and content of the response, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ErrorKind {
    Configuration,
    Expression,
    Authorization,
    Communication,
}

/// Outcome of a call. An error is an outcome and no failure, because the definition decides about retries.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Called {
    Output(Box<RawValue>),
    Error(CallError),
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
    fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
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

/// Strikes the secrets out of a response; one in which they cannot be struck out is left out.
async fn struck_response(response: Option<Box<RawValue>>, keyring: &Keyring<'_>) -> Option<Box<RawValue>> {
    let response = process::Data::from_raw(response?).ok()?;
    let struck = keyring.struck_output(response).await.ok()?;
    Some(struck.as_raw().to_owned())
}

/// Returns the result of the activity, without secrets in it. An output that is too large for the history
/// becomes an error.
async fn called(result: Result<process::Data, Ended>, keyring: &Keyring<'_>) -> Result<Called, Failure> {
    let result = match result {
        Ok(output) => keyring.struck_output(output).await,
        ended => ended,
    };
    match result {
        Ok(output) if Payload::from_value(output.as_raw()).is_err() => Ok(Called::Error(CallError::new(
            ErrorKind::Communication,
            "The answer is too large to be kept.",
        ))),
        Ok(output) => Ok(Called::Output(output.as_raw().to_owned())),
        Err(Ended::Error(error)) => Ok(Called::Error(CallError {
            detail: keyring.struck(error.detail),
            response: struck_response(error.response, keyring).await,
            ..error
        })),
        Err(Ended::Failure(failure)) => Err(failure),
    }
}
