//! The native tier: copies of tables that are read often, as DuckDB database files, which are read faster than Parquet.
//!
//! A copy is one table in a file of its own, in the folder of the segments. Its name says what it holds: the segments, and
//! the columns that are read from them. Versions with the same rows share it, and a rename of a column does not touch it,
//! because it names its columns by their field ids. It can be made again from the segments at any time.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::schema::manifest::{ManifestColumn, TableVersion};
use crate::tables::bound::BoundTable;
use crate::tables::sql;

/// The ending of the names of the files.
pub(crate) const EXTENSION: &str = "duckdb";
/// The name of the table in its file.
const TABLE: &str = "t";
/// Part of every name: rises when copies are written in another way.
const FORM: &str = "1";

/// The name of the file that holds a copy of `table`.
pub(crate) fn file_name(table: &TableVersion) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    };
    add(FORM);
    for segment in &table.segments {
        add(&segment.segment_id);
        // Ids are unique by themselves; the sum makes a mistake there harmless.
        add(&segment.sha256);
    }
    add("");
    for column in &table.columns {
        add(&column.field_id.to_string());
        add(&column.column_type.duckdb_type());
        // None and an empty text differ.
        add(&sql::literal_or_null(column.initial_default.as_deref()));
    }
    format!("{}.{EXTENSION}", hex::encode(hash.finalize()))
}

/// What DuckDB opens for a copy in `folder`: the file, and the log beside it, which is never there.
pub(crate) fn files(folder: &Path, table: &TableVersion) -> [PathBuf; 2] {
    let name = file_name(table);
    [folder.join(&name), folder.join(format!("{name}.wal"))]
}

/// The table as its copy holds it, over the files of its segments.
pub(crate) fn copied(mut table: BoundTable) -> BoundTable {
    TABLE.clone_into(&mut table.name);
    for column in &mut table.columns {
        column.name = name(column);
        column.description = None;
    }
    table
}

/// A relation with `columns` over the copy in an attached database.
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
