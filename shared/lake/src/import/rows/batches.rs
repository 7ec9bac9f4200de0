//! Collects the texts of rows into batches for DuckDB.

use std::borrow::Cow;
use std::sync::mpsc::SyncSender;

use duckdb::arrow::array::{StringArray, StringBuilder};

use super::reading::{AnyError, Column};
use crate::import::fault_search::Flaw;

/// Most rows that DuckDB takes at a time.
const MAX_BATCH_ROWS: usize = 2_048;
/// Bytes at which a batch is sent before it is full.
const MAX_BATCH_BYTES: usize = 4 * 1_024 * 1_024;

/// Messages of the reading thread. The end is explicit, so that a thread that panicked is not mistaken for
/// it.
pub(super) enum Message {
    /// One array per column, all with the number of rows.
    Batch(Vec<StringArray>),
    Failed(String),
    End,
}

/// A value of a row.
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Null,
    /// The row omits the column.
    Absent,
}

/// Rows that are sent to DuckDB in batches.
pub(super) struct Batches<'a> {
    sender: &'a SyncSender<Message>,
    texts: Vec<StringBuilder>,
    absent: Vec<Option<StringBuilder>>,
    flaws: StringBuilder,
    rows: usize,
    bytes: usize,
}

impl<'a> Batches<'a> {
    pub(super) fn new(columns: &[Column], sender: &'a SyncSender<Message>) -> Self {
        let absent = columns
            .iter()
            .map(|column| column.has_default.then(StringBuilder::new));
        Self {
            sender,
            texts: columns.iter().map(|_| StringBuilder::new()).collect(),
            absent: absent.collect(),
            flaws: StringBuilder::new(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds a row with a value for each column; fails only if a batch cannot be sent.
    pub(super) fn add<'v>(
        &mut self,
        values: impl Iterator<Item = Value<'v>>,
        flaw: Option<&Flaw>,
    ) -> Result<(), AnyError> {
        for ((texts, absent), value) in self.texts.iter_mut().zip(&mut self.absent).zip(values) {
            if let Some(absent) = absent {
                absent.append_option(matches!(value, Value::Absent).then_some(""));
            }
            match value {
                Value::Text(text) => {
                    self.bytes += text.len();
                    texts.append_value(text);
                }
                Value::Null | Value::Absent => texts.append_null(),
            }
        }
        self.flaws
            .append_option(flaw.map(serde_json::to_string).transpose()?);
        self.rows += 1;
        if self.rows < MAX_BATCH_ROWS && self.bytes < MAX_BATCH_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Adds a row that has only a flaw.
    pub(super) fn add_flawed(&mut self, reason: impl Into<String>) -> Result<(), AnyError> {
        let nulls = vec![(); self.texts.len()].into_iter().map(|()| Value::Null);
        self.add(nulls, Some(&Flaw::of_row(reason)))
    }

    pub(super) fn flush(&mut self) -> Result<(), AnyError> {
        if self.rows == 0 {
            return Ok(());
        }
        let builders = self
            .texts
            .iter_mut()
            .chain(self.absent.iter_mut().flatten())
            .chain([&mut self.flaws]);
        let columns = builders.map(StringBuilder::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        let sent = self.sender.send(Message::Batch(columns));
        sent.map_err(|error| error.to_string().into())
    }
}
