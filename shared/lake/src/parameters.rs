//! Parameters of a query: `{{name}}` stands for one value, and no value can change the statement.
//!
//! Each `{{name}}` outside of string literals, quoted identifiers and comments becomes a numbered parameter
//! of the prepared statement, to which the value is bound. `}}` and `{{` occur in SQL (`{'a': {'b': 1}}`), so
//! only the whole `{{name}}` counts.
//!
//! An array has no bindable form: it becomes one parameter per element. In `IN ({{name}})` the elements stand
//! side by side, and an empty array becomes a subquery without rows, for which `IN` is false and `NOT IN` is
//! true; anywhere else the array is a list value, `[…]`. An element NULL acts as in SQL: `x NOT IN (1, NULL)`
//! is never true.
//!
//! A number with a fraction becomes an exact decimal, as the same digits in SQL would be.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use platform::{Error, Result};
use serde_json::{Map, Number, Value};

use crate::position::Position;

/// The most elements that all arrays of a query hold together.
const MAX_VALUES: usize = 10_000;
/// The most digits of an exact decimal.
const MAX_DIGITS: usize = 38;

/// A statement with numbered parameters instead of `{{name}}`.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    /// The statement.
    pub(crate) sql: String,
    /// The value of `$1`, `$2` and so on.
    pub(crate) values: Vec<Scalar>,
    /// Places where the two texts part: (offset in `sql`, offset in the caller's text).
    offsets: Vec<(usize, usize)>,
}

/// A value that can be bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Double(f64),
    Text(String),
}

impl Rewritten {
    /// Line and column, both from 1, of the caller's text `original` at byte `offset` of the rewritten
    /// statement.
    pub(crate) fn position(&self, original: &str, offset: usize) -> (usize, usize) {
        let at = self
            .offsets
            .partition_point(|(rewritten, _)| *rewritten <= offset);
        let (rewritten, start) = at
            .checked_sub(1)
            .and_then(|at| self.offsets.get(at))
            .copied()
            .unwrap_or((0, 0));
        let end = self.offsets.get(at).map_or(original.len(), |(_, next)| *next);
        // The offsets come in pairs, before and after a parameter; whatever is in between is the parameter's
        // beginning.
        let is_in_parameter = at % 2 == 1;
        let target = if is_in_parameter {
            start
        } else {
            (start + (offset - rewritten)).min(end)
        };
        let before: String = original.bytes().take(target).map(char::from).collect();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = original
            .get(line_start..target)
            .map_or(target - line_start, |text| text.chars().count());
        (before.matches('\n').count() + 1, column + 1)
    }
}

/// The names of the parameters in `sql`, each once, in the order of their first use.
pub fn names(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in scan(sql) {
        if let Piece::Parameter { name, .. } = piece
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Replaces each `{{name}}` by parameters that carry its value; parameters that are given but not used are
/// ignored.
pub(crate) fn rewrite(sql: &str, params: &Map<String, Value>) -> Result<Rewritten> {
    rewrite_with(sql, |name, in_list, values| {
        let value = params.get(name).ok_or_else(|| {
            Error::invalid(format!(
                "The query uses the parameter '{name}', and 'params' holds no value for it."
            ))
        })?;
        replacement(name, value, in_list, values)
    })
}

/// Replaces each `{{name}}` by a parameter without a value, to check a statement that is not run.
pub(crate) fn rewrite_unbound(sql: &str) -> Result<Rewritten> {
    rewrite_with(sql, |name, _, values| scalar(name, &Value::Null, values))
}

/// Replaces each `{{name}}` by the word NULL, which fits everywhere: to check what DuckDB does not look at as long as the
/// type of a parameter is open.
pub(crate) fn rewrite_to_nulls(sql: &str) -> Result<Rewritten> {
    rewrite_with(sql, |_, _, _| Ok("NULL".to_owned()))
}

fn rewrite_with(
    sql: &str,
    mut replace: impl FnMut(&str, bool, &mut Vec<Scalar>) -> Result<String>,
) -> Result<Rewritten> {
    let mut rewritten = Rewritten {
        sql: String::with_capacity(sql.len() + 64),
        values: Vec::new(),
        offsets: Vec::new(),
    };
    // What a name was replaced by, for its second use in the same place; so that one name is one parameter.
    let mut known: HashMap<(&str, bool), String> = HashMap::new();
    for piece in scan(sql) {
        match piece {
            Piece::Text(text) => rewritten.sql.push_str(text),
            Piece::Placeholder { offset } => {
                let (line, column) = rewritten.position(sql, offset);
                return Err(Error::invalid(format!(
                    "Line {line}, column {column}: parameters are written as {{{{name}}}}, not with '$' or '?'."
                ))
                .with_source(Position { line, column }));
            }
            Piece::Parameter {
                name,
                offset,
                alone_after_in,
            } => {
                let replacement = match known.entry((name, alone_after_in)) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        entry.insert(replace(name, alone_after_in, &mut rewritten.values)?)
                    }
                };
                rewritten.offsets.push((rewritten.sql.len(), offset));
                rewritten.sql.push_str(replacement);
                rewritten
                    .offsets
                    .push((rewritten.sql.len(), offset + name.len() + "{{}}".len()));
            }
        }
    }
    Ok(rewritten)
}

