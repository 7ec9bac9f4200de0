//! Defines the errors of a call.

use std::fmt;

use platform::{Error, ErrorKind};

use crate::answer::Usage;

/// Maximum length of a provider's sentence in an error, in characters.
const MAX_DETAIL_CHARS: usize = 500;

/// Kind of an error, for the calling code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The service has no model.
    NotConfigured,
    /// The call, or a pause within the answer, exceeded its time limit.
    Timeout,
    /// The provider temporarily accepts no more requests.
    Throttled,
    /// The provider failed, is unreachable, or closed the connection too early.
    Unavailable,
    /// The model or a content filter refused the request.
    Refused,
    /// The answer is not in the provider's format, or breaks the request's output schema.
    BadAnswer,
    /// The request is invalid, by the check here or by the provider's.
    BadRequest,
    /// The provider does not accept the service's credentials.
    Unauthorized,
}

impl ModelErrorKind {
    /// Returns the stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotConfigured => "not_configured",
            Self::Timeout => "timeout",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
            Self::BadAnswer => "bad_answer",
            Self::BadRequest => "bad_request",
            Self::Unauthorized => "unauthorized",
        }
    }
}

/// A failed call. Its printed form is safe to log: it quotes neither prompt, nor answer, nor provider.
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    detail: Option<String>,
    retry_after_ms: Option<u64>,
    usage: Usage,
}

impl ModelError {
    /// Creates an error with a message that must not quote data.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            retry_after_ms: None,
            usage: Usage::default(),
        }
    }

    /// Adds the provider's sentence, or the fault of an answer, cut to 500 characters. It is never printed.
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> Self {
        let detail = detail.trim();
        self.detail = match detail.char_indices().nth(MAX_DETAIL_CHARS) {
            None => (!detail.is_empty()).then(|| detail.to_owned()),
            Some((end, _)) => detail.get(..end).map(|start| format!("{start}…")),
        };
        self
    }

    /// Adds the pause that the provider requests.
    #[must_use]
    pub fn with_retry_after_ms(mut self, pause_ms: Option<u64>) -> Self {
        self.retry_after_ms = pause_ms;
        self
    }

    #[must_use]
    pub(crate) fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Returns a sentence without data.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the provider's sentence or the fault of the answer. Only for the caller: it may quote the
    /// prompt or the answer.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Returns the pause that the provider requests, in milliseconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.retry_after_ms
    }

    /// Returns the tokens that the failed call used.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ModelErrorKind::Timeout
                | ModelErrorKind::Throttled
                | ModelErrorKind::Unavailable
                | ModelErrorKind::Unauthorized
        )
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code(), self.message)
    }
}

impl std::error::Error for ModelError {}

/// Invalid credentials are a fault of the service, so the caller gets no details about them.
impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let kind = match error.kind {
            ModelErrorKind::Timeout => ErrorKind::Timeout,
            ModelErrorKind::Throttled | ModelErrorKind::Unavailable => ErrorKind::Unavailable,
            ModelErrorKind::Unauthorized => return Self::internal(error),
            ModelErrorKind::NotConfigured
            | ModelErrorKind::Refused
            | ModelErrorKind::BadAnswer
            | ModelErrorKind::BadRequest => ErrorKind::Unprocessable,
        };
        let told = Self::new(kind, error.message.clone());
        match &error.detail {
            Some(detail) => told.with_details(detail.clone()).quoting_data(),
            None => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_is_cut_and_never_printed() {
        let error = ModelError::new(ModelErrorKind::BadRequest, "The provider refused the request.")
            .with_detail(&format!("hunter2 {}", "é".repeat(600)));
        assert_eq!(error.detail().unwrap().chars().count(), 501);
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        let error = Error::from(error);
        assert!(error.details().unwrap().contains("hunter2"));
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn only_what_may_pass_is_repeated_by_a_worker() {
        for (kind, transient) in [
            (ModelErrorKind::NotConfigured, false),
            (ModelErrorKind::Timeout, true),
            (ModelErrorKind::Throttled, true),
            (ModelErrorKind::Unavailable, true),
            (ModelErrorKind::Refused, false),
            (ModelErrorKind::BadAnswer, false),
            (ModelErrorKind::BadRequest, false),
            (ModelErrorKind::Unauthorized, true),
        ] {
            let error = ModelError::new(kind, "x");
            assert_eq!(error.is_transient(), transient, "{kind:?}");
            assert_eq!(Error::from(error).is_transient(), transient, "{kind:?}");
        }
    }
}
