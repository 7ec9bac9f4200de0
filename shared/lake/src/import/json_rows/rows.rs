//! Splits row objects into the texts of columns, and collects these into batches for DuckDB.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;

use duckdb::arrow::array::StringBuilder;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{AnyError, Column, Message, Reading};
use crate::import::conversion::MAX_JSON_DEPTH;
use crate::import::fault_search::Flaw;
use crate::import::faults::{cut, shown};
use crate::import::reason;
use crate::schema::types::ColumnType;

/// Most rows that DuckDB takes at a time.
const MAX_BATCH_ROWS: usize = 2_048;
/// Bytes at which a batch is sent before it is full.
const MAX_BATCH_BYTES: usize = 4 * 1_024 * 1_024;

/// A row as sent. It keeps repeated keys, so that they are reported and not silently dropped.
struct Row<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Row<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;

        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut row = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    row.push(entry);
                }
                Ok(Row(row))
            }
        }

        deserializer.deserialize_map(RowVisitor)
    }
}

/// Rows that are sent to DuckDB in batches.
pub(super) struct Rows<'a> {
    reading: &'a Reading,
    sender: &'a SyncSender<Message>,
    /// Index of each column, by its name in lower case.
    places: HashMap<String, usize>,
    texts: Vec<StringBuilder>,
    absent: Vec<Option<StringBuilder>>,
    flaws: StringBuilder,
    rows: usize,
    bytes: usize,
    row_bytes: Rc<Cell<u64>>,
    /// The reason why a row could not be sent.
    pub(super) failed: Option<AnyError>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        reading: &'a Reading,
        sender: &'a SyncSender<Message>,
        row_bytes: Rc<Cell<u64>>,
    ) -> Self {
        let columns = &reading.columns;
        let places = columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.name.to_ascii_lowercase(), index));
        Self {
            reading,
            sender,
            places: places.collect(),
            texts: columns.iter().map(|_| StringBuilder::new()).collect(),
            absent: columns
                .iter()
                .map(|column| column.has_default.then(StringBuilder::new))
                .collect(),
            flaws: StringBuilder::new(),
            rows: 0,
            bytes: 0,
            row_bytes,
            failed: None,
        }
    }

    /// Adds a row; fails only if a batch cannot be sent.
    pub(super) fn add(&mut self, raw: &RawValue) -> serde_json::Result<()> {
        self.row_bytes.set(0);
        let added = match serde_json::from_str::<Row<'_>>(raw.get()) {
            Ok(row) => self.add_row(&row, raw.get().len()),
            Err(_) => self.flawed(&Flaw::of_row("it is not an object")),
        };
        added.map_err(|error| {
            self.failed = Some(error);
            serde_json::Error::custom("the row cannot be handed over")
        })
    }

    fn add_row(&mut self, row: &Row<'_>, bytes: usize) -> Result<(), AnyError> {
        let columns = &self.reading.columns;
        let mut values: Vec<Option<&RawValue>> = vec![None; columns.len()];
        let mut flaw: Option<Flaw> = None;
        for (key, value) in &row.0 {
            let place = match self.places.get(key.as_ref()) {
                Some(place) => Some(place),
                None => self.places.get(&key.to_ascii_lowercase()),
            };
            let known = place.and_then(|place| Some((columns.get(*place)?, values.get_mut(*place)?)));
            match known {
                None => {
                    let unknown = || Flaw::of_row(format!("the table has no column {}", shown(key)));
                    flaw.get_or_insert_with(unknown);
                }
                Some((column, Some(_))) => {
                    let twice = || Flaw::of_row(format!("the column '{}' is named twice", column.name));
                    flaw.get_or_insert_with(twice);
                }
                Some((_, slot)) => *slot = Some(value),
            }
        }
        let columns = columns.iter().zip(values);
        let slots = self.texts.iter_mut().zip(&mut self.absent);
        for (index, ((column, value), (texts, absent))) in columns.zip(slots).enumerate() {
            if let Some(absent) = absent {
                absent.append_option(value.is_none().then_some(""));
            }
            match value.map(|value| text(column, value)) {
                None | Some(Ok(None)) => texts.append_null(),
                Some(Ok(Some(text))) => texts.append_value(text),
                Some(Err(unfit)) => {
                    flaw.get_or_insert(Flaw {
                        column: Some(index),
                        value: Some(unfit.value),
                        reason: unfit.reason,
                    });
                    texts.append_null();
                }
            }
        }
        let flaw = flaw.as_ref().map(serde_json::to_string).transpose()?;
        self.flaws.append_option(flaw);
        self.next(bytes)
    }

    /// Adds a row that has only a flaw.
    pub(super) fn flawed(&mut self, flaw: &Flaw) -> Result<(), AnyError> {
        let flaw = serde_json::to_string(flaw)?;
        self.texts.iter_mut().for_each(StringBuilder::append_null);
        self.absent
            .iter_mut()
            .flatten()
            .for_each(StringBuilder::append_null);
        self.flaws.append_value(&flaw);
        self.next(flaw.len())
    }

    fn next(&mut self, bytes: usize) -> Result<(), AnyError> {
        self.rows += 1;
        self.bytes += bytes;
        if self.rows < MAX_BATCH_ROWS && self.bytes < MAX_BATCH_BYTES {
            return Ok(());
        }
        self.flush()
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

/// Reads the elements of an array one by one.
impl<'de> Visitor<'de> for &mut Rows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of row objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<Box<RawValue>>()? {
            self.add(&row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// A value that does not fit its column's type.
struct Unfit {
    value: String,
    reason: String,
}

/// Returns the text of a value, which is read by the grammar of the column's type; fails if the value has
/// parts, and the column is not JSON.
fn text<'a>(column: &Column, value: &'a RawValue) -> Result<Option<Cow<'a, str>>, Unfit> {
    let raw = value.get();
    let because = |reason: String| Unfit {
        value: cut(raw),
        reason,
    };
    let is_json = column.column_type == ColumnType::Json;
    match raw.bytes().next() {
        Some(b'n') => Ok(None),
        _ if is_json && depth(raw) > MAX_JSON_DEPTH => {
            Err(because(reason::reason(ColumnType::Json, true, &shown(raw))))
        }
        Some(b'"') if !is_json => serde_json::from_str(raw)
            .map(Some)
            .map_err(|_| because(format!("{} is not text in Unicode", shown(raw)))),
        Some(b'[' | b'{') if !is_json => Err(because(format!(
            "{} is not a {}; send a single value, or give the column the type JSON",
            shown(raw),
            column.column_type
        ))),
        _ => Ok(Some(raw.into())),
    }
}

/// Returns the nesting depth of valid JSON.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_what_nests() {
        for (json, expected) in [
            ("1", 0),
            (r#""[[[""#, 0),
            (r#""\"[[""#, 0),
            (r#"{"a":[1,{"b":"]"}],"c":[]}"#, 3),
            ("[[],[[]]]", 3),
        ] {
            assert_eq!(depth(json), expected, "{json}");
        }
    }
}
