//! Reads a JSON file as a relation of texts: the table function `json_rows`, from which DuckDB pulls.
//!
//! DuckDB's own JSON reader turns numbers into doubles, reads a missing key as null, and ignores unknown
//! keys. Here serde_json splits the file into rows and the rows into values. Each value stays its text, with
//! its digits unchanged, and is converted like a value of a CSV file. A thread reads ahead; memory is limited
//! to a few batches and the longest row.
//!
//! Columns of the relation, for the table's column number `i`: `c<i>` has the text, or NULL; if that column
//! has a default, `d<i>` is not NULL in rows that omit it. [`FLAW`] has the fault in the row's shape, a
//! [`Flaw`]. An error that ends the reading (invalid JSON, a truncated file) is the flaw of a last row, so
//! that it is reported with a row number like any other.

mod rows;

use std::cell::Cell;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use duckdb::arrow::array::{Array, StringArray};
use duckdb::core::{DataChunkHandle, Inserter as _, LogicalTypeHandle, LogicalTypeId};
use duckdb::vtab::{BindInfo, InitInfo, TableFunctionInfo, VTab};
use parking_lot::Mutex;
use rows::Rows;
use serde::{Deserialize, Deserializer as _, Serialize};
use serde_json::value::RawValue;

use crate::import::compression::Compression;
use crate::import::fault_search::Flaw;
use crate::import::signature;
use crate::schema::types::ColumnType;

pub(crate) const NAME: &str = "json_rows";
/// Column with the flaw of a row.
pub(crate) const FLAW: &str = "flaw";
/// Longest row, in bytes.
const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;

type AnyError = Box<dyn std::error::Error>;

/// Arguments of the table function, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) path: PathBuf,
    pub(crate) columns: Vec<Column>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    pub(crate) has_default: bool,
}

pub(crate) struct JsonRows;

/// Messages of the reading thread. The end is explicit, so that a thread that panicked is not mistaken for
/// it.
pub(crate) enum Message {
    /// One array per column, all with the number of rows.
    Batch(Vec<StringArray>),
    Failed(String),
    End,
}

impl VTab for JsonRows {
    type InitData = Mutex<Option<Receiver<Message>>>;
    type BindData = Reading;

    fn parameters() -> Option<Vec<LogicalTypeHandle>> {
        Some(vec![LogicalTypeId::Varchar.into()])
    }

    fn bind(bind: &BindInfo) -> Result<Self::BindData, AnyError> {
        let reading: Reading = serde_json::from_str(&bind.get_parameter(0).to_string())?;
        for (index, _) in reading.columns.iter().enumerate() {
            bind.add_result_column(&format!("c{index}"), LogicalTypeId::Varchar.into());
        }
        for (index, column) in reading.columns.iter().enumerate() {
            if column.has_default {
                bind.add_result_column(&format!("d{index}"), LogicalTypeId::Varchar.into());
            }
        }
        bind.add_result_column(FLAW, LogicalTypeId::Varchar.into());
        Ok(reading)
    }

    fn init(_: &InitInfo) -> Result<Self::InitData, AnyError> {
        Ok(Mutex::new(None))
    }

    fn func(function: &TableFunctionInfo<Self>, output: &mut DataChunkHandle) -> Result<(), AnyError> {
        let mut state = function.get_init_data().lock();
        let batches = match &mut *state {
            Some(batches) => batches,
            none => none.insert(start(function.get_bind_data().clone())?),
        };
        match batches.recv() {
            Ok(Message::Batch(columns)) => {
                fill(output, &columns);
                Ok(())
            }
            Ok(Message::End) => {
                output.set_len(0);
                Ok(())
            }
            Ok(Message::Failed(cause)) => Err(cause.into()),
            Err(_) => Err("the reader of JSON broke off".into()),
        }
    }
}

/// Copies rows to DuckDB's vectors. They fit, because a batch has at most `MAX_BATCH_ROWS`.
fn fill(output: &DataChunkHandle, columns: &[StringArray]) {
    for (index, texts) in columns.iter().enumerate() {
        let mut vector = output.flat_vector(index);
        for (row, text) in texts.iter().enumerate() {
            match text {
                Some(text) => vector.insert(row, text),
                None => vector.set_null(row),
            }
        }
    }
    output.set_len(columns.first().map_or(0, Array::len));
}

