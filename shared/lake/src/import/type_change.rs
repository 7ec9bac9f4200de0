//! How a stored value becomes a value of another type: in SQL, like [`crate::import::conversion`].
//!
//! Nothing is lost silently: a number that the new type does not hold exactly, and a time of day in a DATE, do not
//! convert. FLOAT is the exception that it is everywhere: it takes the nearest of a DOUBLE. A text is read as an import
//! would read it, and so is the text of a value where the two types have nothing else in common.

use crate::import::conversion::Conversion;
use crate::schema::types::ColumnType;

/// Raised inside the conversion; found again by the search for what is wrong.
const UNFIT: &str = "the value does not convert";

/// How the values of one type become those of another.
pub(crate) struct TypeChange {
    /// The new value, as SQL; an error of DuckDB's if there is none.
    pub(crate) value: String,
    /// Whether a value does not convert, as SQL; None if every value does.
    pub(crate) is_bad: Option<String>,
}

impl TypeChange {
    /// The change of the value that the SQL expression `value` gives.
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
