//! Why a template is not rendered.

use std::fmt;

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderErrorKind {
    /// The content is not a template of its language, or outside the part of it that is rendered.
    Template,
    /// The data lacks a value that the template needs, or has one of the wrong type.
    Data,
    /// The template takes more steps, output or depth than [limits](crate::limits) allow.
    Limit,
}

/// A template that is not rendered, and why. It quotes names of the template, and never the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// What kind of fault it is.
    pub kind: RenderErrorKind,
    /// Line of the content, from 1; `None` where the fault is of the whole.
    pub line: Option<usize>,
    /// The fault, without a full stop.
    pub reason: String,
}

impl RenderError {
    pub(crate) fn template(line: usize, reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Template,
            line: Some(line),
            reason: reason.into(),
        }
    }

    pub(crate) fn data(line: usize, reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Data,
            line: Some(line),
            reason: reason.into(),
        }
    }

    pub(crate) fn limit(reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Limit,
            line: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(
                f,
                "The template cannot be rendered: line {line}: {}.",
                self.reason
            ),
            None => write!(f, "The template cannot be rendered: {}.", self.reason),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<RenderError> for platform::Error {
    fn from(error: RenderError) -> Self {
        Self::invalid(error.to_string())
    }
}
