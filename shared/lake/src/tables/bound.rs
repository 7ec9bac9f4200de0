//! Defines the tables of a version as a child process reads them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::schema::manifest::ManifestColumn;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BoundTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<ManifestColumn>,
    pub(crate) files: Vec<PathBuf>,
    /// Native copy to read instead of the files; see [`crate::tables::native`].
    pub(crate) native: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tier {
    Parquet,
    /// A native copy; see [`crate::tables::native`].
    Native,
}
