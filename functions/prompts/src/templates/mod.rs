//! The template languages.

mod handlebars;
mod jst;

use platform::records::prompts::ContentType;
use platform::{Error, Result};

/// Refuses content with a syntax error: 400 with its line and column, both counted from 1.
pub fn check(content_type: ContentType, content: &str) -> Result<()> {
    let (language, checked) = match content_type {
        ContentType::Handlebars => ("Handlebars", handlebars::check(content)),
        ContentType::Jst => ("JavaScript", jst::check(content)),
        ContentType::Text => return Ok(()),
    };
    checked.map_err(|error| {
        Error::invalid(format!(
            "The content is not a valid {language} template at line {}, column {}: {}.",
            error.line, error.column, error.reason
        ))
    })
}

/// Where a template is wrong, and how.
#[derive(Debug, PartialEq)]
pub struct SyntaxError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Without a full stop.
    pub reason: String,
}
