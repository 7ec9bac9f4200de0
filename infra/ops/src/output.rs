//! What the command prints: lines for people, or one JSON value for scripts.

use std::io::Write as _;

use platform::{Error, Result};
use serde::Serialize;

/// How to print.
#[derive(Clone, Copy)]
pub struct Output {
    /// JSON instead of lines.
    pub json: bool,
}

impl Output {
    /// Prints `value` as JSON, or `lines`.
    pub fn print(self, value: &impl Serialize, lines: &str) -> Result<()> {
        let text = if self.json {
            serde_json::to_string(value).map_err(Error::internal)?
        } else {
            lines.to_owned()
        };
        match writeln!(std::io::stdout(), "{text}") {
            // A reader such as `head` has what it wants.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(Error::internal),
        }
    }
}
