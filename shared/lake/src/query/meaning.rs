//! Describes the type of a column where Arrow's type is ambiguous.

use duckdb::arrow::datatypes::DataType;
use duckdb::core::{LogicalTypeHandle, LogicalTypeId};
use platform::{Error, Result};

/// The parts of a column's DuckDB type that Arrow's type lacks.
pub(crate) struct Meaning {
    /// Arrow has it as text.
    pub(crate) is_json: bool,
    /// Arrow has it as a decimal.
    pub(crate) is_huge_integer: bool,
    /// Arrow has it as a decimal with the same bits: values from 2^127 are negative.
    pub(crate) is_unsigned_huge_integer: bool,
    /// Name of the type, if Arrow's form lacks a part of its values (an offset, the length in bits) or is an
    /// inner form of DuckDB.
    pub(crate) inexact: Option<&'static str>,
    /// Meanings of the parts of a nested type.
    parts: Vec<Meaning>,
}

impl Meaning {
    /// Returns the meaning of a column whose type in Arrow is `data_type`.
    pub(crate) fn from_types(data_type: &DataType, duckdb_type: &LogicalTypeHandle) -> Self {
        let parts: Vec<_> = match data_type {
            DataType::List(part) | DataType::LargeList(part) | DataType::FixedSizeList(part, _) => {
                vec![part.data_type()]
            }
            DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            DataType::Union(members, _) => members.iter().map(|(_, member)| member.data_type()).collect(),
            DataType::Map(entry, _) => match entry.data_type() {
                DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let parts = parts.into_iter().enumerate();
        Self {
            is_json: duckdb_type
                .get_alias()
                .is_some_and(|alias| alias.eq_ignore_ascii_case("JSON")),
            is_huge_integer: duckdb_type.try_id() == Ok(LogicalTypeId::Hugeint),
            is_unsigned_huge_integer: duckdb_type.try_id() == Ok(LogicalTypeId::UHugeint),
            inexact: match duckdb_type.try_id() {
                Ok(LogicalTypeId::TimeTZ) => Some("TIME WITH TIME ZONE"),
                Ok(LogicalTypeId::Bit) => Some("BIT"),
                Ok(LogicalTypeId::Bignum) => Some("BIGNUM"),
                Ok(LogicalTypeId::Geometry) => Some("GEOMETRY"),
                // Of a type that no answer knows, nothing tells that its form is its value.
                Err(_) | Ok(LogicalTypeId::Unsupported) => Some("that DuckDB alone knows"),
                _ => None,
            },
            parts: parts
                .map(|(index, part)| Self::from_types(part, &duckdb_type.child(index)))
                .collect(),
        }
    }

    /// Returns the name of a type whose values, here or in a part, an answer cannot show.
    pub(crate) fn inexact_type(&self) -> Option<&'static str> {
        let of_parts = || self.parts.iter().find_map(Self::inexact_type);
        self.inexact.or_else(of_parts)
    }

    /// Returns whether a value, here or in a part, may be an unsigned huge integer, of which an Arrow stream
    /// shows the upper half as negative numbers.
    pub(crate) fn has_unsigned_huge_integer(&self) -> bool {
        self.is_unsigned_huge_integer || self.parts.iter().any(Self::has_unsigned_huge_integer)
    }

    /// Returns the meaning of a part of a nested type.
    pub(crate) fn part(&self, index: usize) -> Result<&Self> {
        self.parts
            .get(index)
            .ok_or_else(|| Error::internal("a nested type lacks a part"))
    }
}
