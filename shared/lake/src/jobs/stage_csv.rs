//! A CSV file becomes a segment.
//!
//! RFC 4180: commas, quotes doubled inside quotes, a header row that begins in the first line; LF or CRLF; with
//! or without a byte order mark; plain, gzip or zstd by the file's first bytes. Nothing is guessed: DuckDB's
//! detection is off, every column is read as text and converted by [`crate::conversion`]. An empty field is
//! NULL, and `""` is an empty text.

use std::path::Path;

use platform::{Error, Result};

use crate::child::Context;
use crate::compression::Compression;
use crate::messages::{self, Cause};
use crate::sql;
use crate::staging::{self, Bad, Input, MAX_LISTED, Relation, Source, Target, Written};

/// Physical lines that a header row with line breaks in quoted names may take.
const MAX_HEADER_LINES: usize = 100;
/// What stands between columns in files that are not of commas, as a message names it.
const OTHER_SEPARATORS: [(&str, char); 3] = [("';'", ';'), ("tabs", '\t'), ("'|'", '|')];

pub(crate) fn run(context: &Context, input: &Input) -> Result<Written> {
    let target = &input.target;
    let compression = Compression::of(&input.input)?;
    compression.check(&input.input, &target.table)?;
    let compression = compression.name();
    staging::enclose(context, Some(&input.input), target)?;
    let header = header(context, input, compression)?;
    let sources = map_columns(target, &header)?;
    let relation = Relation {
        sql: relation(&input.input, compression, header.len(), "")?,
        flaw: None,
    };
    let failed = match staging::write(context, target, &sources, &relation) {
        Err(error) if error.status() == 500 => error,
        other => return other,
    };
    // Not a value: a row of the wrong shape, or bytes that are not UTF-8.
    let bad = bad_rows(context, input, compression, header.len())?;
    if bad.is_empty() {
        Err(failed)
    } else {
        Err(staging::refuse(&target.table, &bad))
    }
}

/// The file as a relation of texts `c0`, `c1` and so on.
fn relation(path: &Path, compression: &str, columns: usize, more: &str) -> Result<String> {
    let columns: Vec<_> = (0..columns)
        .map(|index| format!("'c{index}': 'VARCHAR'"))
        .collect();
    Ok(format!(
        "read_csv({}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', nullstr = '', \
         allow_quoted_nulls = false, compression = '{compression}', columns = {{{}}}{more})",
        sql::path(path)?,
        columns.join(", ")
    ))
}

/// The names in the header row.
fn header(context: &Context, input: &Input, compression: &str) -> Result<Vec<String>> {
    let table = &input.target.table;
    let path = sql::path(&input.input)?;
    // Whole lines, unquoted: a delimiter that no text holds.
    let read = |ignore_errors: bool| -> duckdb::Result<Vec<Option<String>>> {
        let query = format!(
            "SELECT line FROM read_csv({path}, auto_detect = false, header = false, delim = chr(31), quote = '', \
             escape = '', strict_mode = false, parallel = false, ignore_errors = {ignore_errors}, compression = '{compression}', \
             columns = {{'line': 'VARCHAR'}}) LIMIT {MAX_HEADER_LINES}"
        );
        let mut statement = context.connection.prepare(&query)?;
        let lines = statement.query_map([], |row| row.get(0))?;
        lines.collect()
    };
    // DuckDB also reads lines after the wanted ones. A bad one there is told later, with its row; those that are
    // left out here must stand after the header.
    let (lines, first_bad) = match read(false) {
        Ok(lines) => (lines, None),
        Err(error) => {
            let line = bad_line(&messages::text(&error)).filter(|line| *line > 1);
            let line = line.ok_or_else(|| unreadable(table, &error))?;
            let lines = read(true).map_err(|error| unreadable(table, &error))?;
            (lines, Some((line, error)))
        }
    };
    if first_bad.is_none() && lines.iter().flatten().all(String::is_empty) {
        return Err(Error::unprocessable(format!(
            "Table '{table}': the file is empty; a header row with the names of the columns is expected."
        )));
    }
    let mut text = String::new();
    for (number, line) in (1..).zip(lines) {
        if let Some((bad, error)) = &first_bad
            && number >= *bad
        {
            return Err(unreadable(table, error));
        }
        text.push_str(&line.unwrap_or_default());
        if text.is_empty() {
            // Where there is one column, DuckDB takes an empty line for a row.
            return Err(Error::unprocessable(format!(
                "Table '{table}': the first line is empty; it must be the header row, with the names of the columns."
            )));
        }
        if text.matches('"').count().is_multiple_of(2) {
            return cells(text.trim_start_matches('\u{feff}'))
                .ok_or_else(|| Error::unprocessable(format!("Table '{table}': the header row is not CSV.")));
        }
        text.push('\n');
    }
    Err(Error::unprocessable(format!(
        "Table '{table}': a quote in the header row is never closed."
    )))
}

