//! Describes why a text is not a filter.

use std::fmt;

/// Reason why a text is not a filter, and advice for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Position of the error, in characters from 1.
    pub column: usize,
    pub message: String,
}

impl FilterError {
    pub(super) fn new(column: usize, message: impl Into<String>) -> Self {
        Self {
            column,
            message: message.into(),
        }
    }

    /// Returns the place in `text`, the filter that does not parse.
    pub fn place(&self, text: &str) -> platform::error::Place {
        let mut place = platform::error::Place::START;
        let before: String = text.chars().take(self.column.saturating_sub(1)).collect();
        place.advance(&before);
        place
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}
