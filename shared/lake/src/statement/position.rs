//! Locates an error in a caller's statement.

use std::error::Error as StdError;
use std::fmt;

use platform::Error;
use serde::{Deserialize, Serialize};

/// A position in a statement; line and column start at 1, and columns count characters. An error about a
/// statement has it as its source if the position is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// Returns the position in an error's source, if it has one.
    pub fn from_error(error: &Error) -> Option<Self> {
        StdError::source(error)?.downcast_ref().copied()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl StdError for Position {}
