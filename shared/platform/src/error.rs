//! The one error type.
//!
//! An [`Error`] carries two texts: a sentence for the caller, which says what to do and holds nothing
//! internal, and a cause for the log. It knows no HTTP until the edge asks for its [`status`](Error::status); a
//! worker asks [`is_transient`](Error::is_transient) instead, to choose between a retry and the dead-letter queue.

use std::error::Error as StdError;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, as a caller can tell it apart. The text of [`code`](Self::code) is part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request itself is wrong: malformed, a value of the wrong type, a rule broken.
    InvalidRequest,
    /// No credentials, or credentials that do not hold.
    Unauthenticated,
    /// Known caller, missing permission.
    Forbidden,
    /// No such resource for this caller, whether it exists for another one or not.
    NotFound,
    /// No such method on this path.
    MethodNotAllowed,
    /// The request took longer than it may.
    Timeout,
    /// The request contradicts the present state: a name taken, a constraint broken.
    Conflict,
    /// `If-Match` names a version that is not the current one.
    PreconditionFailed,
    /// The body is larger than the operation takes.
    PayloadTooLarge,
    /// The body is of a content type that the operation does not read.
    UnsupportedMediaType,
    /// Well-formed, but it cannot be carried out: values of an import that do not convert.
    Unprocessable,
    /// More requests than a limit allows.
    TooManyRequests,
    /// A fault of ours.
    Internal,
    /// A service behind us is away or busy; the same request may succeed later.
    Unavailable,
}

impl ErrorKind {
    /// The stable code of the error body's `error` field.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest | Self::MethodNotAllowed => "invalid_request",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::Conflict | Self::PreconditionFailed => "conflict",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::Unprocessable => "unprocessable",
            Self::TooManyRequests => "too_many_requests",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
        }
    }

    /// The HTTP status that stands for it.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::Conflict => 409,
            Self::PreconditionFailed => 412,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Unprocessable => 422,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    /// Every kind, for tables and tests.
    pub const ALL: [Self; 14] = [
        Self::InvalidRequest,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Timeout,
        Self::Conflict,
        Self::PreconditionFailed,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::Unprocessable,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];
}

/// A row of an import at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowError {
    /// Name of the table.
    pub table: String,
    /// Number of the row in the data of its table; the first row of data is 1.
    pub row: u64,
    /// Name of the column at fault, the first of its row; missing if it is not one column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Text of the value at fault, its first 100 characters; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong.
    pub reason: String,
}

/// Something in a document of the caller that keeps it from being taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// JSON pointer to the value at fault; empty for the whole document.
    pub pointer: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

/// A failed operation: a kind, a sentence for the caller and, for the log, the cause.
pub struct Error {
    kind: ErrorKind,
    message: String,
    details: Option<String>,
    row_errors: Box<[RowError]>,
    faults: Box<[Fault]>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    quotes_data: bool,
    retry_after_s: Option<u64>,
}

/// `Result` with the one [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` with a sentence for the caller.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: None,
            row_errors: Box::default(),
            faults: Box::default(),
            source: None,
            quotes_data: false,
            retry_after_s: None,
        }
    }

    /// 400: the request is wrong in the way that `message` says.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// 401: no credentials, or bad ones.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unauthenticated, message)
    }

    /// 403: the caller is known and may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    /// 404: "The `what` '`id`' does not exist." The same for what belongs to somebody else.
    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("The {what} '{id}' does not exist."))
    }

    /// 409: the request contradicts the present state.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// 422: understood, but it cannot be carried out.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unprocessable, message)
    }

    /// 429: more than a limit allows; the caller may come again after so many seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_s: u64) -> Self {
        Self {
            retry_after_s: Some(retry_after_s),
            ..Self::new(ErrorKind::TooManyRequests, message)
        }
    }

    /// 408: it took longer than it may.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Timeout, message)
    }

    /// 503: something behind us is away or busy, and `cause` says what for the log.
    pub fn unavailable(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            ErrorKind::Unavailable,
            "The service is busy; repeat the request in a moment.",
        )
        .with_source(cause)
    }

    /// 500: a fault of ours, and `cause` says which for the log. The caller learns nothing of it.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            ErrorKind::Internal,
            "The service failed on this request; the request id finds it in the log.",
        )
        .with_source(cause)
    }

    /// Adds more for the caller, beyond the one sentence.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Adds the rows at fault, for the caller.
    #[must_use]
    pub fn with_row_errors(mut self, errors: Vec<RowError>) -> Self {
        self.row_errors = errors.into_boxed_slice();
        self
    }

    /// Adds what is wrong in a document, for the caller.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults = faults.into_boxed_slice();
        self
    }

    /// Adds the cause for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that the texts quote data of the caller, so that the log leaves them out.
    #[must_use]
    pub fn quoting_data(mut self) -> Self {
        self.quotes_data = true;
        self
    }

    /// The seconds after which the caller may come again.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// More for the caller, where there is more.
    pub fn details(&self) -> Option<&str> {
        self.details.as_deref()
    }

    /// The rows at fault, where an import fails for their sake.
    pub fn row_errors(&self) -> &[RowError] {
        &self.row_errors
    }

    /// What is wrong in a document, where it is refused for that.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    /// Whether the same work may succeed later: a worker retries it, where any other error is final.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::Timeout
        )
    }
}

/// What a log says of it.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quotes_data {
            return write!(f, "{}, in words that quote data of the caller", self.kind.code());
        }
        write!(f, "{}", self.message)?;
        if let Some(details) = &self.details {
            write!(f, " ({details})")?;
        }
        let mut source: Option<&(dyn StdError + 'static)> = self.source.as_deref().map(|source| source as _);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            // One of ours has told its own causes, or keeps them back.
            source = cause.source().filter(|_| !cause.is::<Self>());
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_sentence_never_holds_the_cause() {
        let error = Error::internal("password=hunter2");
        assert!(!error.message().contains("hunter2"));
        assert!(error.to_string().contains("hunter2"));
    }

    #[test]
    fn what_quotes_data_is_for_the_caller_alone() {
        let error = Error::unprocessable("'hunter2' is no number")
            .with_details("hunter2")
            .with_source("hunter2")
            .quoting_data();
        assert!(error.message().contains("hunter2"));
        let logged = Error::conflict("x").with_source(error).to_string();
        assert!(
            !logged.contains("hunter2") && logged.contains("unprocessable"),
            "{logged}"
        );
    }

    #[test]
    fn only_faults_that_may_pass_are_retried() {
        let transient: Vec<_> = ErrorKind::ALL
            .into_iter()
            .filter(|kind| Error::new(*kind, "x").is_transient())
            .collect();
        assert_eq!(
            transient,
            [ErrorKind::Timeout, ErrorKind::Internal, ErrorKind::Unavailable]
        );
    }
}
