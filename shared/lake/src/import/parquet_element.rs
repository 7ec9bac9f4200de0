//! Reads the elements of a Parquet file's schema, and tells what to change in them, so that DuckDB reads all
//! of a value.

use std::cell::Cell;
use std::ops::Range;

use polars_parquet_format::thrift::protocol::{TInputProtocol, TType};
use polars_parquet_format::thrift::{self, ProtocolError, ProtocolErrorKind};

use super::footer_edit::{self, CHANGED, Edit};
use super::parquet_footer::Fault;
use super::wide_decimals;

/// Most structures in one another; Parquet's own are fewer.
const MAX_DEPTH: u32 = 32;
/// Fields of an element, by their numbers in Parquet.
const PHYSICAL_TYPE: i16 = 1;
const REPETITION: i16 = 3;
const NAME: i16 = 4;
const CHILDREN: i16 = 5;
const CONVERTED_TYPE: i16 = 6;
const SCALE: i16 = 7;
const PRECISION: i16 = 8;
const LOGICAL_TYPE: i16 = 10;
/// Field of a logical type that is a decimal, the number that hides it from DuckDB, and the fields of its
/// scale and precision.
const DECIMAL: i16 = 5;
const HIDDEN_DECIMAL: i16 = 9;
const DECIMAL_SCALE: i16 = 1;
const DECIMAL_PRECISION: i16 = 2;
/// Field of a logical type that is a time of day.
const TIME_OF_DAY: i16 = 7;
/// Field of a logical type that is a time, and the fields of a time: whether it is in UTC, and its unit, with
/// the field of a unit that is nanoseconds.
const TIME: i16 = 8;
const IS_UTC: i16 = 1;
const UNIT: i16 = 2;
const NANOSECONDS: i16 = 3;
/// Type of what is false, in the low half of a field's first byte.
const FALSE_BITS: u8 = 2;
/// First byte of a decimal in a logical type, and the one that hides it: a number of a field and the type of
/// its value.
const DECIMAL_BYTE: u8 = 0x5c;
const HIDDEN_DECIMAL_BYTE: u8 = 0x9c;
/// Type of 64 bits in the low half of such a byte. DuckDB skips a field of another type than Parquet's.
const I64_BITS: u8 = 6;
/// Physical types of bytes, of varying and of fixed length.
const BYTES: [i32; 2] = [6, FIXED_BYTES];
const FIXED_BYTES: i32 = 7;
/// Physical types of integers of 64 bits, and of times in 96 bits.
const INT64: i32 = 2;
const INT96: i32 = 3;

/// A part of a column that has no parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// DuckDB tells its type.
    Plain,
    /// A time in 96 bits. DuckDB reads bytes.
    Int96,
    /// A time in UTC in nanoseconds. DuckDB reads it as one without UTC, because it would cut the nanoseconds
    /// of the other.
    UtcNanoseconds,
}