fn replacement(name: &str, value: &Value, in_list: bool, values: &mut Vec<Scalar>) -> Result<String> {
    let Value::Array(elements) = value else {
        return scalar(name, value, values);
    };
    if values.len() + elements.len() > MAX_VALUES {
        return Err(Error::invalid(format!(
            "The arrays in 'params' hold more than {MAX_VALUES} elements in all."
        )));
    }
    let elements = elements
        .iter()
        .map(|element| scalar(name, element, values))
        .collect::<Result<Vec<_>>>()?;
    Ok(match (in_list, elements.is_empty()) {
        (true, true) => "SELECT NULL WHERE false".to_owned(),
        (true, false) => elements.join(", "),
        (false, _) => format!("[{}]", elements.join(", ")),
    })
}

fn scalar(name: &str, value: &Value, values: &mut Vec<Scalar>) -> Result<String> {
    let number = values.len() + 1;
    let (scalar, sql) = match value {
        Value::Null => (Scalar::Null, format!("${number}")),
        Value::Bool(value) => (Scalar::Boolean(*value), format!("${number}")),
        Value::String(value) => (Scalar::Text(value.clone()), format!("${number}")),
        Value::Number(value) => number_scalar(value, number),
        Value::Array(_) | Value::Object(_) => {
            return Err(Error::invalid(format!(
                "The parameter '{name}' must be a string, a number, a boolean, null, or an array of those."
            )));
        }
    };
    values.push(scalar);
    Ok(sql)
}

fn number_scalar(value: &Number, number: usize) -> (Scalar, String) {
    let plain = format!("${number}");
    if let Some(signed) = value.as_i64() {
        return (Scalar::Signed(signed), plain);
    }
    if let Some(unsigned) = value.as_u64() {
        return (Scalar::Unsigned(unsigned), plain);
    }
    let text = value.to_string();
    let unsigned = text.strip_prefix('-').unwrap_or(&text);
    match unsigned.split_once('.') {
        Some((whole, fraction))
            if unsigned.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                && whole.len() + fraction.len() <= MAX_DIGITS =>
        {
            let (precision, scale) = (whole.len() + fraction.len(), fraction.len());
            (
                Scalar::Text(text),
                format!("CAST(${number} AS DECIMAL({precision},{scale}))"),
            )
        }
        _ => (Scalar::Double(value.as_f64().unwrap_or(f64::NAN)), plain),
    }
}

/// A part of a statement.
#[derive(Debug, PartialEq)]
enum Piece<'a> {
    /// Copied as it is.
    Text(&'a str),
    /// A `{{name}}` at byte `offset`; `alone_after_in` where it is all that stands between the parentheses of
    /// an `IN`.
    Parameter {
        name: &'a str,
        offset: usize,
        alone_after_in: bool,
    },
    /// A `$name`, `$1` or `?` of the caller's own.
    Placeholder { offset: usize },
}

/// Cuts `sql` at its parameters. Follows DuckDB's lexer in what is a literal, a quoted identifier or a
/// comment.
fn scan(sql: &str) -> Vec<Piece<'_>> {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let (mut copied, mut at) = (0, 0);
    // The text of the statement without comments and white space, as far as `IN (` needs it: the last tokens.
    let mut last_tokens = String::new();
    while let Some(&byte) = bytes.get(at) {
        let rest = sql.get(at..).unwrap_or("");
        if let Some(end) = quoted_end(sql, at) {
            last_tokens.push('\'');
            at = end;
        } else if let Some(end) = comment_end(sql, at) {
            last_tokens.push(' ');
            at = end;
        } else if let Some(name) = placeholder_name(rest) {
            let end = at + name.len() + "{{}}".len();
            let alone_after_in = ends_with_in_parenthesis(&last_tokens) && next_token_closes(sql, end);
            push_text(&mut pieces, sql, copied, at);
            pieces.push(Piece::Parameter {
                name,
                offset: at,
                alone_after_in,
            });
            last_tokens.push('$');
            at = end;
            copied = end;
        } else if byte == b'?' || (byte == b'$' && starts_parameter(rest, bytes.get(at.wrapping_sub(1)))) {
            push_text(&mut pieces, sql, copied, at);
            pieces.push(Piece::Placeholder { offset: at });
            copied = at;
            at += 1;
        } else {
            let width = rest.chars().next().map_or(1, char::len_utf8);
            last_tokens.push_str(rest.get(..width).unwrap_or(" "));
            at += width;
        }
    }
    push_text(&mut pieces, sql, copied, at);
    pieces
}