/// The line that DuckDB's message about a CSV file names, from 1.
fn bad_line(message: &str) -> Option<u64> {
    let (_, after) = message.split_once("CSV Error on Line: ")?;
    after.lines().next()?.trim().parse().ok()
}

fn unreadable(table: &str, error: &duckdb::Error) -> Error {
    let text = messages::text(error);
    match messages::cause(&text) {
        Cause::Memory | Cause::Interrupted => messages::own_error(error),
        Cause::Statement | Cause::Internal => Error::unprocessable(format!(
            "Table '{table}': the file cannot be read as CSV text in UTF-8."
        ))
        .with_source(text),
    }
}

/// The fields of one record; None if a quote stands where none may.
fn cells(record: &str) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = record;
    loop {
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut end = quoted.find('"')?;
                while quoted.get(end + 1..)?.starts_with('"') {
                    end += 2 + quoted.get(end + 2..)?.find('"')?;
                }
                (quoted.get(..end)?.replace("\"\"", "\""), quoted.get(end + 1..)?)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest.get(..end)?.to_owned(), rest.get(end..)?)
            }
        };
        cells.push(cell.trim().to_owned());
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return after.trim().is_empty().then_some(cells),
        }
    }
}

/// Where each of the table's columns comes from.
fn map_columns(target: &Target, header: &[String]) -> Result<Vec<Source>> {
    let table = &target.table;
    if let [name] = header
        && let Some((separator, _)) = OTHER_SEPARATORS.iter().find(|(_, c)| name.contains(*c))
        && !target
            .columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
    {
        return Err(Error::unprocessable(format!(
            "Table '{table}': the header row is {}: columns must be separated by commas, not by {separator}.",
            staging::shown(name)
        )));
    }
    for (index, name) in header.iter().enumerate() {
        if !target
            .columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
        {
            return Err(Error::unprocessable(format!(
                "Table '{table}': the header row names {} (column {}), which the table does not have.",
                staging::shown(name),
                index + 1
            )));
        }
        if header
            .iter()
            .take(index)
            .any(|other| other.eq_ignore_ascii_case(name))
        {
            return Err(Error::unprocessable(format!(
                "Table '{table}': the header row names '{name}' twice."
            )));
        }
    }
    target
        .columns
        .iter()
        .map(|column| match header.iter().position(|name| name.eq_ignore_ascii_case(&column.name)) {
            Some(index) => Ok(Source::Text(format!("c{index}"))),
            None if column.default.is_some() || !column.definition().is_required() => Ok(Source::Default),
            None => Err(Error::unprocessable(format!(
                "Table '{table}': the file lacks the column '{}', which needs a value and has no default.",
                column.name
            ))),
        })
        .collect()
}

/// The first rows that are no rows.
fn bad_rows(context: &Context, input: &Input, compression: &str, columns: usize) -> Result<Vec<Bad>> {
    let relation = relation(
        &input.input,
        compression,
        columns,
        ", store_rejects = true, rejects_limit = 1000",
    )?;
    let own_error = |error| messages::own_error(&error);
    // Every column is asked for, because bytes in a column that nobody reads are not looked at.
    let counts: Vec<_> = (0..columns).map(|index| format!("count(c{index})")).collect();
    let read_all = format!("SELECT {} FROM {relation}", counts.join(", "));
    context.connection.execute_batch(&read_all).map_err(own_error)?;
    let query = format!(
        "SELECT line, error_type::VARCHAR, error_message FROM reject_errors ORDER BY line, column_idx LIMIT {MAX_LISTED}"
    );
    let mut statement = context.connection.prepare(&query).map_err(own_error)?;
    let rows = statement
        .query_map([], |row| {
            Ok((
                row.get::<_, u64>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ))
        })
        .map_err(own_error)?;
    rows.map(|row| {
        let (line, kind, message) = row.map_err(own_error)?;
        let reason = match kind.as_str() {
            "INVALID ENCODING" => "the text is not UTF-8".to_owned(),
            "MISSING COLUMNS" | "TOO MANY COLUMNS" => match message.rsplit_once("Found: ") {
                Some((_, found)) => format!("{} fields where the header row has {columns}", found.trim()),
                None => format!("not the {columns} fields of the header row"),
            },
            "UNQUOTED VALUE" => "a quote is not closed, or text follows a closing quote".to_owned(),
            "LINE SIZE OVER MAXIMUM" => "the row is longer than 2 MB".to_owned(),
            _ => "it is not CSV".to_owned(),
        };
        // The header row is the first line.
        Ok(Bad {
            row: line.saturating_sub(1),
            reason,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_cut_as_rfc_4180_says() {
        let cut = |record: &str| cells(record).unwrap();
        assert_eq!(cut("a,b ,\"c,d\""), ["a", "b", "c,d"]);
        assert_eq!(cut("\"say \"\"hi\"\"\",x"), ["say \"hi\"", "x"]);
        assert_eq!(cut("\"\",\"\"\"\""), ["", "\""]);
        assert_eq!(cut("a,"), ["a", ""]);
        assert_eq!(cells("\"a\"b"), None);
    }
}
