//! Defines the errors of rendering.

use std::fmt;

pub use platform::error::Place;

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
    /// `None` where the fault concerns the whole.
    pub place: Option<Place>,
    /// Without a full stop.
    pub reason: String,
}

impl RenderError {
    pub(crate) fn template(place: Place, reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Template,
            place: Some(place),
            reason: reason.into(),
        }
    }

    pub(crate) fn data(place: Place, reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Data,
            place: Some(place),
            reason: reason.into(),
        }
    }

    pub(crate) fn limit(reason: impl Into<String>) -> Self {
        Self {
            kind: RenderErrorKind::Limit,
            place: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "The template cannot be rendered: {place}: {}.", self.reason),
            None => write!(f, "The template cannot be rendered: {}.", self.reason),
        }
    }
}

impl std::error::Error for RenderError {}

impl From<RenderError> for platform::Error {
    fn from(error: RenderError) -> Self {
        Self::invalid(error.to_string()).at(error.place)
    }
}
