//! Converts a CSV file to a segment.
//!
//! RFC 4180: commas, quotes doubled inside quotes, a header row that begins in the first line; LF or CRLF;
//! with or without a byte order mark; plain, gzip or zstd, detected by the file's first bytes. Nothing is
//! guessed: DuckDB's detection is off. If a file is [plain](crate::import::plain), DuckDB converts its
//! values; otherwise every column is read as text and converted by [`crate::import::conversion`]. An empty
//! field is NULL, and `""` is an empty text.

use std::io::Read as _;
use std::thread;

use platform::{Error, Result};

use crate::child::context::Context;
use crate::import::compression::{Compression, Prepared};
use crate::import::faults::{self, Fault, MAX_ROW_ERRORS, shown};
use crate::import::plain::{Form, is_plain};
use crate::import::segment_file::CopyError;
use crate::import::shape::{FaultKind, QuoteFault, Shape, shape};
use crate::import::signature;
use crate::import::source::Source;
use crate::import::staging::{self, Relation, StageInput, StageOutcome, Target};
use crate::schema::types::ColumnType;
use crate::statement::messages::{self, Cause};
use crate::tables::sql;

/// Longest row that DuckDB reads, in bytes.
const MAX_ROW_BYTES: u64 = 2_000_000;
/// Most columns of a table that a message names.
const MAX_SHOWN_COLUMNS: usize = 20;
/// Separators of files that do not use commas, with their names in messages.
const OTHER_SEPARATORS: [(&str, char); 3] = [("';'", ';'), ("tabs", '\t'), ("'|'", '|')];

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let target = &input.target;
    let file = Compression::detect(&input.input)?.prepare(&input.input, &target.table)?;
    staging::enclose(context, target, &file.path)?;
    let header = header(&target.table, &file)?;
    let sources = map_columns(target, &header)?;
    if let Some(written) = write_plain(context, target, &file, &header, &sources)? {
        return Ok(written);
    }
    let texts = vec!["VARCHAR".to_owned(); header.len()];
    let relation = Relation {
        sql: relation(&file, &texts, "")?,
        flaw: None,
    };
    let scanned = file.clone();
    let columns = header.len();
    let scan = thread::spawn(move || shape(scanned.open()?, columns));
    let written = staging::write(context, target, &sources, &relation);
    let shape = scan
        .join()
        .map_err(|_| Error::internal("the scan of the shape panicked"))?;
    let shape = shape.map_err(Error::internal)?;
    let failed = match written {
        // DuckDB accepts a file with an overlong record or an open quote, as if the file ended there, and
        // drops blanks around quotes.
        Ok(written) => {
            check_length(target, &shape)?;
            let surplus = shape.surplus.iter().map(|surplus| {
                let row = shape.row(surplus.record, columns);
                Fault::of_row(&target.table, row, surplus_reason(surplus.fields, columns))
            });
            let surplus: Vec<_> = surplus.collect();
            return Ok(match shape.fault {
                Some(fault) => {
                    let rows = faults::merge(surplus, written.faults);
                    StageOutcome::refused(with_quote(target, rows, fault, shape.row(fault.record, columns)))
                }
                None if surplus.is_empty() => written,
                None => StageOutcome::refused(faults::merge(surplus, written.faults)),
            });
        }
        Err(error) if error.status() == 500 => error,
        Err(error) => return Err(error),
    };
    // No value is wrong: a row has the wrong shape, or bytes are not UTF-8.
    let rows = bad_rows(context, target, &file, columns, &shape);
    let (rows, failed) = match rows {
        Ok(rows) => (rows, failed),
        Err(error) => (Vec::new(), error),
    };
    let faults = match shape.fault {
        Some(fault) => with_quote(target, rows, fault, shape.row(fault.record, columns)),
        None => rows,
    };
    if faults.is_empty() {
        check_length(target, &shape)?;
        return Err(unreadable(target, failed));
    }
    Ok(StageOutcome::refused(faults))
}

fn surplus_reason(fields: usize, columns: usize) -> String {
    format!("{fields} fields where the header row has {columns}; a text with a comma stands in double quotes")
}

