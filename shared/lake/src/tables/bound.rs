//! Defines the tables of a version as a child process reads them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::schema::manifest::ManifestColumn;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BoundTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<ManifestColumn>,
    pub(crate) files: Vec<PathBuf>,
}
