//! Converts DuckDB's errors to errors for the caller.
//!
//! An error about the caller's SQL keeps DuckDB's own sentence, with line and column. Paths, settings and
//! memory are never shown.

use duckdb::Error as DuckError;
use platform::{Error, ErrorKind};
use serde::Deserialize;

use crate::statement::parameters::Rewritten;

/// Longest message shown to a caller, in characters.
const MAX_LENGTH: usize = 1_000;

/// Kinds of DuckDB's errors that concern the statement or its values.
const ABOUT_THE_STATEMENT: [&str; 16] = [
    "Binder Error",
    "Catalog Error",
    "Constraint Error",
    "Conversion Error",
    "Decimal Error",
    "Divide by Zero Error",
    "Expression Error",
    "Invalid Input Error",
    "Mismatch Type Error",
    "Not implemented Error",
    "Out of Range Error",
    "Parameter Not Allowed Error",
    "Parameter Not Resolved Error",
    "Parser Error",
    "Syntax Error",
    "Invalid type Error",
];

/// Kinds for a value that its target type cannot hold: the statement is well-formed and cannot be carried
/// out, so 422.
const ABOUT_A_VALUE: [&str; 2] = ["Conversion Error", "Out of Range Error"];

/// Cause of an error, according to DuckDB's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The statement or a value in it.
    Statement,
    /// More memory or temporary space than allowed.
    Memory,
    /// Interrupted from outside.
    Interrupted,
    /// Access to something outside of the fence.
    Fence,
    /// An assertion in DuckDB failed; the database may be unusable.
    Fault,
    /// Anything else: files, bugs.
    Internal,
}

/// Returns the kind at the start of an error text about a statement. The rest of the text can contain values
/// of a row.
pub(crate) fn kind(text: &str) -> Option<&'static str> {
    ABOUT_THE_STATEMENT
        .into_iter()
        .find(|kind| text.starts_with(kind))
}

/// An error of DuckDB under the setting `errors_as_json`.
#[derive(Deserialize)]
struct Described {
    exception_type: String,
    exception_message: String,
    /// Byte offset in the statement, in digits.
    position: Option<String>,
    /// Of an error in DuckDB itself.
    stack_trace: Option<String>,
}

/// Returns the text of DuckDB's error: its kind, and its sentence.
pub(crate) fn text(error: &DuckError) -> String {
    text_and_position(error).0
}

/// Also returns the byte offset in the statement, if DuckDB names one.
fn text_and_position(error: &DuckError) -> (String, Option<usize>) {
    let DuckError::DuckDBFailure(_, Some(text)) = error else {
        return (error.to_string(), None);
    };
    // Where the driver splits a text into statements, DuckDB wraps the JSON of a syntax error again.
    match serde_json::from_str(text.strip_prefix("Parser Error: ").unwrap_or(text)) {
        Ok(Described {
            exception_type,
            exception_message,
            position,
            stack_trace,
        }) => {
            let trace = stack_trace.map_or_else(String::new, |trace| format!("\n{trace}"));
            (
                format!("{exception_type} Error: {exception_message}{trace}"),
                position.and_then(|digits| digits.parse().ok()),
            )
        }
        // Errors of the driver are no JSON.
        Err(_) => (text.clone(), None),
    }
}

/// Returns the cause of an error, from its text.
pub(crate) fn cause(text: &str) -> Cause {
    // Tested first, because such a text can contain any words of the caller.
    if ABOUT_THE_STATEMENT.iter().any(|kind| text.starts_with(kind)) {
        Cause::Statement
    } else if text.starts_with("Out of Memory Error")
        || text.contains("std::bad_alloc")
        || text.contains("Allocation failure")
    {
        Cause::Memory
    } else if text.starts_with("INTERRUPT Error") {
        Cause::Interrupted
    } else if text.starts_with("Permission Error") {
        Cause::Fence
    } else if text.starts_with("INTERNAL Error") || text.starts_with("FATAL Error") {
        Cause::Fault
    } else {
        Cause::Internal
    }
}

/// Returns whether the driver cannot read a result because of its type, such as VARIANT or TYPE.
pub(crate) fn has_no_form(error: &DuckError) -> bool {
    let text = text(error);
    matches!(error, DuckError::FromSqlConversionFailure(..))
        || (text.contains("Unsupported Arrow type") && cause(&text) != Cause::Statement)
}

/// Returns the error of `rewritten` for its caller: 422 for memory, 408 for an interruption.
pub(crate) fn caller_error(error: &DuckError, original: &str, rewritten: &Rewritten) -> Error {
    let (text, position) = text_and_position(error);
    error_of(error, text, |status, sentence| {
        error_at(status, sentence, position, original, rewritten)
    })
}

/// Returns the error of another statement for the caller; a place in it would say nothing.
pub(crate) fn made_error(error: &DuckError) -> Error {
    error_of(error, text(error), |status, sentence| {
        Error::new(status, closed(sentence))
    })
}

