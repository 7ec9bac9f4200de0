//! Defines why a task, or the whole process, does not complete.

use process::Data;
use process::expression::ExpressionFailure;
use process::flow::{Kind, ProcessError};
use workflow::{Context, Failure, Payload};

#[derive(Debug)]
pub(super) enum Fault {
    /// Error that a `catch` may handle.
    Error(Box<ProcessError>),
    /// Error that ends the process: no `catch` handles it.
    Final(Box<ProcessError>),
    /// The run is cancelled.
    Canceled,
}

impl Fault {
    /// Builds a standard error of the task at `pointer`.
    pub fn error(kind: Kind, detail: impl Into<String>, pointer: &str) -> Self {
        Self::Error(Box::new(ProcessError::new(kind, detail, pointer)))
    }

    /// Builds the error of the task at `pointer` for an expression without a result.
    pub fn no_result(failure: &ExpressionFailure, pointer: &str) -> Self {
        Self::Error(Box::new(ProcessError::of_failure(failure, pointer)))
    }

    /// Converts a failure of the engine, of an activity or of a child run to a fault of the task at
    /// `pointer`.
    pub fn from_failure(failure: &Failure, context: &Context, pointer: &str) -> Self {
        if failure.is_canceled() && context.is_canceled() {
            return Self::Canceled;
        }
        let details = failure.details.as_ref();
        let details = details.and_then(|details| Data::parse(details.json()).ok());
        // A child process fails with its error object.
        if let Some(Ok(mut error)) = details.map(|details| ProcessError::raised(&details, pointer))
            && error.kind == failure.kind
        {
            pointer.clone_into(&mut error.instance);
            return Self::Error(Box::new(error));
        }
        Self::error(Kind::Runtime, failure.message.clone(), pointer)
    }

    /// Converts it to the failure of the run.
    pub fn into_failure(self) -> Failure {
        let error = match self {
            Self::Canceled => return Failure::canceled(),
            Self::Error(error) | Self::Final(error) => error,
        };
        let message = match (&error.title, &error.detail) {
            (Some(title), Some(detail)) => format!("{title}: {detail}"),
            (Some(text), None) | (None, Some(text)) => text.clone(),
            (None, None) => format!("The process ends with the error {}.", error.kind),
        };
        let failure = Failure::permanent(error.kind.clone(), message);
        match Payload::from_value(error.to_data().as_raw()) {
            Ok(details) => failure.with_details(details),
            Err(_) => failure,
        }
    }
}
