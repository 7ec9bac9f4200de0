//! Returns the result of a call, without the secrets that went out.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::{Failure, Payload};

use super::error::{CallError, Ended, ErrorKind};
use super::keyring::Keyring;

/// Outcome of a call. An error is an outcome and no failure, because the definition decides about retries.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Called {
    Output(Box<RawValue>),
    Error(CallError),
}

/// Strikes the secrets out of a response; one in which they cannot be struck out is left out.
async fn struck_response(response: Option<Box<RawValue>>, keyring: &Keyring<'_>) -> Option<Box<RawValue>> {
    let response = process::Data::from_raw(response?).ok()?;
    let struck = keyring.struck_output(response).await.ok()?;
    Some(struck.as_raw().to_owned())
}

/// Returns the result of the activity, without secrets in it. An output that is too large for the history
/// becomes an error.
pub(super) async fn called(
    result: Result<process::Data, Ended>,
    keyring: &Keyring<'_>,
) -> Result<Called, Failure> {
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
