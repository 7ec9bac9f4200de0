//! Writes values of Arrow columns as JSON directly into the answer.
//!
//! Integers beyond 2^53 and decimals are strings, so that no reader loses digits; NaN, infinities and
//! infinite dates are null; times are ISO 8601 in UTC; binary is base64; JSON stays JSON.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use duckdb::arrow::array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, Time64NanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use duckdb::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray as _, BinaryArray, BooleanArray, FixedSizeBinaryArray,
    FixedSizeListArray, LargeBinaryArray, LargeListArray, LargeStringArray, ListArray, MapArray,
    PrimitiveArray, StringArray, StructArray, UnionArray,
};
use duckdb::arrow::buffer::NullBuffer;
use duckdb::arrow::datatypes::{DataType, TimeUnit, UnionFields};
use platform::{Error, Result};

use crate::query::calendar;
use crate::query::meaning::Meaning;
use crate::query::times::{self, texts};
use crate::statement::tree;

/// The greatest integer that every JSON reader keeps exact.
const MAX_EXACT: u64 = 1 << 53;

/// Writes the value of one row.
pub(super) type Write<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

/// One column of a batch, prepared for writing.
pub(crate) struct Cells<'a> {
    nulls: Option<NullBuffer>,
    write: Write<'a>,
}

impl<'a> Cells<'a> {
    /// Inspects the column's type once, so that writing a value need not.
    pub(crate) fn new(array: &'a ArrayRef, meaning: &Meaning) -> Result<Self> {
        Ok(Self {
            nulls: array.logical_nulls().filter(|nulls| nulls.null_count() > 0),
            write: writer(array, meaning)?,
        })
    }

    pub(crate) fn write(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(b"null");
        } else {
            (self.write)(row, out);
        }
    }
}

/// Writes `text` as a JSON string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    let is_special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    // Tests whole chunks, so that the compiler can vectorize the comparison.
    let has_special = |piece: &[u8]| piece.iter().fold(false, |any, byte| any | is_special(byte));
    if text.as_bytes().chunks(16).any(has_special) {
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(out, text);
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

fn unsupported(data_type: &DataType) -> Error {
    Error::unprocessable(format!(
        "The query returns a column of a type that has no JSON form ({data_type}); cast it to VARCHAR."
    ))
}

pub(super) fn cast<A: Array + 'static>(array: &ArrayRef) -> Result<&A> {
    array
        .as_any()
        .downcast_ref::<A>()
        .ok_or_else(|| unsupported(array.data_type()))
}

fn integers<'a, T: ArrowPrimitiveType>(array: &'a ArrayRef) -> Result<Write<'a>>
where
    i64: TryFrom<T::Native>,
    T::Native: itoa::Integer,
{
    let array = cast::<PrimitiveArray<T>>(array)?;
    Ok(Box::new(move |row, out| integer(array.value(row), out)))
}

/// Writes an integer; beyond 2^53 as a string.
fn integer<N: itoa::Integer + Copy>(value: N, out: &mut Vec<u8>)
where
    i64: TryFrom<N>,
{
    let is_exact = i64::try_from(value).is_ok_and(|value| value.unsigned_abs() <= MAX_EXACT);
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    if is_exact {
        out.extend_from_slice(digits);
    } else {
        out.push(b'"');
        out.extend_from_slice(digits);
        out.push(b'"');
    }
}

