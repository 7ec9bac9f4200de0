//! Prints the command's results: text lines, or one JSON value for scripts.

use std::io::Write as _;

use platform::{Error, Result};
use serde::Serialize;

#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
}

impl Output {
    pub fn print(self, value: &impl Serialize, lines: &str) -> Result<()> {
        let text = if self.json {
            serde_json::to_string(value).map_err(Error::internal)?
        } else {
            lines.to_owned()
        };
        match writeln!(std::io::stdout(), "{text}") {
            // A reader such as `head` closes the pipe when it has enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(Error::internal),
        }
    }
}
