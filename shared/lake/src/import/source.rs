//! Writes the value of a column as SQL over the imported relation.

use platform::clock::UtcTime;
use platform::{Error, Result};

use crate::import::conversion::{self, Conversion, LOSSY};
use crate::import::rounding::Rounding;
use crate::schema::defaults::DefaultValue;
use crate::schema::manifest::ManifestColumn;

/// Source of a target column's value.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A value to cast to the column's type.
    Value(String),
    /// A value to cast, unless the condition after it holds: then the cast would lose data.
    Checked(String, String),
    /// A text to convert.
    Text(String),
    /// A text to convert, unless the condition after it holds: then the default.
    TextOrDefault(String, String),
    Default,
}

/// Inputs of values besides their source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    /// Time of the import, for defaults.
    pub(crate) now: UtcTime,
    pub(crate) rounding: Option<Rounding>,
}

/// SQL expressions that find a wrong value.
pub(crate) struct Search {
    pub(crate) is_bad: String,
    /// Whether the value has the right type and only loses data in the column.
    pub(crate) is_lossy: String,
    pub(crate) shown: String,
}

impl Source {
    /// Returns SQL for the value of `column`; it raises an error if there is none.
    pub(crate) fn value(&self, column: &ManifestColumn, making: Making) -> Result<String> {
        let to = column.column_type.duckdb_type();
        Ok(match self {
            Self::Value(value) => format!("CAST({value} AS {to})"),
            Self::Checked(value, is_lossy) => {
                format!("CASE WHEN {is_lossy} THEN error('{LOSSY}') ELSE CAST({value} AS {to}) END")
            }
            Self::Text(text) => conversion(column, making, text).value(),
            Self::TextOrDefault(text, is_absent) => format!(
                "CASE WHEN {is_absent} THEN {} ELSE {} END",
                conversion::default(column, making.now)?,
                conversion(column, making, text).value()
            ),
            Self::Default => conversion::default(column, making.now)?,
        })
    }

    /// Returns SQL for the value of `column`, or NULL if there is none.
    pub(crate) fn value_or_null(&self, column: &ManifestColumn, making: Making) -> Result<String> {
        let to = column.column_type.duckdb_type();
        Ok(match self {
            Self::Value(value) => format!("TRY_CAST({value} AS {to})"),
            Self::Checked(value, is_lossy) => {
                format!("CASE WHEN {is_lossy} THEN NULL ELSE TRY_CAST({value} AS {to}) END")
            }
            Self::Text(text) => conversion(column, making, text).value_or_null(),
            Self::TextOrDefault(text, is_absent) => format!(
                "CASE WHEN {is_absent} THEN {} ELSE {} END",
                conversion::default(column, making.now)?,
                conversion(column, making, text).value_or_null()
            ),
            Self::Default => conversion::default(column, making.now)?,
        })
    }

    /// Returns the expressions that find a wrong value; None if no value can be wrong.
    pub(crate) fn search(&self, column: &ManifestColumn, making: Making) -> Option<Search> {
        match self {
            Self::Value(value) => Some(Search {
                is_bad: conversion::does_not_fit(column.column_type, value),
                is_lossy: "false".to_owned(),
                shown: value.clone(),
            }),
            Self::Checked(value, is_lossy) => Some(Search {
                is_bad: format!(
                    "({} OR coalesce({is_lossy}, false))",
                    conversion::does_not_fit(column.column_type, value)
                ),
                is_lossy: format!("coalesce({is_lossy}, false)"),
                shown: value.clone(),
            }),
            Self::Text(text) | Self::TextOrDefault(text, _) => {
                let conversion = conversion(column, making, text);
                Some(Search {
                    is_bad: conversion.is_bad()?,
                    is_lossy: conversion.is_lossy(),
                    shown: text.clone(),
                })
            }
            Self::Default => None,
        }
    }

    /// Returns the condition that a row lacks a value required by `column`; None if none is required.
    pub(crate) fn is_missing(&self, column: &ManifestColumn) -> Result<Option<String>> {
        if !column.definition().is_required() {
            return Ok(None);
        }
        let default = column.definition().default_value().map_err(Error::internal)?;
        let has_default = default.is_some_and(|default| default != DefaultValue::Null);
        Ok(Some(match self {
            Self::TextOrDefault(text, is_absent) if has_default => {
                format!("({text} IS NULL AND NOT ({is_absent}))")
            }
            Self::Value(text) | Self::Checked(text, _) | Self::Text(text) | Self::TextOrDefault(text, _) => {
                format!("{text} IS NULL")
            }
            Self::Default => (!has_default).to_string(),
        }))
    }
}

fn conversion(column: &ManifestColumn, making: Making, text: &str) -> Conversion {
    Conversion::new(column.column_type, making.rounding, text)
}