/// An element of the schema: a column, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: Vec<u8>,
    pub(crate) children: i32,
    physical_type: Option<i32>,
    repetition: Option<i32>,
    pub(crate) decimal: Decimal,
    time: Time,
    /// Whether it is a time of day in nanoseconds, which DuckDB cuts.
    pub(crate) is_cut: bool,
    /// Whether an earlier reading has changed the element.
    is_changed: bool,
    /// Positions of the first bytes of the converted type, and of a decimal in the logical type.
    converted_at: Option<usize>,
    logical_at: Option<usize>,
    range: Range<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Decimal {
    pub(crate) precision: i32,
    pub(crate) scale: i32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Time {
    /// Position of the first byte of the field that tells that the time is in UTC, if it is.
    utc_at: Option<usize>,
    is_nanoseconds: bool,
}

impl Element {
    pub(crate) fn leaf(&self) -> Leaf {
        let Time {
            utc_at,
            is_nanoseconds,
        } = self.time;
        match self.physical_type {
            Some(INT96) => Leaf::Int96,
            Some(FIXED_BYTES) if self.is_changed => Leaf::Int96,
            Some(INT64) if is_nanoseconds && (utc_at.is_some() || self.is_changed) => Leaf::UtcNanoseconds,
            _ => Leaf::Plain,
        }
    }

    /// Returns what makes DuckDB read all of a time, unless an earlier reading did so.
    pub(crate) fn exact_time(&self, leaf: Leaf, footer: &[u8]) -> Result<Vec<Edit>, Fault> {
        match (leaf, self.time.utc_at) {
            (Leaf::Int96, _) if self.physical_type == Some(INT96) => {
                let repetition = self.repetition.map(|repetition| match repetition {
                    0..=2 => Ok(repetition as u8),
                    _ => Err(Fault::Damaged),
                });
                let bytes = footer_edit::twelve_bytes(&self.name, repetition.transpose()?);
                let range = self.range.clone();
                Ok(vec![Edit { range, bytes }])
            }
            (Leaf::UtcNanoseconds, Some(at)) => {
                let byte = footer.get(at).ok_or(Fault::Damaged)? & 0xf0 | FALSE_BITS;
                Ok(vec![Edit::of_byte(at, byte), Edit::marking(self.range.end - 1)])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns what hides that the element is a decimal; None if it cannot be hidden.
    pub(crate) fn hidden_decimal(&self, footer: &[u8]) -> Option<Vec<Edit>> {
        let Decimal { precision, scale } = self.decimal;
        let is_bytes = self.physical_type.is_some_and(|kind| BYTES.contains(&kind));
        if !is_bytes || precision > wide_decimals::MAX_DIGITS || !(0..=precision).contains(&scale) {
            return None;
        }
        let mut edits = Vec::new();
        if let Some(at) = self.converted_at {
            let byte = footer.get(at)? & 0xf0 | I64_BITS;
            edits.push(Edit::of_byte(at, byte));
        }
        if let Some(at) = self.logical_at {
            let is_known = [DECIMAL_BYTE, HIDDEN_DECIMAL_BYTE].contains(footer.get(at)?);
            let byte = is_known.then_some(HIDDEN_DECIMAL_BYTE)?;
            edits.push(Edit::of_byte(at, byte));
        }
        Some(edits)
    }
}

/// Reads an element. Fields of another type than Parquet's are skipped, as DuckDB does.
pub(crate) fn element(input: &mut impl TInputProtocol, at: &Cell<usize>) -> Result<Element, Fault> {
    let mut element = Element::default();
    let element_begin = at.get();
    input.read_struct_begin()?;
    loop {
        let begin = at.get();
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(PHYSICAL_TYPE), TType::I32) => element.physical_type = Some(input.read_i32()?),
            (Some(REPETITION), TType::I32) => element.repetition = Some(input.read_i32()?),
            (Some(NAME), TType::String) => element.name = input.read_bytes()?,
            (Some(CHANGED), TType::Bool) => element.is_changed = input.read_bool()?,
            (Some(CHILDREN), TType::I32) => element.children = input.read_i32()?,
            (Some(CONVERTED_TYPE), TType::I32 | TType::I64) => {
                element.converted_at = Some(begin);
                input.read_i64()?;
            }
            (Some(SCALE), TType::I32) => element.decimal.scale = input.read_i32()?,
            (Some(PRECISION), TType::I32) => {
                element.decimal.precision = element.decimal.precision.max(input.read_i32()?);
            }
            (Some(LOGICAL_TYPE), TType::Struct) => read_logical_type(input, at, &mut element)?,
            (_, other) => skip_value(input, other)?,
        }
    }
    input.read_struct_end()?;
    element.range = element_begin..at.get();
    Ok(element)
}

/// Reads the decimal or the time of a logical type, if it is one. It has the last word on the scale.
fn read_logical_type(
    input: &mut impl TInputProtocol,
    at: &Cell<usize>,
    element: &mut Element,
) -> Result<(), Fault> {
    input.read_struct_begin()?;
    loop {
        let begin = at.get();
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(DECIMAL | HIDDEN_DECIMAL), TType::Struct) => {
                let decimal = logical_decimal(input)?;
                element.logical_at = Some(begin);
                element.decimal.scale = decimal.scale;
                element.decimal.precision = element.decimal.precision.max(decimal.precision);
            }
            (Some(TIME), TType::Struct) => element.time = logical_time(input, at)?,
            (Some(TIME_OF_DAY), TType::Struct) => element.is_cut = logical_time(input, at)?.is_nanoseconds,
            (_, other) => skip_value(input, other)?,
        }
    }
    input.read_struct_end()?;
    Ok(())
}

fn logical_time(input: &mut impl TInputProtocol, at: &Cell<usize>) -> Result<Time, Fault> {
    let mut time = Time::default();
    input.read_struct_begin()?;
    loop {
        let begin = at.get();
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(IS_UTC), TType::Bool) => time.utc_at = input.read_bool()?.then_some(begin),
            (Some(UNIT), TType::Struct) => time.is_nanoseconds = is_nanoseconds(input)?,
            (_, other) => skip_value(input, other)?,
        }
    }
    input.read_struct_end()?;
    Ok(time)
}

fn is_nanoseconds(input: &mut impl TInputProtocol) -> Result<bool, Fault> {
    let mut is_nanoseconds = false;
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match field.field_type {
            TType::Stop => break,
            other => skip_value(input, other)?,
        }
        is_nanoseconds = field.id == Some(NANOSECONDS);
    }
    input.read_struct_end()?;
    Ok(is_nanoseconds)
}

fn logical_decimal(input: &mut impl TInputProtocol) -> Result<Decimal, Fault> {
    let mut decimal = Decimal::default();
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(DECIMAL_SCALE), TType::I32) => decimal.scale = input.read_i32()?,
            (Some(DECIMAL_PRECISION), TType::I32) => decimal.precision = input.read_i32()?,
            (_, other) => skip_value(input, other)?,
        }
    }
    input.read_struct_end()?;
    Ok(decimal)
}

pub(crate) fn skip_value(input: &mut impl TInputProtocol, kind: TType) -> thrift::Result<()> {
    skip(input, kind, MAX_DEPTH)
}

/// The crate's own method refuses bytes that are no text, such as the least value of a
/// column.
fn skip(input: &mut impl TInputProtocol, kind: TType, depth: u32) -> thrift::Result<()> {
    let below = depth.checked_sub(1).ok_or_else(|| {
        thrift::Error::Protocol(ProtocolError {
            kind: ProtocolErrorKind::DepthLimit,
            message: String::new(),
        })
    })?;
    match kind {
        TType::String => input.read_bytes().map(drop),
        TType::Struct => {
            input.read_struct_begin()?;
            loop {
                match input.read_field_begin()?.field_type {
                    TType::Stop => return input.read_struct_end(),
                    field => skip(input, field, below)?,
                }
            }
        }
        TType::List | TType::Set => {
            let list = input.read_list_begin()?;
            (0..list.size).try_for_each(|_| skip(input, list.element_type, below))
        }
        TType::Map => {
            let map = input.read_map_begin()?;
            for kind in (0..map.size)
                .flat_map(|_| [map.key_type, map.value_type])
                .flatten()
            {
                skip(input, kind, below)?;
            }
            Ok(())
        }
        plain => input.skip(plain),
    }
}
