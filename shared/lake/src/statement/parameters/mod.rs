//! Replaces the parameters of a query: `{{name}}` stands for one value, and no value can change the
//! statement.
//!
//! Each `{{name}}` outside of string literals, quoted identifiers and comments becomes a numbered parameter
//! of the prepared statement, to which the value is bound. `}}` and `{{` occur in SQL (`{'a': {'b': 1}}`), so
//! only the whole `{{name}}` counts.
//!
//! An array has no bindable form, so it becomes one parameter per element. In `IN ({{name}})` the elements
//! are listed side by side, and an empty array becomes a subquery without rows, for which `IN` is false and
//! `NOT IN` is true; anywhere else the array is a list value, `[…]`. A NULL element acts as in SQL: `x NOT IN
//! (1, NULL)` is never true.
//!
//! A number with a fraction, or of more than 64 bits, becomes an exact decimal, like the same digits in SQL.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use platform::{Error, Result, error};
use serde_json::{Map, Number, Value};

use crate::statement::scanner::{Piece, Place, is_word_part, parameter_end, scan};

/// Most elements of all arrays of a query together.
const MAX_VALUES: usize = 10_000;
/// Most digits of an exact decimal.
const MAX_DIGITS: usize = 38;

/// A statement with numbered parameters instead of `{{name}}`.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    pub(crate) sql: String,
    /// Values of `$1`, `$2` and so on.
    pub(crate) values: Vec<Scalar>,
    /// Names of the parameters that these values belong to.
    pub(crate) names: Vec<String>,
    /// Positions where the two texts differ: (offset in `sql`, offset in the caller's text).
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
    /// Wraps a statement of the platform itself: its positions have no meaning for the caller.
    pub(crate) fn own(sql: String) -> Self {
        Self {
            sql,
            values: Vec::new(),
            names: Vec::new(),
            offsets: Vec::new(),
        }
    }

    /// Replaces byte ranges, which must be sorted and contain parameters only as a whole. The new text gets
    /// the position of the start of the old text.
    pub(crate) fn edited(&self, edits: &[(Range<usize>, String)]) -> Self {
        let mut edited = Self {
            sql: String::with_capacity(self.sql.len() + 64),
            values: self.values.clone(),
            names: self.names.clone(),
            offsets: Vec::new(),
        };
        let mut offsets = self.offsets.iter().copied().peekable();
        let mut copied = 0;
        for (range, text) in edits {
            while let Some((at, original)) = offsets.next_if(|(at, _)| *at <= range.start) {
                edited.offsets.push((edited.sql.len() + at - copied, original));
            }
            edited
                .sql
                .push_str(self.sql.get(copied..range.start).unwrap_or_default());
            edited
                .offsets
                .push((edited.sql.len(), self.in_original(range.start)));
            edited.sql.push_str(text);
            edited
                .offsets
                .push((edited.sql.len(), self.in_original(range.end)));
            while offsets.next_if(|(at, _)| *at < range.end).is_some() {}
            copied = range.end;
        }
        for (at, original) in offsets {
            edited.offsets.push((edited.sql.len() + at - copied, original));
        }
        edited.sql.push_str(self.sql.get(copied..).unwrap_or_default());
        edited
    }

    /// Returns the part of the statement in `range`, preceded by white space that preserves its positions.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let text = self.sql.get(range.clone()).unwrap_or_default();
        Self {
            sql: " ".repeat(range.start) + text,
            values: self.values.clone(),
            names: self.names.clone(),
            offsets: self.offsets.clone(),
        }
    }

    /// Returns the place in the caller's text `original` of byte `offset` of the rewritten statement.
    pub(crate) fn place(&self, original: &str, offset: usize) -> error::Place {
        let target = self.in_original(offset);
        let before = original.as_bytes().get(..target).unwrap_or(original.as_bytes());
        let mut place = error::Place::START;
        place.advance(&String::from_utf8_lossy(before));
        place
    }

    /// Writes the caller's names in place of `$1`, `$2` and so on in a sentence of DuckDB.
    pub(crate) fn named(&self, sentence: &str) -> String {
        let mut parts = sentence.split('$');
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = part.split_at(digits);
            let number = number
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1));
            match number.and_then(|number| self.names.get(number)) {
                Some(name) => named += &format!("{{{{{name}}}}}{rest}"),
                None => named += &format!("${part}"),
            }
        }
        named
    }

    /// Returns the byte offset in the caller's text for byte `offset` of the rewritten statement.
    fn in_original(&self, offset: usize) -> usize {
        let at = self
            .offsets
            .partition_point(|(rewritten, _)| *rewritten <= offset);
        let (rewritten, start) = at
            .checked_sub(1)
            .and_then(|at| self.offsets.get(at))
            .copied()
            .unwrap_or((0, 0));
        let end = self.offsets.get(at).map_or(usize::MAX, |(_, next)| *next);
        // Offsets come in pairs, before and after a parameter; an offset inside a pair maps to the
        // parameter's start.
        let is_in_parameter = at % 2 == 1;
        match is_in_parameter {
            true => start,
            false => (start + (offset - rewritten)).min(end),
        }
    }
}

