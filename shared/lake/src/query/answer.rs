//! Writes answers as JSON, CSV or an Arrow stream: in the child, from Arrow batches directly to bytes.

use std::fs::File;
use std::sync::mpsc;
use std::thread;

use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use duckdb::Statement;
use duckdb::arrow::array::{Array as _, StructArray};
use duckdb::arrow::datatypes::SchemaRef;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::frames::write_part;
use crate::child::settings::STACK_BYTES;
use crate::query::cells::{self, Cells};
use crate::query::meaning::Meaning;
use crate::statement::messages;
use crate::statement::parameters::Rewritten;

/// Size of a part of a body; a pipe holds a few parts.
const PART_BYTES: usize = 256 * 1_024;

/// Number of batches that wait for the writer while another is read.
const AHEAD: usize = 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// An object with `columns`, `column_types`, `rows`, `row_count`, `truncated` and `execution_time_ms`.
    #[default]
    Json,
    /// RFC 4180 with a header row. NULL is an empty field, an empty text is `""`; every other value is the
    /// text of its JSON form.
    Csv,
    /// Arrow's IPC stream: one schema, then batches.
    Arrow,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub body: Bytes,
    pub row_count: u64,
    /// Whether the result has more rows than the limit.
    pub is_truncated: bool,
}

/// What the child reports about an answer, besides its bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AnswerSize {
    pub(crate) rows: usize,
    pub(crate) is_truncated: bool,
}

/// Limits on the part of a result that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

/// The bytes of an answer while it is written. A large answer is sent in parts, so that the transfer overlaps
/// with the writing.
pub(crate) struct Body<'a> {
    /// Bytes not sent yet.
    part: Vec<u8>,
    sent: usize,
    output: &'a mut File,
}

impl<'a> Body<'a> {
    pub(crate) fn new(output: &'a mut File) -> Self {
        Self {
            part: Vec::with_capacity(PART_BYTES / 4),
            sent: 0,
            output,
        }
    }

    /// Returns the buffer to append to.
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        &mut self.part
    }

    /// Returns the last part.
    pub(crate) fn into_rest(self) -> Vec<u8> {
        self.part
    }

    /// Sends the part if it is large enough; fails if the answer exceeds its size limit.
    fn advance(&mut self, bounds: Bounds) -> Result<(), Stopped> {
        if self.sent + self.part.len() > bounds.bytes {
            return Err(Stopped::TooLarge);
        }
        if self.part.len() >= PART_BYTES {
            write_part(self.output, &self.part).map_err(|error| Stopped::Other(Error::internal(error)))?;
            self.sent += self.part.len();
            self.part.clear();
        }
        Ok(())
    }
}

/// The reason why no more rows could be written.
pub(crate) enum Stopped {
    Duck(duckdb::Error),
    TooLarge,
    Other(Error),
}

impl Stopped {
    pub(crate) fn for_caller(self, original: &str, rewritten: &Rewritten, max_bytes: usize) -> Error {
        match self {
            Self::Duck(error) => messages::caller_error(&error, original, rewritten),
            Self::Other(error) => error,
            Self::TooLarge => too_large(max_bytes),
        }
    }

    /// Converts to the error of a statement of the platform itself.
    pub(crate) fn of_own(self, max_bytes: usize) -> Error {
        match self {
            Self::Duck(error) => messages::own_error(&error),
            Self::Other(error) => error,
            Self::TooLarge => too_large(max_bytes),
        }
    }
}

fn too_large(max_bytes: usize) -> Error {
    Error::unprocessable(format!(
        "The answer is larger than {:.1} MB; lower 'limit', select fewer columns, or aggregate.",
        f64::from(u32::try_from(max_bytes).unwrap_or(u32::MAX)) / 1e6
    ))
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

fn inexact(column: &str, type_name: &str, answer: &str) -> Error {
    Error::unprocessable(format!(
        "The column '{column}' has values of the type {type_name}, which {answer} cannot show exactly; cast them: \
         CAST(… AS VARCHAR)."
    ))
}

struct Columns {
    schema: SchemaRef,
    meanings: Vec<Meaning>,
}

impl Columns {
    /// Fails with 422 if a column has a type whose values no answer shows as they are.
    fn from_statement(statement: &Statement<'_>) -> Result<Self> {
        let schema = statement.schema();
        let mut meanings = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let meaning = Meaning::from_types(field.data_type(), &statement.column_logical_type(index));
            if let Some(name) = meaning.inexact_type() {
                return Err(inexact(field.name(), name, "an answer"));
            }
            meanings.push(meaning);
        }
        Ok(Self { schema, meanings })
    }

    fn cells<'a>(&self, batch: &'a StructArray) -> Result<Vec<Cells<'a>>> {
        let columns = batch.columns().iter().zip(&self.meanings);
        columns
            .map(|(column, meaning)| Cells::new(column, meaning))
            .collect()
    }
}

