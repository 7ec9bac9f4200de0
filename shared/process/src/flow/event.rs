//! Whether an event is one that a task waits for.

use regex::{Regex, RegexBuilder};

/// Largest pattern once compiled, in bytes.
const MAX_COMPILED_BYTES: usize = 1_024 * 1_024;
/// Characters that make a text a regular expression. A dot alone does not: types of events have dots.
const SPECIAL: [char; 11] = ['*', '+', '?', '(', ')', '[', ']', '{', '}', '|', '^'];

/// Whether a text of a filter can be a pattern. The error is a sentence.
pub fn check_pattern(text: &str) -> Result<(), String> {
    pattern(text).map_or(Ok(()), |pattern| pattern.map(|_| ()))
}

/// The regular expression of a text that is one; it must match the whole value.
pub(crate) fn pattern(text: &str) -> Option<Result<Regex, String>> {
    if !text.contains(SPECIAL) && !text.contains(['\\', '$']) {
        return None;
    }
    let whole = RegexBuilder::new(&format!("^(?:{text})$"))
        .size_limit(MAX_COMPILED_BYTES)
        .build();
    Some(whole.map_err(|error| {
        let reason = error.to_string();
        let reason = reason
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        format!("The text is not a regular expression: {reason}.")
    }))
}
