//! Where in a caller's statement something is wrong.

use std::error::Error as StdError;
use std::fmt;

use platform::Error;
use serde::{Deserialize, Serialize};

/// A place in a statement, both numbers from 1; columns count characters. An error about a statement carries it as its
/// source, where the place is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The place that an error is about.
    pub fn of(error: &Error) -> Option<Self> {
        StdError::source(error)?.downcast_ref().copied()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

impl StdError for Position {}
