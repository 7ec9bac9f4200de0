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
const NAME: i16 = 4;
const CHILDREN: i16 = 5;

pub(crate) enum Fault {
    /// The footer cannot be read.
    Damaged,
    /// Bytes of the footer, and the most that can be read.
    Long(u32, u32),
    /// Elements of the schema, and the most that can be read.
    Wide(u32, u32),
    /// The column with too many groups in one another.
    Deep(String),
}

impl From<thrift::Error> for Fault {
    fn from(_: thrift::Error) -> Self {
        Self::Damaged
    }
}

/// Fails if the footer is too large, or has too many elements or groups in one another. The file has
/// Parquet's last bytes.
pub(crate) fn check(path: &Path, max_groups: usize) -> Result<(), Fault> {
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
                check_schema(&mut input, max_groups)?;
            }
            (_, other) => skip(&mut input, other, MAX_DEPTH)?,
        }
    }
    match schemas {
        1 => Ok(()),
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
fn check_schema(input: &mut impl TInputProtocol, max_groups: usize) -> Result<(), Fault> {
    let elements = input.read_list_begin()?.size;
    if elements > MAX_ELEMENTS {
        return Err(Fault::Wide(elements, MAX_ELEMENTS));
    }
    // How many children of each open group are still to come; the first is the root.
    let mut awaited: Vec<i32> = Vec::new();
    let mut column = String::new();
    for _ in 0..elements {
        let (name, children) = element(input)?;
        while awaited.pop_if(|children| *children == 0).is_some() {}
        if let Some(last) = awaited.last_mut() {
            *last -= 1;
        }
        if awaited.len() == 1 {
            column = name;
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

/// Returns the name and the number of children of an element. Fields of another type than Parquet's are
/// skipped, as DuckDB does.
fn element(input: &mut impl TInputProtocol) -> Result<(String, i32), Fault> {
    let (mut name, mut children) = (String::new(), 0);
    input.read_struct_begin()?;
    loop {
        let field = input.read_field_begin()?;
        match (field.id, field.field_type) {
            (_, TType::Stop) => break,
            (Some(NAME), TType::String) => name = String::from_utf8_lossy(&input.read_bytes()?).into_owned(),
            (Some(CHILDREN), TType::I32) => children = input.read_i32()?,
            (_, other) => skip(input, other, MAX_DEPTH)?,
        }
    }
    input.read_struct_end()?;
    Ok((name, children))
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