fn writer<'a>(array: &'a ArrayRef, meaning: &Meaning) -> Result<Write<'a>> {
    let is_json = meaning.is_json;
    match array.data_type() {
        DataType::Null => Ok(Box::new(|_, out| out.extend_from_slice(b"null"))),
        DataType::Boolean => {
            let array = cast::<BooleanArray>(array)?;
            Ok(Box::new(|row, out| {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }))
        }
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float32 => {
            let array = cast::<PrimitiveArray<Float32Type>>(array)?;
            // serde_json writes NaN and infinities as null.
            Ok(Box::new(|row, out| {
                drop(serde_json::to_writer(out, &array.value(row)));
            }))
        }
        DataType::Float64 => {
            let array = cast::<PrimitiveArray<Float64Type>>(array)?;
            Ok(Box::new(|row, out| {
                drop(serde_json::to_writer(out, &array.value(row)));
            }))
        }
        DataType::Decimal128(..) if meaning.is_huge_integer => integers::<Decimal128Type>(array),
        DataType::Decimal128(..) if meaning.is_unsigned_huge_integer => {
            let array = cast::<PrimitiveArray<Decimal128Type>>(array)?;
            Ok(Box::new(|row, out| {
                integer(array.value(row).cast_unsigned(), out);
            }))
        }
        DataType::Decimal128(_, scale) => {
            let scale = usize::try_from(*scale).unwrap_or(0);
            texts::<Decimal128Type>(array, move |value, out| {
                decimal(value, scale, out);
                true
            })
        }
        DataType::Utf8 if is_json => {
            let array = cast::<StringArray>(array)?;
            Ok(Box::new(|row, out| json(array.value(row), out)))
        }
        DataType::Utf8 => {
            let array = cast::<StringArray>(array)?;
            Ok(Box::new(|row, out| string(array.value(row), out)))
        }
        DataType::LargeUtf8 => {
            let array = cast::<LargeStringArray>(array)?;
            Ok(Box::new(move |row, out| {
                if is_json {
                    json(array.value(row), out);
                } else {
                    string(array.value(row), out);
                }
            }))
        }
        DataType::Binary => {
            let array = cast::<BinaryArray>(array)?;
            Ok(Box::new(|row, out| string(&BASE64.encode(array.value(row)), out)))
        }
        DataType::LargeBinary => {
            let array = cast::<LargeBinaryArray>(array)?;
            Ok(Box::new(|row, out| string(&BASE64.encode(array.value(row)), out)))
        }
        DataType::FixedSizeBinary(_) => {
            let array = cast::<FixedSizeBinaryArray>(array)?;
            Ok(Box::new(|row, out| string(&BASE64.encode(array.value(row)), out)))
        }
        DataType::Date32 => texts::<Date32Type>(array, calendar::date),
        DataType::Time64(TimeUnit::Microsecond) => texts::<Time64MicrosecondType>(array, |micros, out| {
            calendar::time(micros, out);
            true
        }),
        DataType::Time64(TimeUnit::Nanosecond) => texts::<Time64NanosecondType>(array, |nanos, out| {
            calendar::time(nanos / 1_000, out);
            times::further_digits(nanos, out);
            true
        }),
        DataType::Timestamp(unit, _) => times::timestamps(array, *unit),
        DataType::Interval(_) => texts::<IntervalMonthDayNanoType>(array, |interval, out| {
            calendar::interval(interval.months, interval.days, interval.nanoseconds, out);
            true
        }),
        _ => nested(array, meaning),
    }
}

fn nested<'a>(array: &'a ArrayRef, meaning: &Meaning) -> Result<Write<'a>> {
    match array.data_type() {
        DataType::List(_) => {
            let array = cast::<ListArray>(array)?;
            let cells = Cells::new(array.values(), meaning.part(0)?)?;
            Ok(Box::new(move |row, out| {
                let offsets = array.value_offsets();
                let at = |row: usize| {
                    offsets
                        .get(row)
                        .and_then(|offset| usize::try_from(*offset).ok())
                        .unwrap_or(0)
                };
                list(&cells, at(row)..at(row + 1), out);
            }))
        }
        DataType::LargeList(_) => {
            let array = cast::<LargeListArray>(array)?;
            let cells = Cells::new(array.values(), meaning.part(0)?)?;
            Ok(Box::new(move |row, out| {
                let offsets = array.value_offsets();
                let at = |row: usize| {
                    offsets
                        .get(row)
                        .and_then(|offset| usize::try_from(*offset).ok())
                        .unwrap_or(0)
                };
                list(&cells, at(row)..at(row + 1), out);
            }))
        }
        DataType::FixedSizeList(_, length) => {
            let array = cast::<FixedSizeListArray>(array)?;
            let cells = Cells::new(array.values(), meaning.part(0)?)?;
            let length = usize::try_from(*length).unwrap_or(0);
            Ok(Box::new(move |row, out| {
                list(&cells, row * length..(row + 1) * length, out);
            }))
        }
        DataType::Struct(fields) => {
            let array = cast::<StructArray>(array)?;
            let members = array
                .columns()
                .iter()
                .zip(fields)
                .enumerate()
                .map(|(index, (column, field))| {
                    let mut name = Vec::new();
                    string(field.name(), &mut name);
                    Ok((name, Cells::new(column, meaning.part(index)?)?))
                });
            let members = members.collect::<Result<Vec<_>>>()?;
            // As an object, members without names would be one.
            let is_unnamed = !members.is_empty() && fields.iter().all(|field| field.name().is_empty());
            Ok(Box::new(move |row, out| match is_unnamed {
                true => tuple(&members, row, out),
                false => object(&members, row, out),
            }))
        }
        DataType::Map(..) => map(cast::<MapArray>(array)?, meaning),
        DataType::Union(members, _) => union(cast::<UnionArray>(array)?, members, meaning),
        DataType::Dictionary(..) => dictionary(array),
        other => Err(unsupported(other)),
    }
}

