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

/// Stack of the thread that parses. Both parsers work by recursion, a few bytes of content a level; this is enough for the
/// longest content that nests with every byte. It is address space, not memory, until it is used.
const STACK_BYTES: usize = 512 * 1_024 * 1_024;

/// Runs a parser where nesting cannot overflow the stack.
fn on_deep_stack(parse: impl FnOnce() -> Result<(), SyntaxError> + Send) -> Result<(), SyntaxError> {
    let unparsed = || SyntaxError {
        line: 1,
        column: 1,
        reason: "it could not be parsed".to_owned(),
    };
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, parse);
        parser.map_err(|_| unparsed())?.join().map_err(|_| unparsed())?
    })
}