/// `about_statement` makes an error about the statement, from its sentence.
fn error_of(error: &DuckError, text: String, about_statement: impl Fn(ErrorKind, &str) -> Error) -> Error {
    if has_no_form(error) {
        return Error::unprocessable(
            "The query returns a column of a type that has no JSON form; cast it to VARCHAR.",
        )
        .with_source(text);
    }
    match cause(&text) {
        // The text contains an internal name of DuckDB for the unsupported form.
        Cause::Statement if text.contains("NOT IMPLEMENTED") => {
            Error::invalid("The query uses a form that cannot be read; write it in another way.")
                .with_source(text)
        }
        Cause::Statement => {
            let (status, sentence) = explained(&text);
            about_statement(status, &sentence)
        }
        Cause::Memory => Error::new(ErrorKind::Unprocessable, OUT_OF_MEMORY).with_source(text),
        Cause::Interrupted => Error::new(ErrorKind::Timeout, INTERRUPTED).with_source(text),
        Cause::Fence => Error::new(ErrorKind::InvalidRequest, FENCED).with_source(text),
        Cause::Fault => Error::new(ErrorKind::Internal, FAULT).with_source(text),
        Cause::Internal => Error::internal(text),
    }
}

/// Returns the error of a job that runs no SQL of a caller. The caller learns only about memory and time.
pub(crate) fn own_error(error: &DuckError) -> Error {
    let text = text(error);
    match cause(&text) {
        Cause::Memory => Error::new(ErrorKind::Unprocessable, OUT_OF_MEMORY).with_source(text),
        Cause::Interrupted => Error::new(ErrorKind::Timeout, INTERRUPTED).with_source(text),
        Cause::Statement | Cause::Fence | Cause::Fault | Cause::Internal => Error::internal(text),
    }
}

/// Returns the error of a ROLLBACK that fails after a caller's SQL.
pub(crate) fn of_the_end(error: &DuckError) -> Error {
    let text = text(error);
    match cause(&text) {
        Cause::Fault => Error::new(ErrorKind::Internal, FAULT).with_source(text),
        _ => own_error(error),
    }
}

/// The parent process replaces this by a sentence with the limit, which only the parent knows how to phrase.
pub(crate) const OUT_OF_MEMORY: &str = "out of memory";
/// The parent process replaces this by a sentence with the limit.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The parent process replaces this by a sentence and logs it.
pub(crate) const FENCED: &str = "fenced";
/// Stays an internal error until it is certain that the statement caused it.
pub(crate) const FAULT: &str = "engine fault";

/// Replaces an internal error of DuckDB by a 422, where only the statement can have caused it.
pub(crate) fn blame_the_statement(error: Error) -> Error {
    if error.message() != FAULT {
        return error;
    }
    tracing::error!(%error, "a statement made the engine fail");
    Error::unprocessable(
        "The query cannot be carried out: the query engine fails on it. Write it in another way.",
    )
}

/// Returns a 400 about `position`, a byte offset of the rewritten statement, with line and column of the
/// caller's text.
pub(crate) fn invalid_at(
    sentence: &str,
    position: Option<usize>,
    original: &str,
    rewritten: &Rewritten,
) -> Error {
    error_at(ErrorKind::InvalidRequest, sentence, position, original, rewritten)
}

fn error_at(
    kind: ErrorKind,
    sentence: &str,
    position: Option<usize>,
    original: &str,
    rewritten: &Rewritten,
) -> Error {
    let mut sentence = rewritten.named(sentence);
    if sentence.starts_with("syntax error at or near \"{{") {
        sentence += ": a parameter stands for one value, not for a table, a name or a part of a literal; for an interval, \
                     write to_days(…) or another function";
    }
    let sentence = closed(&sentence);
    match position.filter(|position| *position <= rewritten.sql.len()) {
        Some(position) => {
            let place = rewritten.place(original, position);
            Error::new(
                kind,
                format!("Line {}, column {}: {sentence}", place.line, place.column),
            )
            .at(place)
        }
        None => Error::new(kind, sentence),
    }
}

/// Adds the full stop that DuckDB's sentences may lack.
fn closed(sentence: &str) -> String {
    let stop = if sentence.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{sentence}{stop}")
}

/// Returns the status and the sentence of an error about the statement.
fn explained(text: &str) -> (ErrorKind, String) {
    let message = kind(text)
        .and_then(|kind| text.strip_prefix(kind)?.strip_prefix(": "))
        .unwrap_or(text);
    let suggestion =
        suggestion(message).map_or_else(String::new, |close| format!(" Did you mean '{close}'?"));
    let is_about_a_value = ABOUT_A_VALUE.iter().any(|kind| text.starts_with(kind));
    let status = match is_about_a_value {
        true => ErrorKind::Unprocessable,
        false => ErrorKind::InvalidRequest,
    };
    (status, scrub(message) + &suggestion)
}

