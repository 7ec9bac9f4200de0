//! What the type of a column means, as far as Arrow does not tell.

use duckdb::arrow::datatypes::DataType;
use duckdb::core::{LogicalTypeHandle, LogicalTypeId};
use platform::{Error, Result};

/// What DuckDB's type of a column tells beyond Arrow's.
pub(crate) struct Meaning {
    /// It comes as text.
    pub(crate) is_json: bool,
    /// It comes as a decimal.
    pub(crate) is_huge_integer: bool,
    /// It comes as a decimal with the same bits: values from 2^127 are negative.
    pub(crate) is_unsigned_huge_integer: bool,
    /// Those of the parts of a nested type.
    parts: Vec<Meaning>,
}

impl Meaning {
    /// That of a column whose type in Arrow is `data_type`.
    pub(crate) fn of(data_type: &DataType, duckdb_type: &LogicalTypeHandle) -> Self {
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
            parts: parts
                .map(|(index, part)| Self::of(part, &duckdb_type.child(index)))
                .collect(),
        }
    }

    /// That of a part.
    pub(crate) fn part(&self, index: usize) -> Result<&Self> {
        self.parts
            .get(index)
            .ok_or_else(|| Error::internal("a nested type lacks a part"))
    }
}
