//! Bounds the footer of a Parquet file before DuckDB reads it, and changes what DuckDB would read as other
//! values.
//!
//! DuckDB builds the types of all columns before it can tell them: its time grows with the square of the
//! columns and of the levels, and its stack with the levels. Here, each element of the schema costs the same.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::Path;

use polars_parquet_format::thrift;
use polars_parquet_format::thrift::protocol::{TCompactInputProtocol, TInputProtocol, TType};

use super::footer_edit::{self, Edit};
use super::parquet_element::{Leaf, element, skip_value};

/// Most bytes of a footer. DuckDB takes many times the memory.
const MAX_FOOTER_BYTES: u32 = 16 * 1_024 * 1_024;
/// Most elements of a schema: the columns, and the parts of nested ones. DuckDB takes half a second for
/// these.
const MAX_ELEMENTS: u32 = 10_000;
/// Bytes at the end: the length of the footer, and the last four.
const END_BYTES: u64 = 8;
/// Field of the footer, by its number in Parquet.
const SCHEMA: i16 = 2;
/// Most digits of a decimal that DuckDB reads.
const MAX_DIGITS: i32 = 38;

/// What a footer tells beside the types that DuckDB gives to columns.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    /// Columns with times that DuckDB reads as something else, also within lists, structs and maps: the
    /// leaves of the column, in order.
    pub(crate) leaves: HashMap<String, Vec<Leaf>>,
    /// Columns of decimals of more than 38 digits, with the digits after their points. DuckDB reads their
    /// bytes.
    pub(crate) wide_decimals: HashMap<String, i32>,
    /// What makes DuckDB read these as they are.
    edits: Vec<Edit>,
}

#[derive(Debug, Default)]
struct Group {
    /// Children still to come.
    awaited: i32,
    /// Names of the others, by their lower-case form.
    names: HashMap<String, String>,
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
    /// The column with times of day in nanoseconds within a list, struct or map.
    CutTime(String),
    /// Two columns whose names are equal without regard to case.
    EqualColumns(String, String),
    /// The column with such fields, and the fields.
    EqualFields(String, String, String),
}

impl From<thrift::Error> for Fault {
    fn from(_: thrift::Error) -> Self {
        Self::Damaged
    }
}

/// Fails if the footer is too large, or has too many elements or groups in one another. The file has
/// Parquet's last bytes. Hides from DuckDB that a column has decimals of more than 38 digits, and what times
/// are whose digits it would cut.
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
            (_, other) => skip_value(&mut input, other)?,
        }
    }
    if schemas != 1 {
        return Err(Fault::Damaged);
    }
    if !columns.edits.is_empty() {
        footer_edit::write(path, &footer, &columns.edits).map_err(|_| Fault::Damaged)?;
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
    // The first is the root.
    let mut groups: Vec<Group> = Vec::new();
    let mut column = String::new();
    let mut leaves = Vec::new();
    for _ in 0..elements {
        let element = element(input, at)?;
        let name = String::from_utf8_lossy(&element.name).into_owned();
        while groups.pop_if(|group| group.awaited == 0).is_some() {}
        let is_column = groups.len() == 1;
        if is_column {
            columns.keep(&column, std::mem::take(&mut leaves));
            column.clone_from(&name);
        }
        if let Some(group) = groups.last_mut() {
            group.awaited -= 1;
            // DuckDB would rename the second.
            match group.names.insert(name.to_ascii_lowercase(), name.clone()) {
                Some(other) if is_column => return Err(Fault::EqualColumns(other, name)),
                Some(other) => return Err(Fault::EqualFields(column, other, name)),
                None => {}
            }
        }
        if element.decimal.precision > MAX_DIGITS {
            match element.hidden_decimal(footer).filter(|_| is_column) {
                Some(edits) => columns.edits.extend(edits),
                None => return Err(Fault::Digits(column, element.decimal.precision)),
            }
            columns.wide_decimals.insert(name, element.decimal.scale);
        }
        if element.is_cut && !is_column {
            return Err(Fault::CutTime(column));
        }
        if element.children > 0 {
            groups.push(Group {
                awaited: element.children,
                ..Group::default()
            });
        } else {
            let leaf = element.leaf();
            columns.edits.extend(element.exact_time(leaf, footer)?);
            leaves.push(leaf);
        }
        if groups.len() > max_groups + 1 {
            return Err(Fault::Deep(column));
        }
    }
    columns.keep(&column, leaves);
    Ok(())
}

impl Footer {
    fn keep(&mut self, column: &str, leaves: Vec<Leaf>) {
        if leaves.iter().any(|leaf| *leaf != Leaf::Plain) {
            self.leaves.insert(column.to_owned(), leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of fields are relative to the field before; those of 32 bits are doubled.
    const ROOT: &[u8] = b"\x48\x04root\x15\x04\0";
    const LOGICAL_UTC_NANOSECONDS: &[u8] = b"\x6c\x8c\x11\x1c\x3c\0\0\0\0";

    fn file(elements: &[Vec<u8>]) -> Vec<u8> {
        let count = u8::try_from(elements.len()).unwrap();
        let footer = [
            b"\x15\x02\x19",
            &[count << 4 | 0x0c][..],
            &elements.concat(),
            b"\0",
        ]
        .concat();
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        [b"PAR1", &footer[..], &length, b"PAR1"].concat()
    }

    fn element(physical_type: u8, name: &str, annotation: &[u8]) -> Vec<u8> {
        let length = u8::try_from(name.len()).unwrap();
        let name = [&[0x18, length], name.as_bytes()].concat();
        [
            &[0x15, physical_type << 1, 0x25, 0x02],
            &name[..],
            annotation,
            b"\0",
        ]
        .concat()
    }

    #[test]
    fn file_is_changed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // The second time of 96 bits has an annotation, which would make DuckDB read text.
        for (physical_type, annotation, leaf) in [
            (3, &b""[..], Leaf::Int96),
            (3, b"\x25\x00", Leaf::Int96),
            (2, LOGICAL_UTC_NANOSECONDS, Leaf::UtcNanoseconds),
        ] {
            let time = element(physical_type, "t", annotation);
            let original = file(&[ROOT.to_vec(), element(2, "id", b""), time]);
            std::fs::write(&path, &original).unwrap();
            let first = check(&path, 4).ok().unwrap();
            let changed = std::fs::read(&path).unwrap();
            assert_ne!(changed, original);
            let second = check(&path, 4).ok().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), changed);
            assert!(second.edits.is_empty());
            for footer in [first, second] {
                assert_eq!(footer.leaves, HashMap::from([("t".to_owned(), vec![leaf])]));
            }
        }
        let without_utc = LOGICAL_UTC_NANOSECONDS.iter();
        let without_utc = without_utc.map(|byte| if *byte == 0x11 { 0x12 } else { *byte });
        for annotation in [Vec::new(), without_utc.collect()] {
            let original = file(&[ROOT.to_vec(), element(2, "id", b""), element(2, "t", &annotation)]);
            std::fs::write(&path, &original).unwrap();
            assert!(check(&path, 4).ok().unwrap().leaves.is_empty());
            assert_eq!(std::fs::read(&path).unwrap(), original);
        }
    }
}