/// Returns the column that an unknown name in DuckDB's message most likely means, from its list (`Candidate
/// bindings: "a", "t.b"`).
fn suggestion(message: &str) -> Option<&str> {
    let (sentence, candidates) = message.split_once("\nCandidate bindings: ")?;
    let unknown = sentence.split('"').nth(1)?;
    let candidates = candidates.lines().next()?.split(", ");
    closest(
        unknown,
        candidates.filter_map(|candidate| candidate.trim_matches('"').rsplit(['.', '"']).next()),
    )
}

/// Joins `message` to one line and removes details of the machine: paths, hints about settings, suggestions
/// from the catalog. Also removes lists of candidates.
pub(crate) fn scrub(message: &str) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| {
        ![
            "Candidate ",
            "Candidates",
            "Possible solutions",
            "Possible Solution",
            "Did you mean \"",
            "See also",
            "Hint:",
            "* ",
            "file =",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    });
    let text = lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let ends = [" Use \"SET ", " Use SET "];
    let text = ends
        .iter()
        .fold(text.as_str(), |text, end| text.split(end).next().unwrap_or(""));
    let words = text
        .split(' ')
        .map(|word| if looks_like_a_path(word) { "…" } else { word });
    words
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_LENGTH)
        .collect()
}

fn looks_like_a_path(word: &str) -> bool {
    let slashes = word.matches('/').count();
    slashes >= 2 || word.contains(".parquet") || word.contains("duckdb_temp")
}

/// Returns the candidate that `name` most likely misspells.
pub(crate) fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    if name.len() > crate::schema::definition::MAX_NAME_LENGTH {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate))
        .filter(|(edits, candidate)| *edits <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the Levenshtein distance.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&right) {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = *cell;
            before = replaced.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_machine_is_passed_on() {
        let scrubbed = scrub(
            "Cannot open file \"/tmp/millrace/seg-1.parquet\": gone\nPossible solutions:\n* SET memory_limit='9GB'",
        );
        assert_eq!(scrubbed, "Cannot open file … gone");
        assert_eq!(
            scrub("Table with name u does not exist!\nDid you mean \"duckdb_logs\"?"),
            "Table with name u does not exist!"
        );
        assert_eq!(
            scrub("depth limit of 1000 exceeded. Use \"SET max_expression_depth TO x\"."),
            "depth limit of 1000 exceeded."
        );
        assert_eq!(scrub("a / b"), "a / b");
        assert_eq!(
            scrub("No function matches.\n\tCandidate functions:\n\tsum(DOUBLE) -> DOUBLE\n"),
            "No function matches."
        );
        assert_eq!(scrub("first\n  second"), "first second");
    }

    #[test]
    fn a_misspelt_column_is_suggested() {
        let message = |candidates: &str| {
            format!("Referenced column \"amont\" not found in FROM clause!\nCandidate bindings: {candidates}")
        };
        assert_eq!(suggestion(&message("\"id\", \"amount\"")), Some("amount"));
        assert_eq!(suggestion(&message("\"orders.amount\"")), Some("amount"));
        assert_eq!(suggestion(&message("\"colour\"")), None);
    }

    #[test]
    fn causes_are_told_apart() {
        assert_eq!(cause("Out of Memory Error: failed to allocate"), Cause::Memory);
        assert_eq!(cause("INTERRUPT Error: Interrupted!"), Cause::Interrupted);
        assert_eq!(cause("Binder Error: no"), Cause::Statement);
        assert_eq!(
            cause("Invalid Input Error: std::bad_alloc of a caller"),
            Cause::Statement
        );
        assert_eq!(cause("IO Error: /tmp/x"), Cause::Internal);
        assert_eq!(cause("INTERNAL Error: Assertion"), Cause::Fault);
        assert_eq!(cause("Permission Error: Cannot access file"), Cause::Fence);
    }

    #[test]
    fn errors_of_both_forms_of_json_are_read() {
        let connection = duckdb::Connection::open_in_memory().unwrap();
        connection.execute_batch("SET errors_as_json = true").unwrap();
        for (sql, sentence, position) in [
            (
                "SELEC 1",
                "Parser Error: syntax error at or near \"SELEC\"",
                Some(0),
            ),
            (
                "SELECT '\t漢', nope",
                "Binder Error: Referenced column \"nope\"",
                Some(15),
            ),
            (
                "SELECT error('{\"exception_type\":\"INTERNAL\",\"exception_message\":\"x\"}')",
                "Invalid Input Error: {",
                None,
            ),
        ] {
            let failed = connection
                .prepare(sql)
                .and_then(|mut statement| statement.execute([]))
                .unwrap_err();
            let (text, actual) = text_and_position(&failed);
            assert!(text.starts_with(sentence), "{text}");
            assert_eq!(actual, position, "{text}");
        }
    }

    #[test]
    fn a_close_name_is_suggested() {
        assert_eq!(closest("ordrs", ["customers", "orders"]), Some("orders"));
        assert_eq!(closest("xyz", ["customers", "orders"]), None);
    }
}
