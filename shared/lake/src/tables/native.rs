//! Names native copies and reads them: DuckDB database files of often read tables, which are faster than
//! Parquet.
//!
//! A query reads each table from one of two tiers: from its segments, or from its copy.
//!
//! A copy is one table in its own file, in the folder of the segments. Its name identifies its content: the
//! segments, and the columns read from them. Versions with the same rows share it, and a rename of a column
//! does not affect it, because it names columns by field id. It can be made again from the segments at any
//! time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use duckdb::Connection;
use platform::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::schema::manifest::{ManifestColumn, TableVersion};
use crate::tables::bound::BoundTable;
use crate::tables::sql;

/// Extension of a copy's file name.
const EXTENSION: &str = "duckdb";
/// Name of the table in its file.
const TABLE: &str = "t";
/// Part of every file name; must rise when the form of copies changes.
const FORM: &str = "1";

/// What a query reads a table from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tier {
    Parquet,
    Native,
}

/// Tiers that a query reads its tables from; by default the segments of each.
#[derive(Clone, Debug, Default)]
pub struct Tiers {
    /// Names of the tables that are read from their copies.
    native: HashSet<String>,
}

impl Tiers {
    /// Reads a table from its copy, which must exist.
    pub fn use_copy(&mut self, table: &TableVersion) {
        self.native.insert(table.name.clone());
    }

    pub(crate) fn of(&self, table: &TableVersion) -> Tier {
        match self.native.contains(&table.name) {
            true => Tier::Native,
            false => Tier::Parquet,
        }
    }

    /// Returns whether a copy may have caused an error, so that the query may succeed without copies.
    pub(crate) fn may_have_caused(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Internal && !self.native.is_empty()
    }
}

/// A table as the child reads it in a query: from its files, or from its copy if there is one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TieredTable {
    pub(crate) table: BoundTable,
    pub(crate) copy: Option<PathBuf>,
}

impl TieredTable {
    pub(crate) fn tier(&self) -> Tier {
        match self.copy {
            Some(_) => Tier::Native,
            None => Tier::Parquet,
        }
    }
}

/// Returns whether the cache may keep a file of an earlier process as a copy.
pub(crate) fn is_copy(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Returns the file name of the copy of `table`.
pub(crate) fn file_name(table: &TableVersion) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(FORM);
    for segment in &table.segments {
        add(&segment.segment_id);
        // Segment ids are unique; the hash protects against a mistake there.
        add(&segment.sha256);
    }
    add("");
    for column in &table.columns {
        add(&column.field_id.to_string());
        add(&column.column_type.duckdb_type());
        // Distinguishes None from an empty text.
        add(&sql::literal_or_null(column.initial_default.as_deref()));
    }
    format!("{}.{EXTENSION}", hex::encode(hash.finalize()))
}

/// Returns the files that DuckDB opens for a copy in `folder`: the copy, and a log beside it, which never
/// exists.
pub(crate) fn files(folder: &Path, table: &TableVersion) -> [PathBuf; 2] {
    let name = file_name(table);
    [folder.join(&name), folder.join(format!("{name}.wal"))]
}

/// Returns the table as its copy stores it, over the files of its segments.
pub(crate) fn copied(mut table: BoundTable) -> BoundTable {
    TABLE.clone_into(&mut table.name);
    for column in &mut table.columns {
        column.name = name(column);
        column.description = None;
    }
    table
}

/// Attaches the copy in `file` as a database.
pub(crate) fn attach(connection: &Connection, file: &Path, database: &str) -> Result<()> {
    let attach = format!("ATTACH {} AS {database} (READ_ONLY)", sql::path(file)?);
    // Not the caller's fault, whatever DuckDB reports about the file: the parent can read the segments
    // instead.
    connection.execute_batch(&attach).map_err(Error::internal)
}

/// Returns a relation with `columns` over the copy in an attached database.
pub(crate) fn relation(columns: &[ManifestColumn], database: &str) -> String {
    let columns = columns
        .iter()
        .map(|column| format!("{} AS {}", name(column), sql::identifier(&column.name)));
    let columns: Vec<_> = columns.collect();
    format!("(SELECT {} FROM {database}.{TABLE})", columns.join(", "))
}

fn name(column: &ManifestColumn) -> String {
    format!("c{}", column.field_id)
}
