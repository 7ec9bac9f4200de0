//! Defines what the table function reads.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::import::file_format::FileFormat;
use crate::schema::manifest::ManifestColumn;
use crate::schema::types::ColumnType;

pub(super) type AnyError = Box<dyn std::error::Error>;

/// Arguments of the table function, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) format: FileFormat,
    pub(crate) path: PathBuf,
    pub(crate) columns: Vec<Column>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    /// Whether it is told which rows omit the column.
    pub(crate) has_default: bool,
}

impl Column {
    pub(crate) fn new(column: &ManifestColumn, has_default: bool) -> Self {
        Self {
            name: column.name.clone(),
            column_type: column.column_type,
            has_default,
        }
    }
}
