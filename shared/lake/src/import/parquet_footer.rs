//! Bounds the footer of a Parquet file before DuckDB reads it.
//!
//! DuckDB builds the types of all columns before it can tell them: its time grows with the square of the
//! columns and of the levels, and its stack with the levels. Here, each element of the schema costs the same.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use polars_parquet_format::thrift::protocol::{TCompactInputProtocol, TInputProtocol, TType};
use polars_parquet_format::thrift::{self, ProtocolError, ProtocolErrorKind};

use super::wide_decimals::{self, Mark};

/// Most bytes of a footer. DuckDB takes many times the memory.
const MAX_FOOTER_BYTES: u32 = 16 * 1_024 * 1_024;
/// Most elements of a schema: the columns, and the parts of nested ones. DuckDB takes half a second for
/// these.
const MAX_ELEMENTS: u32 = 10_000;
/// Most structures in one another; Parquet's own are fewer.
const MAX_DEPTH: u32 = 32;
/// Bytes at the end: the length of the footer, and the last four.
const END_BYTES: u64 = 8;
/// Fields of the footer and of an element, by their numbers in Parquet.
const SCHEMA: i16 = 2;
const PHYSICAL_TYPE: i16 = 1;
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
/// First byte of a decimal in a logical type, and the one that hides it: a number of a field and the type of
/// its value.
const DECIMAL_BYTE: u8 = 0x5c;
const HIDDEN_DECIMAL_BYTE: u8 = 0x9c;
/// Type of 64 bits in the low half of such a byte. DuckDB skips a field of another type than Parquet's.
const I64_BITS: u8 = 6;
/// Physical types of bytes, of varying and of fixed length.
const BYTES: [i32; 2] = [6, 7];
/// The physical type of times in 96 bits.
const INT96: i32 = 3;
/// Most digits of a decimal that DuckDB reads.
const MAX_DIGITS: i32 = 38;

/// What a footer tells beside the types that DuckDB gives to columns.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    /// Columns with times in 96 bits, also within lists, structs and maps.
    pub(crate) int96: HashSet<String>,
    /// Columns of decimals of more than 38 digits, with the digits after their points. DuckDB reads their
    /// bytes.
    pub(crate) wide_decimals: HashMap<String, i32>,
    /// What hides that these are decimals.
    marks: Vec<Mark>,
}

/// An element of the schema: a column, or a part of one.
#[derive(Debug, Default)]
struct Element {
    name: String,
    children: i32,
    physical_type: Option<i32>,
    decimal: Decimal,
    /// Positions of the first bytes of the converted type, and of a decimal in the logical type.
    converted_at: Option<usize>,
    logical_at: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Decimal {
    precision: i32,
    scale: i32,
}

/// Tells how many bytes have been read.
struct Counted<'a> {
    bytes: &'a [u8],
    at: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.at.set(self.at.get() + count);
        Ok(count)
    }
}

pub(crate) enum Fault {
    /// The footer cannot be read.
    Damaged,
    /// Bytes of the footer, and the most that can be read.
    Long(u32, u32),
    /// Elements of the schema, and the most that can be read.
    Wide(u32, u32),
    /// The column with too many groups in one another.
    Deep(String),
    /// The column with a decimal, within a list, struct or map, that DuckDB reads as another number, and the
    /// digits of its type.
    Digits(String, i32),
}

impl From<thrift::Error> for Fault {
    fn from(_: thrift::Error) -> Self {
        Self::Damaged
    }
}

