//! Bounds the footer of a Parquet file before DuckDB reads it.
//!
//! DuckDB builds the types of all columns before it can tell them: its time grows with the square of the
//! columns and of the levels, and its stack with the levels. Here, each element of the schema costs the same.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use polars_parquet_format::thrift::protocol::{TCompactInputProtocol, TInputProtocol, TType};
use polars_parquet_format::thrift::{self, ProtocolError, ProtocolErrorKind};

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
const PRECISION: i16 = 8;
const LOGICAL_TYPE: i16 = 10;
/// Field of a logical type that is a decimal, and the field of its precision.
const DECIMAL: i16 = 5;
const DECIMAL_PRECISION: i16 = 2;
/// The physical type of times in 96 bits.
const INT96: i32 = 3;
/// Most digits of a decimal that DuckDB reads exactly.
const MAX_DIGITS: i32 = 38;

/// What a footer tells beside the types that DuckDB gives to columns.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    /// Columns of times in 96 bits.
    pub(crate) int96: Vec<String>,
}

/// An element of the schema: a column, or a part of one.
#[derive(Debug, Default)]
struct Element {
    name: String,
    children: i32,
    physical_type: Option<i32>,
    precision: i32,
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
    /// The column with a decimal that DuckDB reads as another number, and the digits of its type.
    Digits(String, i32),
}

impl From<thrift::Error> for Fault {
    fn from(_: thrift::Error) -> Self {
        Self::Damaged
    }
}

/// Fails if the footer is too large, or has too many elements or groups in one another. The file has
/// Parquet's last bytes.
pub(crate) fn check(path: &Path, max_groups: usize) -> Result<Footer, Fault> {
    let mut columns = Footer::default();
    let footer = read(path)?;
    // A list of structures without fields takes a byte each; the crate counts 10 for these.
    let most = footer.len().saturating_mul(16);
    let mut input = TCompactInputProtocol::new(footer.as_slice(), most);
    let mut schemas = 0;
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(SCHEMA), TType::List) => {
                schemas += 1;
                check_schema(&mut input, max_groups, &mut columns)?;
            }
            (_, other) => skip(&mut input, other, MAX_DEPTH)?,
        }
    }
    match schemas {
        1 => Ok(columns),
        _ => Err(Fault::Damaged),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let mut file = File::open(path).map_err(|_| Fault::Damaged)?;
    let mut read = |length: usize, from_end: u64| -> std::io::Result<Vec<u8>> {
        let from_end = i64::try_from(from_end).map_err(std::io::Error::other)?;
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
        let element = element(input)?;
        let (name, children) = (element.name, element.children);
        while awaited.pop_if(|children| *children == 0).is_some() {}
        if let Some(last) = awaited.last_mut() {
            *last -= 1;
        }
        if awaited.len() == 1 {
            column = name;
            if element.physical_type == Some(INT96) {
                columns.int96.push(column.clone());
            }
        }
        if element.precision > MAX_DIGITS {
            return Err(Fault::Digits(column, element.precision));
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

/// Reads an element. Fields of another type than Parquet's are skipped, as DuckDB does.
fn element(input: &mut impl TInputProtocol) -> Result<Element, Fault> {
    let mut element = Element::default();
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(PHYSICAL_TYPE), TType::I32) => element.physical_type = Some(input.read_i32()?),
            (Some(NAME), TType::String) => {
                element.name = String::from_utf8_lossy(&input.read_bytes()?).into_owned();
            }
            (Some(CHILDREN), TType::I32) => element.children = input.read_i32()?,
            (Some(PRECISION), TType::I32) => element.precision = element.precision.max(input.read_i32()?),
            (Some(LOGICAL_TYPE), TType::Struct) => {
                element.precision = element.precision.max(logical_precision(input)?);
            }
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok(element)
}

/// Returns the precision in a logical type; 0 if it is no decimal.
fn logical_precision(input: &mut impl TInputProtocol) -> Result<i32, Fault> {
    let mut precision = 0;
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(DECIMAL), TType::Struct) => {
                input.read_struct_begin()?;
                loop {
                    let field = input.read_field_begin()?;
                    match (field.id, field.field_type) {
                        (_, TType::Stop) => break,
                        (Some(DECIMAL_PRECISION), TType::I32) => precision = input.read_i32()?,
                        (_, other) => skip(input, other, MAX_DEPTH)?,
                    }
                }
                input.read_struct_end()?;
            }
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok(precision)
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
