//! Defines the errors of rendering.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderErrorKind {
    /// The content is no valid template of its language, or uses an unsupported part of it.
    Template,
    /// The data lacks a value that the template needs, or has a value of the wrong type.
    Data,
    /// The template exceeds the [limits](crate::limits) on steps, output or depth.
    Limit,
}

/// Why a template is not rendered. It quotes names of the template, and never the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    pub kind: RenderErrorKind,
    /// Line of the content, from 1; `None` where the fault concerns the whole.
    pub line: Option<usize>,
    /// Without a full stop.
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