/// Fails if the footer is too large, or has too many elements or groups in one another. The file has
/// Parquet's last bytes. Hides from DuckDB that a column has decimals of more than 38 digits.
pub(crate) fn check(path: &Path, max_groups: usize) -> Result<Footer, Fault> {
    let mut columns = Footer::default();
    let footer = read(path)?;
    // A list of structures without fields takes a byte each; the crate counts 10 for these.
    let most = footer.len().saturating_mul(16);
    let at = Cell::new(0);
    let counted = Counted {
        bytes: &footer,
        at: &at,
    };
    let mut input = TCompactInputProtocol::new(counted, most);
    let mut schemas = 0;
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(SCHEMA), TType::List) => {
                schemas += 1;
                check_schema(&mut input, (&footer, &at), max_groups, &mut columns)?;
            }
            (_, other) => skip(&mut input, other, MAX_DEPTH)?,
        }
    }
    if schemas != 1 {
        return Err(Fault::Damaged);
    }
    if !columns.marks.is_empty() {
        wide_decimals::mark(path, footer.len(), &columns.marks).map_err(|_| Fault::Damaged)?;
    }
    Ok(columns)
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut file = File::open(path).map_err(|_| Fault::Damaged)?;
    let mut read = |length: usize, from_end: u64| -> io::Result<Vec<u8>> {
        let from_end = i64::try_from(from_end).map_err(io::Error::other)?;
        file.seek(SeekFrom::End(-from_end))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let length = read(4, END_BYTES).map_err(|_| Fault::Damaged)?;
    let length = <[u8; 4]>::try_from(length).map_err(|_| Fault::Damaged)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_FOOTER_BYTES {
        return Err(Fault::Long(length, MAX_FOOTER_BYTES));
    }
    read(length as usize, END_BYTES + u64::from(length)).map_err(|_| Fault::Damaged)
}

/// Reads the elements, each before its children.
fn check_schema(
    input: &mut impl TInputProtocol,
    (footer, at): (&[u8], &Cell<usize>),
    max_groups: usize,
    columns: &mut Footer,
) -> Result<(), Fault> {
    let elements = input.read_list_begin()?.size;
    if elements > MAX_ELEMENTS {
        return Err(Fault::Wide(elements, MAX_ELEMENTS));
    }
    // How many children of each open group are still to come; the first is the root.
    let mut awaited: Vec<i32> = Vec::new();
    let mut column = String::new();
    for _ in 0..elements {
        let element = element(input, at)?;
        let (name, children) = (&element.name, element.children);
        while awaited.pop_if(|children| *children == 0).is_some() {}
        if let Some(last) = awaited.last_mut() {
            *last -= 1;
        }
        if awaited.len() == 1 {
            column.clone_from(name);
        }
        if element.physical_type == Some(INT96) {
            columns.int96.insert(column.clone());
        }
        if element.decimal.precision > MAX_DIGITS {
            let is_column = awaited.len() == 1;
            match element.hidden_decimal(footer).filter(|_| is_column) {
                Some(marks) => columns.marks.extend(marks),
                None => return Err(Fault::Digits(column, element.decimal.precision)),
            }
            columns
                .wide_decimals
                .insert(column.clone(), element.decimal.scale);
        }
        if children > 0 {
            awaited.push(children);
        }
        if awaited.len() > max_groups + 1 {
            return Err(Fault::Deep(column));
        }
    }
    Ok(())
}

impl Element {
    /// Returns what hides that the element is a decimal; None if it cannot be hidden.
    fn hidden_decimal(&self, footer: &[u8]) -> Option<Vec<Mark>> {
        let Decimal { precision, scale } = self.decimal;
        let is_bytes = self.physical_type.is_some_and(|kind| BYTES.contains(&kind));
        if !is_bytes || precision > wide_decimals::MAX_DIGITS || !(0..=precision).contains(&scale) {
            return None;
        }
        let mut marks = Vec::new();
        if let Some(at) = self.converted_at {
            let byte = footer.get(at)? & 0xf0 | I64_BITS;
            marks.push(Mark { at, byte });
        }
        if let Some(at) = self.logical_at {
            let is_known = [DECIMAL_BYTE, HIDDEN_DECIMAL_BYTE].contains(footer.get(at)?);
            let byte = is_known.then_some(HIDDEN_DECIMAL_BYTE)?;
            marks.push(Mark { at, byte });
        }
        Some(marks)
    }
}

/// Reads an element. Fields of another type than Parquet's are skipped, as DuckDB does.
fn element(input: &mut impl TInputProtocol, at: &Cell<usize>) -> Result<Element, Fault> {
    let mut element = Element::default();
    input.read_struct_begin()?;
    loop {
        let begin = at.get();
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(PHYSICAL_TYPE), TType::I32) => element.physical_type = Some(input.read_i32()?),
            (Some(NAME), TType::String) => {
                element.name = String::from_utf8_lossy(&input.read_bytes()?).into_owned();
            }
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
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok(element)
}

/// Reads the decimal of a logical type, if it is one. It has the last word on the scale.
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
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok(())
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
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok(decimal)
}

/// Reads past a value. The crate's own method refuses bytes that are no text, such as the least value of a
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