fn list(cells: &Cells<'_>, rows: std::ops::Range<usize>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, row) in rows.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        cells.write(row, out);
    }
    out.push(b']');
}

/// Writes one row as an object; each member is its name, already quoted, and its column.
pub(crate) fn object(members: &[(Vec<u8>, Cells<'_>)], row: usize, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, cells)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name);
        out.push(b':');
        cells.write(row, out);
    }
    out.push(b'}');
}

/// Writes one row as an array of its members.
fn tuple(members: &[(Vec<u8>, Cells<'_>)], row: usize, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, (_, cells)) in members.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        cells.write(row, out);
    }
    out.push(b']');
}

/// Writes a map as an array of `{"key": …, "value": …}`, because its keys may have any type.
fn map<'a>(array: &'a MapArray, meaning: &Meaning) -> Result<Write<'a>> {
    let members = [
        (b"\"key\"".to_vec(), Cells::new(array.keys(), meaning.part(0)?)?),
        (
            b"\"value\"".to_vec(),
            Cells::new(array.values(), meaning.part(1)?)?,
        ),
    ];
    Ok(Box::new(move |row, out| {
        let offsets = array.value_offsets();
        let at = |row: usize| {
            offsets
                .get(row)
                .and_then(|offset| usize::try_from(*offset).ok())
                .unwrap_or(0)
        };
        out.push(b'[');
        for (index, entry) in (at(row)..at(row + 1)).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            object(&members, entry, out);
        }
        out.push(b']');
    }))
}

/// Writes a UNION as its member's value.
fn union<'a>(array: &'a UnionArray, members: &UnionFields, meaning: &Meaning) -> Result<Write<'a>> {
    let mut cells = HashMap::new();
    for (index, (type_id, _)) in members.iter().enumerate() {
        cells.insert(type_id, Cells::new(array.child(type_id), meaning.part(index)?)?);
    }
    Ok(Box::new(move |row, out| match cells.get(&array.type_id(row)) {
        Some(cells) => cells.write(array.value_offset(row), out),
        None => out.extend_from_slice(b"null"),
    }))
}

/// Writes an ENUM's values: small numbers that index a list of texts.
fn dictionary(array: &ArrayRef) -> Result<Write<'_>> {
    let dictionary = array
        .as_any_dictionary_opt()
        .ok_or_else(|| unsupported(array.data_type()))?;
    let values = cast::<StringArray>(dictionary.values())?;
    let keys = dictionary.normalized_keys();
    Ok(Box::new(move |row, out| match keys.get(row) {
        Some(key) if *key < values.len() => string(values.value(*key), out),
        _ => out.extend_from_slice(b"null"),
    }))
}

/// Writes JSON text unchanged if it is valid; an unchecked alias would break the whole answer. NaN and
/// infinities, which DuckDB's JSON may contain, become null.
fn json(text: &str, out: &mut Vec<u8>) {
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if is_json(text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    match tree::finite(text) {
        finite if is_json(&finite) => out.extend_from_slice(finite.as_bytes()),
        _ => string(text, out),
    }
}

/// Writes the digits of a decimal, the last `scale` of them after the point.
fn decimal(value: i128, scale: usize, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let size = value.unsigned_abs();
    let digits = match u64::try_from(size) {
        Ok(size) => digits.format(size),
        Err(_) => digits.format(size),
    };
    let digits = digits.as_bytes();
    if value < 0 {
        out.push(b'-');
    }
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    if scale > 0 {
        out.push(b'.');
        out.resize(out.len() + scale.saturating_sub(fraction.len()), b'0');
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_keep_every_digit() {
        for (value, scale, expected) in [
            (-5, 4, "-0.0005"),
            (123_456, 2, "1234.56"),
            (-100, 2, "-1.00"),
            (0, 0, "0"),
            (0, 2, "0.00"),
            (i128::from(i64::MAX), 0, "9223372036854775807"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            let mut out = Vec::new();
            decimal(value, scale, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn integers_beyond_2_to_53_are_strings() {
        let mut out = Vec::new();
        integer(MAX_EXACT, &mut out);
        integer(MAX_EXACT + 1, &mut out);
        integer(-9_007_199_254_740_992_i64, &mut out);
        integer(i128::MIN, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "9007199254740992\"9007199254740993\"-9007199254740992\"-170141183460469231731687303715884105728\""
        );
    }
}
