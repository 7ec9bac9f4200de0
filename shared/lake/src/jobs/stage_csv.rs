//! Converts a CSV file to a segment.
//!
//! RFC 4180: commas, quotes doubled inside quotes, a header row that begins in the first line; LF or CRLF;
//! with or without a byte order mark; plain, gzip or zstd, detected by the file's first bytes. Nothing is
//! guessed. An empty field is NULL, and `""` is an empty text.
//!
//! If all values are [plain], DuckDB converts them as it reads the file. Otherwise its
//! [records](crate::import::records) are converted as the rows of a JSON file are.

use std::io::Read;

use platform::{Error, Result};

use crate::child::context::Context;
use crate::import::compression::Compression;
use crate::import::faults::shown;
use crate::import::file_format::FileFormat;
use crate::import::plain;
use crate::import::records::{Fault, MAX_MB, Malformed, Records};
use crate::import::rows::{Column, Reading};
use crate::import::signature;
use crate::import::source::Source;
use crate::import::staging::{self, StageInput, StageOutcome, Target};
use crate::schema::manifest::ManifestColumn;

/// Most columns of a table that a message names.
const MAX_SHOWN_COLUMNS: usize = 20;
/// Separators of files that do not use commas, with their names in messages.
const OTHER_SEPARATORS: [(&str, char); 3] = [("';'", ';'), ("tabs", '\t'), ("'|'", '|')];

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let (target, path) = (&input.target, input.input.as_path());
    let compression = Compression::detect(path)?;
    let is_read_whole = compression.check(path, &target.table)?;
    let mut records = Records::new(compression.open(path).map_err(Error::internal)?);
    let header = header(target, &mut records)?;
    let columns = columns(target, &header)?;
    let sources = sources(target, &columns)?;
    let reading = Reading {
        format: FileFormat::Csv,
        path: path.to_owned(),
        columns: columns.iter().map(|column| Column::new(column, false)).collect(),
    };
    let relation = reading.relation(&context.connection)?;
    staging::enclose(context, target, path)?;
    let plain = match is_read_whole {
        true => plain::write(context, target, (path, compression), &columns, &sources)?,
        false => None,
    };
    plain.map_or_else(|| staging::write(context, target, &sources, &relation), Ok)
}

fn refusal(target: &Target, what: &str) -> Error {
    Error::unprocessable(format!("Table '{}': {what}.", target.table))
}

/// Returns the names in the header row.
fn header(target: &Target, records: &mut Records<impl Read>) -> Result<Vec<String>> {
    let beginning = records.beginning().map_err(Error::internal)?;
    let other = signature::other_than_text(beginning).map(|other| format!("the file is {other}, not CSV"));
    let what = match beginning {
        _ if beginning.iter().all(u8::is_ascii_whitespace) => {
            Some("the file is empty; a header row with the names of the columns is expected")
        }
        [b'\n' | b'\r', ..] if other.is_none() => {
            Some("the first line is empty; it must be the header row, with the names of the columns")
        }
        _ => other.as_deref(),
    };
    if let Some(what) = what {
        return Err(refusal(target, what));
    }
    let names = match records.header() {
        Ok(record) => record
            .and_then(|record| record.texts())
            .ok_or("the file cannot be read as CSV text in UTF-8"),
        Err(Fault::Io(error)) => return Err(Error::internal(error)),
        Err(Fault::Malformed(malformed)) => Err(match malformed {
            Malformed::OpenQuote => "a quote in the header row is never closed",
            Malformed::TooLong => {
                return Err(refusal(
                    target,
                    &format!(
                        "the file cannot be read as CSV text in UTF-8, because its first row is longer than {MAX_MB} MB"
                    ),
                ));
            }
            Malformed::LineEnd => {
                "the header row has a carriage return within; its line end must be LF or CRLF"
            }
            Malformed::TextAfterQuote | Malformed::BlankBeforeQuote => {
                "the header row is not CSV: a name has text or a blank beside its quotes"
            }
        }),
    };
    let names = names.map_err(|what| refusal(target, what))?;
    Ok(names
        .map(|name| name.unwrap_or_default().trim().to_owned())
        .collect())
}

/// Returns the table's column of each name in the header row.
fn columns<'a>(target: &'a Target, header: &[String]) -> Result<Vec<&'a ManifestColumn>> {
    let mut columns: Vec<&ManifestColumn> = Vec::new();
    for (name, number) in header.iter().zip(1..) {
        let mut of_table = target.columns.iter();
        let column = of_table.find(|column| column.name.eq_ignore_ascii_case(name));
        let separator = OTHER_SEPARATORS.iter().find(|(_, c)| name.contains(*c));
        let what = match (column, separator) {
            (Some(column), _) if !columns.iter().any(|other| other.field_id == column.field_id) => {
                columns.push(column);
                continue;
            }
            (Some(_), _) => format!("the header row names '{name}' twice"),
            (None, Some((separator, _))) if header.len() == 1 => format!(
                "the header row is {}: columns must be separated by commas, not by {separator}",
                shown(name)
            ),
            (None, _) => format!(
                "the header row names {} (column {number}), which the table does not have; it has {}",
                shown(name),
                some_names(target)
            ),
        };
        return Err(refusal(target, &what));
    }
    Ok(columns)
}

/// Returns the source of each of the table's columns.
fn sources(target: &Target, columns: &[&ManifestColumn]) -> Result<Vec<Source>> {
    let sources = target.columns.iter().map(|column| {
        let place = columns.iter().position(|other| other.field_id == column.field_id);
        match place {
            Some(index) => Ok(Source::Text(format!("c{index}"))),
            None if column.default.is_some() || !column.definition().is_required() => Ok(Source::Default),
            None => {
                let name = &column.name;
                let what =
                    format!("the file lacks the column '{name}', which needs a value and has no default");
                Err(refusal(target, &what))
            }
        }
    });
    sources.collect()
}

/// Lists the columns of a table for a message.
fn some_names(target: &Target) -> String {
    let names = target.columns.iter().map(|column| column.name.as_str());
    let some: Vec<_> = names.take(MAX_SHOWN_COLUMNS).collect();
    let more = if target.columns.len() > MAX_SHOWN_COLUMNS {
        " and others"
    } else {
        ""
    };
    format!("{}{more}", some.join(", "))
}
