//! Checks whether content is a valid template of its language.

mod handlebars;
mod jst;
mod pieces;

use platform::records::prompts::ContentType;

#[cfg(fuzzing)]
pub use handlebars::verdicts as handlebars_verdicts;

/// Maximum size of content that is parsed, in bytes.
pub const MAX_BYTES: usize = crate::limits::MAX_CONTENT_BYTES;

/// Fails for content with a syntax error, with a sentence that has its line and column, both from 1.
pub fn check(content_type: ContentType, content: &str) -> Result<(), String> {
    let (language, checked) = match content_type {
        ContentType::Handlebars => ("Handlebars", bounded(content).and_then(handlebars::check)),
        ContentType::Jst => ("JavaScript", bounded(content).and_then(jst::check)),
        ContentType::Text => return Ok(()),
    };
    checked.map_err(|error| {
        format!(
            "The content is not a valid {language} template at line {}, column {}: {}.",
            error.line, error.column, error.reason
        )
    })
}

fn bounded(content: &str) -> Result<&str, SyntaxError> {
    match content.len() > MAX_BYTES {
        true => Err(SyntaxError::at(
            content,
            MAX_BYTES,
            format!("a template that is parsed has at most {MAX_BYTES} bytes"),
        )),
        false => Ok(content),
    }
}

/// Position and description of a syntax error.
#[derive(Debug, PartialEq)]
pub struct SyntaxError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Without a full stop.
    pub reason: String,
}

impl SyntaxError {
    /// Builds the error at a byte offset of the content; an offset inside a character counts as its first
    /// byte.
    fn at(content: &str, offset: usize, reason: String) -> Self {
        let before = content
            .get(..content.floor_char_boundary(offset))
            .unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_contents_are_refused_where_they_are_parsed() {
        for content_type in [ContentType::Handlebars, ContentType::Jst] {
            assert_eq!(check(content_type, &"x".repeat(MAX_BYTES)), Ok(()));
            let refusal = check(content_type, &"é".repeat(MAX_BYTES / 2 + 1)).unwrap_err();
            assert!(refusal.contains("at most 65536 bytes"), "{refusal}");
        }
        assert_eq!(check(ContentType::Text, &"x".repeat(MAX_BYTES + 1)), Ok(()));
    }
}
