//! Converts stored values to another type: in SQL, like [`crate::import::conversion`].
//!
//! Nothing is lost silently: a number that the new type cannot hold exactly, and a time of day for a DATE, do
//! not convert. The exception is FLOAT, which takes the nearest value of a DOUBLE. Text is read as in an
//! import; so is the text of a value if the two types have nothing else in common.

use crate::import::conversion::Conversion;
use crate::schema::types::ColumnType;

/// Message of the error raised inside a failed conversion; the search for faults then finds the row.
const UNFIT: &str = "the value does not convert";

/// Conversion of the values of one type to another.
pub(crate) struct TypeChange {
    /// SQL for the new value; it raises an error if the value does not convert.
    pub(crate) value: String,
    /// Condition, as SQL, that a value does not convert; None if every value converts.
    pub(crate) is_bad: Option<String>,
}

impl TypeChange {
    /// Returns the conversion of the SQL expression `value`.
    pub(crate) fn new(from: ColumnType, to: ColumnType, value: &str) -> Self {
        let text = format!("CAST({value} AS VARCHAR)");
        match (from, to) {
            (_, ColumnType::String) => Self {
                value: text,
                is_bad: None,
            },
            (ColumnType::Date | ColumnType::Timestamp, ColumnType::Json) => Self {
                value: format!("to_json({text})"),
                is_bad: None,
            },
            (ColumnType::Double, ColumnType::Float) => {
                let cast = format!("TRY_CAST({value} AS FLOAT)");
                Self::cast(
                    to,
                    value,
                    &format!("{cast} IS NULL OR isinf({cast}) AND NOT isinf({value})"),
                )
            }
            _ if is_number(from) && is_number(to) || is_time(from) && is_time(to) => {
                let (there, back) = (to.duckdb_type(), from.duckdb_type());
                let cast = format!("TRY_CAST({value} AS {there})");
                let is_lossy = format!("TRY_CAST({cast} AS {back}) IS DISTINCT FROM {value}");
                Self::cast(to, value, &format!("{cast} IS NULL OR {is_lossy}"))
            }
            _ => {
                let conversion = Conversion::new(to, None, &text);
                Self {
                    value: conversion.value(),
                    is_bad: conversion.is_bad(),
                }
            }
        }
    }

    fn cast(to: ColumnType, value: &str, is_unfit: &str) -> Self {
        let is_bad = format!("({value} IS NOT NULL AND ({is_unfit}))");
        Self {
            value: format!(
                "CASE WHEN {is_bad} THEN error('{UNFIT}') ELSE TRY_CAST({value} AS {}) END",
                to.duckdb_type()
            ),
            is_bad: Some(is_bad),
        }
    }
}

fn is_number(column_type: ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::Integer
            | ColumnType::Bigint
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Boolean
    )
}

fn is_time(column_type: ColumnType) -> bool {
    matches!(column_type, ColumnType::Date | ColumnType::Timestamp)
}