/// A result that is being read.
struct Batches<'a> {
    statement: &'a Statement<'a>,
    limit: usize,
    read: AnswerSize,
}

impl Batches<'_> {
    /// Returns the next batch with the number of its rows within the limit, at least one.
    fn next(&mut self) -> Result<Option<(StructArray, usize)>, Stopped> {
        while !self.read.is_truncated
            && let Some(batch) = self.statement.step().map_err(Stopped::Duck)?
        {
            let counted = batch.len().min(self.limit - self.read.rows);
            self.read.rows += counted;
            self.read.is_truncated = counted < batch.len();
            if counted > 0 {
                return Ok(Some((batch, counted)));
            }
        }
        Ok(None)
    }
}

/// Passes the batches of a result to `write`, each with the number of its rows within the limit. If there are
/// several, a second thread writes them while this one reads, because writing takes longer.
fn batches(
    statement: &Statement<'_>,
    limit: usize,
    mut write: impl FnMut(&StructArray, usize) -> Result<(), Stopped> + Send,
) -> Result<AnswerSize, Stopped> {
    let read = AnswerSize {
        rows: 0,
        is_truncated: false,
    };
    let mut batches = Batches {
        statement,
        limit,
        read,
    };
    let first = batches.next()?;
    let second = batches.next()?;
    let (first, second) = match (first, second) {
        (Some(first), Some(second)) => (first, second),
        (only, _) => {
            if let Some((batch, rows)) = only {
                write(&batch, rows)?;
            }
            return Ok(batches.read);
        }
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        // Values are nested as deep here as on the reading thread.
        let writer = thread::Builder::new().stack_size(STACK_BYTES);
        let writer = writer.spawn_scoped(scope, move || {
            let mut batches = receiver.into_iter();
            batches.try_for_each(|(batch, rows)| write(&batch, rows))
        });
        let writer = writer.map_err(Error::internal)?;
        let mut next = Ok(Some(second));
        // If the writer stopped early, sending fails.
        let mut is_taken = sender.send(first).is_ok();
        while is_taken && let Ok(Some(batch)) = next {
            is_taken = sender.send(batch).is_ok();
            next = batches.next();
        }
        drop(sender);
        let result = writer.join();
        result.map_err(|_| Error::internal("the writing of an answer broke off"))??;
        next.map(|_| batches.read)
    })
}

/// Writes the rows as arrays, separated by commas.
pub(crate) fn json_arrays(
    statement: &Statement<'_>,
    bounds: Bounds,
    body: &mut Body<'_>,
) -> Result<AnswerSize, Stopped> {
    let columns = Columns::from_statement(statement)?;
    let mut is_first = true;
    batches(statement, bounds.rows, |batch, rows| {
        let cells = columns.cells(batch)?;
        for row in 0..rows {
            let end = body.end();
            end.extend_from_slice(if is_first { b"[" } else { b",[" });
            is_first = false;
            for (index, cells) in cells.iter().enumerate() {
                if index > 0 {
                    end.push(b',');
                }
                cells.write(row, end);
            }
            end.push(b']');
            body.advance(bounds)?;
        }
        Ok(())
    })
}

/// Writes the rows as objects, separated by commas.
pub(crate) fn json_objects(
    statement: &Statement<'_>,
    bounds: Bounds,
    body: &mut Body<'_>,
) -> Result<AnswerSize, Stopped> {
    let columns = Columns::from_statement(statement)?;
    let mut is_first = true;
    batches(statement, bounds.rows, |batch, rows| {
        let names = columns.schema.fields().iter().map(|field| {
            let mut name = Vec::new();
            cells::string(field.name(), &mut name);
            name
        });
        let members: Vec<_> = names.zip(columns.cells(batch)?).collect();
        for row in 0..rows {
            if !is_first {
                body.end().push(b',');
            }
            is_first = false;
            cells::object(&members, row, body.end());
            body.advance(bounds)?;
        }
        Ok(())
    })
}