/// Adds a faulty quote to the faults of the rows above it. The content of the rows below is unknown.
fn with_quote(target: &Target, mut faults: Vec<Fault>, fault: QuoteFault, row: u64) -> Vec<Fault> {
    faults.retain(|fault| fault.error.row < row);
    let reason = match fault.kind {
        FaultKind::Open => {
            format!("the quote opened in row {row} is not closed; the rows after it were not read")
        }
        FaultKind::Followed => {
            "text or a blank follows a closing quote; a quote in a text is written twice".to_owned()
        }
        FaultKind::AfterBlanks => {
            "a blank stands before a quote; remove it, or put the whole field in quotes, with \
                                   each quote of the text twice"
                .to_owned()
        }
    };
    faults.push(Fault::of_row(&target.table, row, reason));
    faults
}

/// Returns a 422 for a fault of the file that no row shows; returns any other error unchanged.
fn unreadable(target: &Target, failed: Error) -> Error {
    let text = std::error::Error::source(&failed).map(ToString::to_string);
    if text.is_none_or(|text| messages::kind(&text).is_none()) {
        return failed;
    }
    Error::unprocessable(format!(
        "Table '{}': the file cannot be read as CSV; check its line ends, which must be LF or CRLF.",
        target.table
    ))
    .with_source(failed)
}

fn check_length(target: &Target, shape: &Shape) -> Result<()> {
    if shape.longest_bytes <= MAX_ROW_BYTES {
        return Ok(());
    }
    Err(Error::unprocessable(format!(
        "Table '{}': the file cannot be read as CSV, because a row is longer than 2 MB.",
        target.table
    )))
}

/// Lets DuckDB convert the values while it reads them, which takes half the time. Returns None, with nothing
/// written, if the values are not plain or anything is wrong with them.
fn write_plain(
    context: &Context,
    target: &Target,
    file: &Prepared,
    header: &[String],
    sources: &[Source],
) -> Result<Option<StageOutcome>> {
    let types = header.iter().map(|name| {
        let mut columns = target.columns.iter();
        let column = columns.find(|column| column.name.eq_ignore_ascii_case(name));
        column.map_or(ColumnType::String, |column| column.column_type)
    });
    let types: Vec<_> = types.collect();
    let forms = types
        .iter()
        .map(|column_type| Form::for_column(*column_type).unwrap_or(Form::Text));
    let forms: Vec<_> = forms.collect();
    if forms.iter().all(|form| *form == Form::Text) {
        return Ok(None);
    }
    let duckdb_types = types
        .iter()
        .map(|column_type| match Form::for_column(*column_type) {
            Some(_) => column_type.duckdb_type(),
            None => "VARCHAR".to_owned(),
        });
    let relation = Relation {
        sql: relation(file, &duckdb_types.collect::<Vec<_>>(), "")?,
        flaw: None,
    };
    let sources = target
        .columns
        .iter()
        .zip(sources)
        .map(|(column, source)| match source {
            Source::Text(value) if Form::for_column(column.column_type).is_some() => {
                Source::Value(value.clone())
            }
            source => source.clone(),
        });
    let sources: Vec<_> = sources.collect();
    let scanned = file.clone();
    let scan = thread::spawn(move || is_plain(scanned.open()?, &forms));
    let copied = staging::copy(context, target, &sources, &relation);
    let is_plain = matches!(scan.join(), Ok(Ok(true)));
    match copied {
        Ok(_) if is_plain => staging::finish(context, target, &sources, &relation, copied).map(Some),
        Err(CopyError::Own(error)) => Err(error),
        Err(CopyError::Duck(error)) if messages::cause(&messages::text(&error)) != Cause::Statement => {
            Err(messages::own_error(&error))
        }
        _ => Ok(None),
    }
}

/// Returns the file as a relation with the columns `c0`, `c1` and so on.
fn relation(file: &Prepared, types: &[String], more: &str) -> Result<String> {
    let columns = (0..)
        .zip(types)
        .map(|(index, duckdb_type)| format!("'c{index}': '{duckdb_type}'"));
    let columns: Vec<_> = columns.collect();
    Ok(format!(
        "read_csv({}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', nullstr = '', \
         allow_quoted_nulls = false, compression = '{}', columns = {{{}}}{more})",
        sql::path(&file.path)?,
        file.compression.name(),
        columns.join(", ")
    ))
}

