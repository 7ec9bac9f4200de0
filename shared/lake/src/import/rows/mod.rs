//! Reads a CSV or JSON file as a relation of texts: the table function `file_rows`, from which DuckDB pulls.
//!
//! DuckDB's own readers lose data silently: that of JSON turns numbers into doubles, reads a missing key as
//! null, and ignores unknown keys; for that of CSV see [`crate::import::records`]. Here each value stays its
//! text, with its digits unchanged, whatever the format, and is converted by
//! [`crate::import::conversion`]. A thread reads ahead; memory is limited to a few batches and the longest
//! row.
//!
//! Columns of the relation, for the column number `i`: `c<i>` has the text, or NULL; if that column has a
//! default, `d<i>` is not NULL in rows that omit it. [`FLAW`] has the fault in the row's shape, a
//! [`Flaw`](crate::import::fault_search::Flaw).
//! An error that ends the reading (invalid JSON, an open quote) is the flaw of a last row, so that it is
//! reported with a row number like any other.

mod batches;
mod csv;
pub(crate) mod json;
mod reading;

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use batches::{Batches, Message};
use duckdb::Connection;
use duckdb::arrow::array::{Array, StringArray};
use duckdb::core::{DataChunkHandle, Inserter as _, LogicalTypeHandle, LogicalTypeId};
use duckdb::vtab::{BindInfo, InitInfo, TableFunctionInfo, VTab};
use parking_lot::Mutex;
use reading::AnyError;

use crate::import::file_format::FileFormat;
use crate::import::staging::Relation;
use crate::tables::sql;

pub(crate) use reading::{Column, Reading};

const NAME: &str = "file_rows";
/// Column with the flaw of a row.
const FLAW: &str = "flaw";

impl Reading {
    /// Returns the rows of the file. A connection reads them once it knows the function.
    pub(crate) fn relation(&self, connection: &Connection) -> platform::Result<Relation> {
        connection
            .register_table_function::<FileRows>(NAME)
            .map_err(platform::Error::internal)?;
        let reading = serde_json::to_string(self).map_err(platform::Error::internal)?;
        Ok(Relation {
            sql: format!("{NAME}({})", sql::literal(&reading)),
            flaw: Some(FLAW.to_owned()),
        })
    }
}

struct FileRows;

impl VTab for FileRows {
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
            Err(_) => Err("the reader of the file broke off".into()),
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
    let (sender, receiver) = sync_channel(2);
    thread::Builder::new().spawn(move || {
        let mut batches = Batches::new(&reading.columns, &sender);
        let done = match reading.format {
            FileFormat::Csv => csv::read(&reading, &mut batches),
            _ => json::read(&reading, &mut batches),
        };
        let done = match done.and_then(|()| batches.flush()) {
            Ok(()) => Message::End,
            Err(cause) => Message::Failed(cause.to_string()),
        };
        // Fails if the query has ended and the receiver is gone.
        let _ = sender.send(done);
    })?;
    Ok(receiver)
}
