//! Reads the row objects of a JSON file: serde_json splits the file into rows and the rows into values.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::batches::{Batches, Value};
use super::reading::{AnyError, Column, Reading};
use crate::import::compression::Compression;
use crate::import::conversion::MAX_JSON_DEPTH;
use crate::import::fault_search::Flaw;
use crate::import::faults::{cut, shown};
use crate::import::{reason, signature};
use crate::schema::types::ColumnType;

/// Longest row, in bytes.
const MAX_ROW_BYTES: u64 = 16 * 1_024 * 1_024;

pub(super) fn read(reading: &Reading, batches: &mut Batches<'_>) -> Result<(), AnyError> {
    let compression = Compression::detect(&reading.path)?;
    let mut plain = BufReader::with_capacity(256 * 1_024, compression.open(&reading.path)?);
    let mut rows = Rows::new(&reading.columns, batches);
    // A byte order mark is not valid JSON, but many programs write one.
    let begun = plain.fill_buf().map(|start| start.starts_with(b"\xef\xbb\xbf"));
    let read = match begun {
        Ok(has_mark) => {
            plain.consume(if has_mark { 3 } else { 0 });
            read_rows(plain, &mut rows)
        }
        Err(error) => Err(serde_json::Error::io(error)),
    };
    match (read, rows.failed.take()) {
        (Ok(()), _) => Ok(()),
        // An error of this side was kept until now.
        (Err(_), Some(failed)) => Err(failed),
        (Err(error), None) => batches.add_flawed(describe(&error, compression)),
    }
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

fn read_rows(mut plain: BufReader<Box<dyn Read>>, rows: &mut Rows<'_, '_>) -> serde_json::Result<()> {
    let is_array = first_byte(&mut plain).map_err(serde_json::Error::io)? == Some(b'[');
    let metered = Metered {
        inner: plain,
        bytes: Rc::clone(&rows.row_bytes),
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

/// Splits row objects into the texts of columns.
struct Rows<'a, 'b> {
    columns: &'a [Column],
    batches: &'a mut Batches<'b>,
    /// Index of each column, by its name in lower case.
    places: HashMap<String, usize>,
    /// Bytes read since the start of the row.
    row_bytes: Rc<Cell<u64>>,
    /// The reason why a row could not be sent.
    failed: Option<AnyError>,
}

impl<'a, 'b> Rows<'a, 'b> {
    fn new(columns: &'a [Column], batches: &'a mut Batches<'b>) -> Self {
        let places = columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.name.to_ascii_lowercase(), index));
        Self {
            columns,
            batches,
            places: places.collect(),
            row_bytes: Rc::default(),
            failed: None,
        }
    }

    /// Adds a row; fails only if a batch cannot be sent.
    fn add(&mut self, raw: &RawValue) -> serde_json::Result<()> {
        self.row_bytes.set(0);
        let added = match serde_json::from_str::<Row<'_>>(raw.get()) {
            Ok(row) => self.add_row(&row),
            Err(_) => self.batches.add_flawed("it is not an object"),
        };
        added.map_err(|error| {
            self.failed = Some(error);
            serde_json::Error::custom("the row cannot be handed over")
        })
    }

    fn add_row(&mut self, row: &Row<'_>) -> Result<(), AnyError> {
        let mut values: Vec<Option<&RawValue>> = vec![None; self.columns.len()];
        let mut flaw: Option<Flaw> = None;
        for (key, value) in &row.0 {
            let place = match self.places.get(key.as_ref()) {
                Some(place) => Some(place),
                None => self.places.get(&key.to_ascii_lowercase()),
            };
            let known = place.and_then(|place| Some((self.columns.get(*place)?, values.get_mut(*place)?)));
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
        let mut texts = Vec::with_capacity(values.len());
        for (index, (column, value)) in self.columns.iter().zip(values).enumerate() {
            texts.push(match value.map(|value| text(column, value)) {
                None => Value::Absent,
                Some(Ok(None)) => Value::Null,
                Some(Ok(Some(text))) => Value::Text(text),
                Some(Err(unfit)) => {
                    flaw.get_or_insert(Flaw {
                        column: Some(index),
                        value: Some(unfit.value),
                        reason: unfit.reason,
                    });
                    Value::Null
                }
            });
        }
        self.batches.add(texts.into_iter(), flaw.as_ref())
    }
}

/// Reads the elements of an array one by one.
impl<'de> Visitor<'de> for &mut Rows<'_, '_> {
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