fn push_text<'a>(pieces: &mut Vec<Piece<'a>>, sql: &'a str, from: usize, to: usize) {
    if let Some(text) = sql.get(from..to)
        && !text.is_empty()
    {
        pieces.push(Piece::Text(text));
    }
}

/// The name in a `{{name}}` with which `rest` begins.
fn placeholder_name(rest: &str) -> Option<&str> {
    let inner = rest.strip_prefix("{{")?;
    let name = inner.get(..inner.find("}}")?)?;
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (starts_well && name.bytes().all(is_word)).then_some(name)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a `$` begins a parameter rather than being a later letter of an identifier.
fn starts_parameter(rest: &str, before: Option<&u8>) -> bool {
    rest.as_bytes().get(1).is_some_and(|next| is_word(*next))
        && !before.is_some_and(|byte| continues_word(*byte))
}

fn continues_word(byte: u8) -> bool {
    is_word(byte) || byte == b'$' || !byte.is_ascii()
}

fn ends_with_in_parenthesis(tokens: &str) -> bool {
    let Some(before) = tokens.trim_end().strip_suffix('(') else {
        return false;
    };
    let before = before.trim_end();
    let Some(start) = before.len().checked_sub(2) else {
        return false;
    };
    before
        .get(start..)
        .is_some_and(|word| word.eq_ignore_ascii_case("in"))
        && !before
            .get(..start)
            .is_some_and(|text| text.bytes().last().is_some_and(continues_word))
}

/// Whether the next token from byte `at` on is a closing parenthesis.
fn next_token_closes(sql: &str, mut at: usize) -> bool {
    loop {
        let rest = sql.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        match comment_end(sql, at) {
            Some(end) => at = end,
            None => return trimmed.starts_with(')'),
        }
    }
}

/// The end of the comment that begins at byte `at`.
fn comment_end(sql: &str, at: usize) -> Option<usize> {
    let rest = sql.get(at..)?;
    if rest.starts_with("--") {
        return Some(rest.find(['\n', '\r']).map_or(sql.len(), |newline| at + newline));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut end) = (0_usize, 0);
    while let Some(inner) = rest.get(end..) {
        if inner.starts_with("/*") {
            depth += 1;
            end += 2;
        } else if inner.starts_with("*/") {
            depth -= 1;
            end += 2;
            if depth == 0 {
                return Some(at + end);
            }
        } else {
            let Some(next) = inner.chars().next() else { break };
            end += next.len_utf8();
        }
    }
    Some(sql.len())
}

/// The end of the string literal or quoted identifier that begins at byte `at`.
fn quoted_end(sql: &str, at: usize) -> Option<usize> {
    let bytes = sql.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
    let after_word = before.is_some_and(continues_word);
    match bytes.get(at)? {
        quote @ (b'\'' | b'"') => Some(doubled_end(bytes, at + 1, *quote, false)),
        b'e' | b'E' if !after_word && bytes.get(at + 1) == Some(&b'\'') => {
            Some(doubled_end(bytes, at + 2, b'\'', true))
        }
        b'$' if !after_word => {
            let rest = sql.get(at..)?;
            let tag_end = rest.get(1..)?.find(|letter: char| {
                !(letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii())
            })? + 1;
            let starts_with_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            if rest.as_bytes().get(tag_end) != Some(&b'$') || starts_with_digit {
                return None;
            }
            let (tag, body) = rest.split_at(tag_end + 1);
            Some(
                body.find(tag)
                    .map_or(sql.len(), |end| at + tag.len() + end + tag.len()),
            )
        }
        _ => None,
    }
}

/// The end of a text that `quote` closes and in which `quote` is written twice, and after `\` if `escapes`.
fn doubled_end(bytes: &[u8], mut at: usize, quote: u8, escapes: bool) -> usize {
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if escapes && byte == b'\\' {
            at += 1;
        } else if byte == quote {
            if bytes.get(at) != Some(&quote) {
                return at;
            }
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
