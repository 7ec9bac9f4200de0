//! Classifies failed requests to Bedrock by the error of the SDK.

use std::error::Error;

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError as EventError;
use aws_smithy_types::event_stream::RawMessage;
use http_body_util::LengthLimitError;
use models::provider::Failure;
use models::{ModelError, ModelErrorKind};
use platform::Clock;
use platform::outbound::retry_after_ms;
use tracing::warn;

use super::limit::WrongType;

/// Maximum length of the causes of an error, in characters: a certificate may have thousands of names.
const MAX_CAUSE_CHARS: usize = 500;

pub(super) fn of_request<E>(error: SdkError<E, HttpResponse>, clock: &Clock) -> Failure
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    if let Some(raw) = error.raw_response()
        && !raw.status().is_success()
    {
        let retry_after = raw.headers().get("retry-after");
        let pause_ms = retry_after.and_then(|text| retry_after_ms(text, clock.now()));
        return of_code(raw.status().as_u16(), &error, pause_ms);
    }
    if let SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ConstructionFailure(_) =
        &error
    {
        let cause = causes(&error);
        warn!(cause, "the SDK got no answer of Bedrock");
    }
    match &error {
        _ if has::<WrongType>(&error) => {
            Failure::bad_answer("is of another content type; the operator checks the endpoint of AWS")
        }
        _ if has::<LengthLimitError>(&error) => Failure::too_long(),
        SdkError::ResponseError(_) if has::<hyper::Error>(&error) => Failure::broke_off(),
        SdkError::ResponseError(_) | SdkError::ServiceError(_) => {
            Failure::bad_answer("is not of Bedrock's form")
        }
        SdkError::TimeoutError(_) => Failure::unreachable(),
        SdkError::DispatchFailure(failure) if failure.is_timeout() || is_connect(&error) => {
            Failure::unreachable()
        }
        // The SDK does not classify a connection that was closed too early.
        SdkError::DispatchFailure(failure) if failure.is_io() || has::<hyper::Error>(&error) => {
            Failure::broke_off()
        }
        // Failed before anything was sent: no credentials, or no address.
        _ => Failure::unauthorized("the AWS SDK could not sign or address the request"),
    }
}

/// Classifies the error of an event. It has no status of its own, and the SDK keeps its name and message only
/// in its type.
pub(super) fn of_event(error: &SdkError<EventError, RawMessage>) -> Failure {
    let (status, code, sentence) = match error {
        SdkError::ServiceError(told) => match told.err() {
            EventError::ThrottlingException(told) => (429, "ThrottlingException", told.message()),
            EventError::ValidationException(told) => (400, "ValidationException", told.message()),
            EventError::ServiceUnavailableException(told) => {
                (503, "ServiceUnavailableException", told.message())
            }
            EventError::ModelStreamErrorException(told) => (424, "ModelStreamErrorException", told.message()),
            EventError::InternalServerException(told) => (500, "InternalServerException", told.message()),
            other => (500, other.code().unwrap_or_default(), other.message()),
        },
        _ if has::<LengthLimitError>(error) => return Failure::too_long(),
        _ if has::<aws_smithy_eventstream::error::Error>(error) => {
            return Failure::bad_answer("has an event that is not of Bedrock's form");
        }
        _ => return Failure::broke_off(),
    };
    Failure::of_status(status, Some(code), sentence.unwrap_or_default(), None)
}

/// Classifies by the status, except for names that are more specific.
fn of_code(status: u16, error: &impl ProvideErrorMetadata, pause_ms: Option<u64>) -> Failure {
    let code = error.code();
    let sentence = error.message().unwrap_or_default();
    match code {
        Some("ModelTimeoutException") => Failure {
            error: ModelError::new(
                ModelErrorKind::Timeout,
                "The model took longer than Bedrock allows. Ask for less.",
            ),
            passes: false,
        },
        Some("ExpiredTokenException" | "UnrecognizedClientException" | "InvalidSignatureException") => {
            Failure::of_status(401, code, sentence, pause_ms)
        }
        Some("ServiceQuotaExceededException") => Failure {
            passes: false,
            ..Failure::of_status(429, code, sentence, pause_ms)
        },
        Some("ThrottlingException") => Failure::of_status(429, code, sentence, pause_ms),
        _ => Failure::of_status(status, code, sentence, pause_ms),
    }
}

/// Joins the causes of an error for the log. Only for connection errors, which quote nothing of the request.
fn causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| (*cause).source());
    let message = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    message.chars().take(MAX_CAUSE_CHARS).collect()
}

/// Whether an error of this type is among the causes.
fn has<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |cause| (*cause).source()).any(|cause| cause.is::<T>())
}

fn is_connect(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |cause| (*cause).source())
        .filter_map(|cause| cause.downcast_ref::<hyper_util::client::legacy::Error>())
        .any(hyper_util::client::legacy::Error::is_connect)
}