/// Writes the header row and the rows, each ended by CRLF.
pub(crate) fn csv(
    statement: &Statement<'_>,
    bounds: Bounds,
    body: &mut Body<'_>,
) -> Result<AnswerSize, Stopped> {
    let columns = Columns::from_statement(statement)?;
    let is_json: Vec<bool> = columns.meanings.iter().map(|meaning| meaning.is_json).collect();
    for (index, field) in columns.schema.fields().iter().enumerate() {
        if index > 0 {
            body.end().push(b',');
        }
        csv_field(field.name(), body.end());
    }
    body.end().extend_from_slice(b"\r\n");
    let mut value = Vec::new();
    batches(statement, bounds.rows, |batch, rows| {
        let cells = columns.cells(batch)?;
        for row in 0..rows {
            let end = body.end();
            for (index, (cells, is_json)) in cells.iter().zip(&is_json).enumerate() {
                if index > 0 {
                    end.push(b',');
                }
                value.clear();
                cells.write(row, &mut value);
                csv_value(&value, *is_json, end)?;
            }
            end.extend_from_slice(b"\r\n");
            body.advance(bounds)?;
        }
        Ok(())
    })
}

/// Writes a value from its JSON form. A JSON column keeps its JSON text, also for a string.
fn csv_value(json: &[u8], is_json: bool, body: &mut Vec<u8>) -> Result<()> {
    match json {
        b"null" => {}
        [b'"', ..] if !is_json => {
            let text: String = serde_json::from_slice(json).map_err(Error::internal)?;
            csv_field(&text, body);
        }
        _ => csv_field(std::str::from_utf8(json).map_err(Error::internal)?, body),
    }
    Ok(())
}

/// Writes a text as a field, quoted if it is empty, begins or ends with white space, or contains a separator.
fn csv_field(text: &str, body: &mut Vec<u8>) {
    let is_plain = !text.is_empty()
        && text.trim().len() == text.len()
        && !text.contains([',', '"', '\r', '\n'])
        && !text.starts_with('\u{feff}');
    if is_plain {
        body.extend_from_slice(text.as_bytes());
    } else {
        body.push(b'"');
        body.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        body.push(b'"');
    }
}

/// Writes an IPC stream with its end marker.
pub(crate) fn arrow(
    statement: &Statement<'_>,
    bounds: Bounds,
    body: &mut Body<'_>,
) -> Result<AnswerSize, Stopped> {
    let Columns { schema, meanings } = Columns::from_statement(statement)?;
    let mut columns = schema.fields().iter().zip(&meanings);
    if let Some((field, _)) = columns.find(|(_, meaning)| meaning.has_unsigned_huge_integer()) {
        return Err(inexact(field.name(), "UHUGEINT", "an Arrow stream").into());
    }
    let internal = |error| Stopped::Other(Error::internal(error));
    let mut writer = StreamWriter::try_new(&mut body.part, &schema).map_err(internal)?;
    let size = batches(statement, bounds.rows, |batch, rows| {
        let batch = batch.slice(0, rows);
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec()).map_err(internal)?;
        writer.write(&batch).map_err(internal)?;
        // The buffer is not sent in parts, because the same writer continues to use it.
        match writer.get_ref().len() > bounds.bytes {
            true => Err(Stopped::TooLarge),
            false => Ok(()),
        }
    })?;
    writer.finish().map_err(internal)?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str, is_json: bool) -> String {
        let mut body = Vec::new();
        csv_value(json.as_bytes(), is_json, &mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn a_field_is_quoted_where_it_must_be() {
        for (json, field) in [
            ("null", ""),
            ("\"\"", "\"\""),
            ("\"null\"", "null"),
            ("\"a\"", "a"),
            ("\"a,b\"", "\"a,b\""),
            ("\"say \\\"hi\\\"\"", "\"say \"\"hi\"\"\""),
            ("\"a\\r\\nb\"", "\"a\r\nb\""),
            ("\" a\"", "\" a\""),
            ("\"\\ufeffa\"", "\"\u{feff}a\""),
            ("\"é;\\t|\"", "é;\t|"),
            ("1.5", "1.5"),
            ("true", "true"),
            ("[1,2]", "\"[1,2]\""),
            ("{\"a\":1}", "\"{\"\"a\"\":1}\""),
        ] {
            assert_eq!(value(json, false), field, "{json}");
        }
        assert_eq!(value("\"a\"", true), "\"\"\"a\"\"\"");
    }
}