/// Returns the names in the header row.
fn header(table: &str, file: &Prepared) -> Result<Vec<String>> {
    let refuse = |what: &str| Err(Error::unprocessable(format!("Table '{table}': {what}.")));
    let mut bytes = Vec::new();
    let csv = file.open().map_err(Error::internal)?;
    csv.take(MAX_ROW_BYTES)
        .read_to_end(&mut bytes)
        .map_err(Error::internal)?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return refuse("the file is empty; a header row with the names of the columns is expected");
    }
    if let Some(other) = signature::other_than_text(bytes) {
        return refuse(&format!("the file is {other}, not CSV"));
    }
    if bytes.starts_with(b"\n") || bytes.starts_with(b"\r") {
        // For a file with one column, DuckDB reads an empty line as a row.
        return refuse("the first line is empty; it must be the header row, with the names of the columns");
    }
    let mut is_quoted = false;
    let end = bytes.iter().position(|byte| {
        is_quoted ^= *byte == b'"';
        *byte == b'\n' && !is_quoted
    });
    let row = match end {
        Some(end) => bytes.get(..end).unwrap_or_default(),
        None if bytes.len() as u64 == MAX_ROW_BYTES => {
            return refuse(
                "the file cannot be read as CSV text in UTF-8, because its first row is longer than 2 MB",
            );
        }
        None => bytes,
    };
    let Ok(row) = std::str::from_utf8(row) else {
        return refuse("the file cannot be read as CSV text in UTF-8");
    };
    if is_quoted {
        return refuse("a quote in the header row is never closed");
    }
    match cells(row.trim_end_matches('\r')) {
        Some(names) => Ok(names),
        None => refuse("the header row is not CSV"),
    }
}

/// Splits a record into fields; None if a quote is misplaced.
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

/// Returns the source of each of the table's columns.
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
            shown(name)
        )));
    }
    for (index, name) in header.iter().enumerate() {
        if !target
            .columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
        {
            return Err(Error::unprocessable(format!(
                "Table '{table}': the header row names {} (column {}), which the table does not have; it has {}.",
                shown(name),
                index + 1,
                some_names(target)
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

/// Returns the faults of the first rows that are not valid CSV.
fn bad_rows(
    context: &Context,
    target: &Target,
    file: &Prepared,
    columns: usize,
    shape: &Shape,
) -> Result<Vec<Fault>> {
    // Each value of a row may be rejected, and so may surplus values.
    let rejects = (MAX_ROW_ERRORS + 1) * (columns + 1);
    let relation = relation(
        file,
        &vec!["VARCHAR".to_owned(); columns],
        &format!(", store_rejects = true, rejects_limit = {rejects}"),
    )?;
    let own_error = |error| messages::own_error(&error);
    // Reads every column, because DuckDB does not check bytes of columns that are not read.
    let counts: Vec<_> = (0..columns).map(|index| format!("count(c{index})")).collect();
    let read_all = format!("SELECT {} FROM {relation}", counts.join(", "));
    context.connection.execute_batch(&read_all).map_err(own_error)?;
    let query = format!(
        "SELECT DISTINCT ON (line) line, error_type::VARCHAR, error_message FROM reject_errors \
         ORDER BY line, column_idx LIMIT {}",
        MAX_ROW_ERRORS + 1
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
    let faults = rows.map(|row| {
        let (line, kind, message) = row.map_err(own_error)?;
        let reason = match kind.as_str() {
            "INVALID ENCODING" => {
                "the text is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8, or these rows alone if \
                 the others are UTF-8"
                    .to_owned()
            }
            "MISSING COLUMNS" => match message.rsplit_once("Found: ") {
                Some((_, found)) if found.trim() == "1" => {
                    format!("1 field where the header row has {columns}")
                }
                Some((_, found)) => format!("{} fields where the header row has {columns}", found.trim()),
                None => format!("fewer fields than the {columns} of the header row"),
            },
            // DuckDB reports only the first surplus field.
            "TOO MANY COLUMNS" => {
                let record = line.saturating_sub(1);
                let surplus = shape.surplus.iter().find(|surplus| surplus.record == record);
                surplus_reason(surplus.map_or(columns + 1, |surplus| surplus.fields), columns)
            }
            "UNQUOTED VALUE" => "a quote is not closed, or text follows it".to_owned(),
            "LINE SIZE OVER MAXIMUM" => "the row is longer than 2 MB".to_owned(),
            _ => "it is not CSV".to_owned(),
        };
        // DuckDB counts records here, although it calls them lines; the header row is the first.
        let row = shape.row(line.saturating_sub(1), columns);
        Ok(Fault::of_row(&target.table, row, reason))
    });
    faults.collect()
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