/// Returns the names of the parameters in `sql`, each once, in the order of first use.
pub fn names(sql: &str) -> Vec<String> {
    let mut unique = HashSet::new();
    let names = scan(sql).into_iter().filter_map(|piece| match piece {
        Piece::Parameter { name, .. } if unique.insert(name) => Some(name.to_owned()),
        _ => None,
    });
    names.collect()
}

/// Replaces each `{{name}}` by parameters with its value; unused values are ignored.
pub(crate) fn rewrite(sql: &str, params: &Map<String, Value>) -> Result<Rewritten> {
    rewrite_with(sql, |name, place, values| {
        let value = params.get(name).ok_or_else(|| {
            Error::invalid(format!(
                "The query uses the parameter '{name}', and 'params' holds no value for it."
            ))
        })?;
        if place == Place::AfterLimit && !is_count(value) {
            return Err(Error::invalid(format!(
                "The parameter '{name}' stands after LIMIT or OFFSET and must be a whole number of rows, such as 10."
            )));
        }
        replacement(name, value, place, values)
    })
}

/// Replaces each `{{name}}` by a parameter without a value, to check a statement that is not run.
pub(crate) fn rewrite_unbound(sql: &str) -> Result<Rewritten> {
    rewrite_with(sql, |name, _, values| scalar(name, &Value::Null, values))
}

/// Replaces each `{{name}}` by the word NULL, which has any type. DuckDB skips parts of its checks while the
/// type of a parameter is unknown.
pub(crate) fn rewrite_to_nulls(sql: &str) -> Result<Rewritten> {
    rewrite_with(sql, |_, _, _| Ok("NULL".to_owned()))
}

fn rewrite_with(
    sql: &str,
    mut replace: impl FnMut(&str, Place, &mut Vec<Scalar>) -> Result<String>,
) -> Result<Rewritten> {
    let mut rewritten = Rewritten {
        sql: String::with_capacity(sql.len() + 64),
        values: Vec::new(),
        names: Vec::new(),
        offsets: Vec::new(),
    };
    // The replacement of each name by kind of place, so that its second use shares the parameter.
    let mut replacements: HashMap<(&str, Place), String> = HashMap::new();
    for piece in scan(sql) {
        match piece {
            Piece::Text(text) => rewritten.sql.push_str(text),
            // Replaced by as many spaces as it has bytes, so that positions stay.
            Piece::Space(text) => rewritten.sql.extend(text.bytes().map(|_| ' ')),
            Piece::Placeholder { offset } => {
                let place = rewritten.place(sql, offset);
                return Err(Error::invalid(format!(
                    "Line {}, column {}: parameters are written as {{{{name}}}}, not with '$' or '?'.",
                    place.line, place.column
                ))
                .at(place));
            }
            Piece::Parameter { name, offset, place } => {
                let replacement = match replacements.entry((name, place)) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => entry.insert(replace(name, place, &mut rewritten.values)?),
                };
                rewritten.offsets.push((rewritten.sql.len(), offset));
                // A parameter must be its own token: `$1` would join the word before it, or become `$12` with
                // a digit after it.
                if rewritten.sql.chars().last().is_some_and(is_word_part) {
                    rewritten.sql.push(' ');
                }
                rewritten.sql.push_str(replacement);
                rewritten.names.resize(rewritten.values.len(), name.to_owned());
                let end = parameter_end(sql, offset);
                let next = sql.get(end..).and_then(|rest| rest.chars().next());
                if next.is_some_and(is_word_part) {
                    rewritten.sql.push(' ');
                }
                rewritten.offsets.push((rewritten.sql.len(), end));
            }
        }
    }
    Ok(rewritten)
}

/// Returns whether a value is a number of rows. DuckDB would round 1.6, and read the text '0x1'.
fn is_count(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.is_u64(),
        Value::String(text) => !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn replacement(name: &str, value: &Value, place: Place, values: &mut Vec<Scalar>) -> Result<String> {
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
    Ok(match (place == Place::AloneAfterIn, elements.is_empty()) {
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
    let double = value.as_f64().unwrap_or(f64::NAN);
    let text = match value.to_string() {
        // It may have been sent without an exponent, and got one.
        text if text.contains('e') && double.fract() == 0.0 => double.to_string(),
        text => text,
    };
    let unsigned = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let (precision, scale) = (whole.len() + fraction.len(), fraction.len());
    let is_plain = unsigned.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_plain && precision <= MAX_DIGITS {
        let cast = format!("CAST(${number} AS DECIMAL({precision},{scale}))");
        return (Scalar::Text(text), cast);
    }
    (Scalar::Double(double), plain)
}

#[cfg(test)]
mod tests;
