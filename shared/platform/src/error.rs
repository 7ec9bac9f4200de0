//! Defines the service's only error type.
//!
//! An [`Error`] carries two texts: a sentence for the caller, which says what to do and contains nothing
//! internal, and a cause for the log. It does not depend on HTTP until the edge reads its
//! [`status`](Error::status). A worker reads [`is_transient`](Error::is_transient) to choose between a retry
//! and the dead-letter queue. The log omits texts that quote a caller's data
//! ([`quoting_data`](Error::quoting_data)).

use std::error::Error as StdError;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of an error, as callers distinguish it. The text of [`code`](Self::code) is part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is wrong: malformed, a value of the wrong type, or a broken rule.
    InvalidRequest,
    /// Missing or invalid credentials.
    Unauthenticated,
    /// The caller is known but lacks the permission.
    Forbidden,
    /// The resource does not exist for this caller; it may exist for another one.
    NotFound,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The request exceeded its time limit.
    Timeout,
    /// The request contradicts the current state: a name is taken, a constraint is broken.
    Conflict,
    /// `If-Match` names a version that is not the current one.
    PreconditionFailed,
    /// The body exceeds the operation's size limit.
    PayloadTooLarge,
    /// The operation does not accept the body's content type.
    UnsupportedMediaType,
    /// Well-formed but not executable, such as an import with values that do not convert.
    Unprocessable,
    /// More requests than a limit allows.
    TooManyRequests,
    /// A fault of the service.
    Internal,
    /// A service that this one depends on is unavailable or busy; the same request may succeed later.
    Unavailable,
}

impl ErrorKind {
    /// Returns the stable code in the error body's `error` field.
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

/// Row that makes an import fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowError {
    /// Table name.
    pub table: String,
    /// Number of the row in the data of its table, counted from 1.
    pub row: u64,
    /// First faulty column of the row; missing if the fault is not in one column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// First 100 characters of the faulty value; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Description of the fault.
    pub reason: String,
}

/// Place in a text of the request. Line and column start at 1; a column counts characters. Small, because the
/// parsers of templates keep one in each frame of their recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Self = Self { line: 1, column: 1 };

    /// Moves the place behind a text that begins at it.
    pub fn advance(&mut self, text: &str) {
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        match text.rsplit_once('\n') {
            None => self.column = self.column.saturating_add(count(text)),
            Some((before, last)) => {
                let lines = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
                self.line = self.line.saturating_add(lines).saturating_add(1);
                self.column = count(last).saturating_add(1);
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Fault that makes the service refuse a document of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// JSON pointer to the faulty value; empty for the whole document.
    pub pointer: String,
    /// Description of the fault, and how to correct it.
    pub message: String,
}

pub struct Error {
    kind: ErrorKind,
    message: String,
    details: Option<Box<str>>,
    subject: Option<Box<Subject>>,
    row_errors: Box<[RowError]>,
    faults: Box<[Fault]>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    quotes_data: bool,
    retry_after_s: Option<u64>,
}

/// Part of the request that an error is about.
#[derive(Default)]
struct Subject {
    field: Option<String>,
    place: Option<Place>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: None,
            subject: None,
            row_errors: Box::default(),
            faults: Box::default(),
            source: None,
            quotes_data: false,
            retry_after_s: None,
        }
    }

    /// 400.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// 400: "The field '`field`' `fault`".
    pub fn invalid_field(field: &str, fault: impl fmt::Display) -> Self {
        Self::of_field(ErrorKind::InvalidRequest, field, fault)
    }

    /// An error about one field of the request: "The field '`field`' `fault`".
    pub fn of_field(kind: ErrorKind, field: &str, fault: impl fmt::Display) -> Self {
        Self::new(kind, format!("The field '{field}' {fault}")).about(field)
    }

    /// 401.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unauthenticated, message)
    }

    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    /// 404: "The `what` '`id`' does not exist." Also used for a resource of another tenant.
    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("The {what} '{id}' does not exist."))
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// 422: the request is well-formed but cannot be executed.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unprocessable, message)
    }

    /// 429: a limit is exceeded; the caller may retry after this many seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_s: u64) -> Self {
        Self {
            retry_after_s: Some(retry_after_s),
            ..Self::new(ErrorKind::TooManyRequests, message)
        }
    }

    /// 408.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Timeout, message)
    }

    /// 503: a service that this one depends on is unavailable or busy. `cause` goes to the log.
    pub fn unavailable(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            ErrorKind::Unavailable,
            "The service is busy; repeat the request in a moment.",
        )
        .with_source(cause)
    }

    /// 500: a fault of the service. `cause` goes to the log and is hidden from the caller.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(
            ErrorKind::Internal,
            "The service failed on this request; the request id finds it in the log.",
        )
        .with_source(cause)
    }

    /// Adds further information for the caller.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into().into_boxed_str());
        self
    }

    /// Adds the path of the faulty field in the request, such as `target.url` or `tags[1]`.
    #[must_use]
    pub fn about(mut self, field: impl Into<String>) -> Self {
        self.subject.get_or_insert_default().field = Some(field.into());
        self
    }

    /// Adds the place of the fault in the text that the caller sent, such as a statement, if it is known.
    #[must_use]
    pub fn at(mut self, place: impl Into<Option<Place>>) -> Self {
        self.subject.get_or_insert_default().place = place.into();
        self
    }

    /// Adds the faulty rows of an import, for the caller.
    #[must_use]
    pub fn with_row_errors(mut self, errors: Vec<RowError>) -> Self {
        self.row_errors = errors.into_boxed_slice();
        self
    }

    /// Adds the faults in a document, for the caller.
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

    /// Marks the texts as quoting the caller's data, so that the log omits them.
    #[must_use]
    pub fn quoting_data(mut self) -> Self {
        self.quotes_data = true;
        self
    }

    /// Returns the seconds after which the caller may retry.
    pub fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }

    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the sentence for the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns further information for the caller, if any.
    pub fn details(&self) -> Option<&str> {
        self.details.as_deref()
    }

    /// Returns the field of the request that is faulty, if it is one.
    pub fn field(&self) -> Option<&str> {
        self.subject.as_deref()?.field.as_deref()
    }

    /// Returns the place of the fault in a text of the request, if it is known.
    pub fn place(&self) -> Option<Place> {
        self.subject.as_deref()?.place
    }

    /// Returns the faulty rows of an import.
    pub fn row_errors(&self) -> &[RowError] {
        &self.row_errors
    }

    /// Returns the faults in a document.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    /// Whether a retry may succeed: a worker retries such work, and treats any other error as final. 429 is
    /// not among them, because no worker meets a limit of callers but by the API, whose 429 a run gets as
    /// 503.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::Timeout
        )
    }
}

/// Text for the log.
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
            // An `Error` prints its own causes, or omits them.
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