fn start(reading: Reading) -> io::Result<Receiver<Message>> {
    let (sender, batches) = sync_channel(2);
    thread::Builder::new().spawn(move || {
        let done = match read(&reading, &sender) {
            Ok(()) => Message::End,
            Err(cause) => Message::Failed(cause.to_string()),
        };
        // Fails if the query has ended and the receiver is gone.
        let _ = sender.send(done);
    })?;
    Ok(batches)
}

fn read(reading: &Reading, sender: &SyncSender<Message>) -> Result<(), AnyError> {
    let compression = Compression::detect(&reading.path)?;
    let row_bytes = Rc::new(Cell::new(0));
    let mut plain = BufReader::with_capacity(256 * 1_024, compression.open(&reading.path)?);
    // A byte order mark is not valid JSON, but many programs write one.
    let mut rows = Rows::new(reading, sender, Rc::clone(&row_bytes));
    let begun = plain.fill_buf().map(|start| start.starts_with(b"\xef\xbb\xbf"));
    let read = match begun {
        Ok(has_mark) => {
            plain.consume(if has_mark { 3 } else { 0 });
            read_rows(plain, &row_bytes, &mut rows)
        }
        Err(error) => Err(serde_json::Error::io(error)),
    };
    if let Err(error) = read {
        // An error of this side was kept until now.
        if let Some(failed) = rows.failed.take() {
            return Err(failed);
        }
        rows.flawed(&Flaw::of_row(describe(&error, compression)))?;
    }
    rows.flush()
}

/// Describes for the caller the error that ended the reading.
fn describe(error: &serde_json::Error, compression: Compression) -> String {
    match error.io_error_kind() {
        Some(io::ErrorKind::QuotaExceeded) => {
            format!("the row is longer than {} MB", MAX_ROW_BYTES / 1_048_576)
        }
        Some(kind) => compression.damage(&kind.into()),
        None => format!("it is not JSON in UTF-8 ({error})"),
    }
}

fn read_rows(
    mut plain: BufReader<Box<dyn Read>>,
    row_bytes: &Rc<Cell<u64>>,
    rows: &mut Rows<'_>,
) -> serde_json::Result<()> {
    let is_array = first_byte(&mut plain).map_err(serde_json::Error::io)? == Some(b'[');
    let metered = Metered {
        inner: plain,
        bytes: Rc::clone(row_bytes),
    };
    let mut json = serde_json::Deserializer::from_reader(metered);
    if is_array {
        json.deserialize_seq(&mut *rows)?;
        return json.end();
    }
    for row in json.into_iter::<Box<RawValue>>() {
        rows.add(&row?)?;
    }
    Ok(())
}

/// Content at the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Only white space.
    Nothing,
    /// A file of another kind.
    Other(&'static str),
    /// Content to be read row by row, even if damaged.
    Something,
}

impl Beginning {
    /// Reads the start of the file at `path`.
    pub(crate) fn read(path: &Path) -> platform::Result<Self> {
        let compression = Compression::detect(path)?;
        let plain = compression.open(path).map_err(platform::Error::internal)?;
        let mut plain = BufReader::new(plain);
        Ok(match plain.fill_buf() {
            Ok([0xef, 0xbb, 0xbf]) => Self::Nothing,
            Ok(start) => match (signature::other_than_text(start), first_byte(&mut plain)) {
                (Some(other), _) => Self::Other(other),
                (None, Ok(None)) => Self::Nothing,
                (None, _) => Self::Something,
            },
            Err(_) => Self::Something,
        })
    }
}

/// Returns the first byte that is no white space, without consuming it.
fn first_byte(plain: &mut BufReader<Box<dyn Read>>) -> io::Result<Option<u8>> {
    for _ in 0..MAX_ROW_BYTES {
        let Some(first) = plain.fill_buf()?.first().copied() else {
            return Ok(None);
        };
        if !first.is_ascii_whitespace() {
            return Ok(Some(first));
        }
        plain.consume(1);
    }
    Err(io::ErrorKind::QuotaExceeded.into())
}

/// Stops reading when a row is too long.
struct Metered {
    inner: BufReader<Box<dyn Read>>,
    bytes: Rc<Cell<u64>>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        if self.bytes.get() > MAX_ROW_BYTES {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(count)
    }
}
