//! Names native copies and reads them: DuckDB database files of often read tables, which are faster than
//! Parquet.
//!
//! A copy is one table in its own file, in the folder of the segments. Its name identifies its content: the
//! segments, and the columns read from them. Versions with the same rows share it, and a rename of a column
//! does not affect it, because it names columns by field id. It can be made again from the segments at any
//! time.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::schema::manifest::{ManifestColumn, TableVersion};
use crate::tables::bound::BoundTable;
use crate::tables::sql;

/// Extension of a copy's file name.
pub(crate) const EXTENSION: &str = "duckdb";
/// Name of the table in its file.
const TABLE: &str = "t";
/// Part of every file name; must rise when the form of copies changes.
const FORM: &str = "1";

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
