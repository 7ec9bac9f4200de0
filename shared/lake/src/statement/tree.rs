//! Parses a statement to the tree of `json_serialize_sql`.

use duckdb::Connection;
use platform::{Error, Result};
use serde_json::Value;

use crate::statement::messages;
use crate::statement::parameters::Rewritten;

/// Start of DuckDB's message for a PIVOT with parameters and without a list of values.
const PIVOT_WITH_PARAMETERS: &str =
    "PIVOT statements with pivot elements extracted from the data cannot have parameters";

pub(crate) struct Tree {
    pub(crate) value: Value,
    /// JSON text as DuckDB wrote it.
    pub(crate) text: String,
}

/// Parses `rewritten`, made from the caller's `original`. Returns None for a statement without a tree: no
/// SELECT, or a PIVOT without a list of values. Fails with 400 for a syntax error.
pub(crate) fn parse(connection: &Connection, original: &str, rewritten: &Rewritten) -> Result<Option<Tree>> {
    if let Some(position) = rewritten.sql.find('\0') {
        let sentence = "A NUL character (U+0000) is not allowed in a query; chr(0) gives one";
        return Err(messages::invalid_at(
            sentence,
            Some(position),
            original,
            rewritten,
        ));
    }
    let text: String = connection
        .query_row(
            "SELECT json_serialize_sql(?::VARCHAR)::VARCHAR",
            [&rewritten.sql],
            |row| row.get(0),
        )
        .map_err(|error| messages::made_error(&error))?;
    let value = read(&text)
        .or_else(|_| read(&finite(&text)))
        .map_err(|error| Error::invalid("The query cannot be read.").with_source(error))?;
    if value.get("error").and_then(Value::as_bool) != Some(true) {
        return Ok(Some(Tree { value, text }));
    }
    let message = value
        .get("error_message")
        .and_then(Value::as_str)
        .unwrap_or("it cannot be read");
    let is_refused = message.starts_with(PIVOT_WITH_PARAMETERS);
    if is_refused || value.get("error_type").and_then(Value::as_str) == Some("not implemented") {
        return Ok(None);
    }
    let position = value
        .get("position")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<usize>().ok());
    Err(messages::invalid_at(
        &messages::scrub(message),
        position,
        original,
        rewritten,
    ))
}

pub(crate) fn read(tree: &str) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_str(tree);
    // DuckDB refuses expressions deeper than 1,000, and the checking thread has enough stack for that.
    reader.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut reader)
}

/// Replaces NaN and infinities, which DuckDB writes as bare words, by null.
pub(crate) fn finite(json: &str) -> String {
    let mut finite = String::with_capacity(json.len());
    let (mut word, mut is_in_string, mut is_escaped) = (String::new(), false, false);
    let end_word = |word: &mut String, out: &mut String| {
        let unsigned = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        let is_number = !matches!(unsigned.as_str(), "nan" | "inf" | "infinity");
        out.push_str(if is_number { word } else { "null" });
        word.clear();
    };
    for c in json.chars() {
        if !is_in_string && (c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
            word.push(c);
            continue;
        }
        end_word(&mut word, &mut finite);
        finite.push(c);
        if is_escaped {
            is_escaped = false;
        } else if is_in_string && c == '\\' {
            is_escaped = true;
        } else if c == '"' {
            is_in_string = !is_in_string;
        }
    }
    end_word(&mut word, &mut finite);
    finite
}
