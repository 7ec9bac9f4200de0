//! Checks primary keys and unique columns: a new row must repeat no key of another new row or of the table.
//!
//! The check is a semi join against the existing files. DuckDB skips files by their minima and maxima, so
//! rising keys cost almost nothing and random keys cost one pass over the key columns. Rows are numbered only
//! if a key is repeated.

use std::path::PathBuf;

use platform::error::RowError;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::import::faults::{Fault, Kind, cut, merge};
use crate::import::key::{Found, Key};
use crate::tables::layout;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeyCheckInput {
    /// For messages.
    pub(crate) table: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) new_file: PathBuf,
    pub(crate) existing_files: Vec<PathBuf>,
}

/// Returns the faults of the first wrong rows of the new file, in row order.
pub(crate) fn run(context: &mut Context, input: &KeyCheckInput) -> Result<Vec<Fault>> {
    let folder = input.new_file.parent();
    let folder = folder.ok_or_else(|| Error::internal("the segment has no folder"))?;
    let files = input.existing_files.iter().chain([&input.new_file]);
    context.enclose(folder, files.map(PathBuf::as_path))?;
    let mut faults = Vec::new();
    for key in &input.keys {
        let connection = &context.connection;
        let new = layout::relation(connection, &key.columns, std::slice::from_ref(&input.new_file))?;
        if key.first_repeated(context, &new)?.is_some() {
            let repeated = key.repeated(context, &new)?;
            let repeated = repeated.into_iter().map(|entry| {
                let first = entry.first_row;
                let what = format!("occurs twice in the imported data, for the first time in row {first}");
                fault(input, key, entry, &what)
            });
            faults = merge(faults, repeated.collect());
        }
        if input.existing_files.is_empty() {
            continue;
        }
        let existing = layout::relation(connection, &key.columns, &input.existing_files)?;
        if key.shares_one(context, &new, &existing)? {
            let shared = key.shared(context, &new, &existing)?;
            let shared = shared
                .into_iter()
                .map(|entry| fault(input, key, entry, "is already in the table"));
            faults = merge(faults, shared.collect());
        }
    }
    Ok(faults)
}

fn fault(input: &KeyCheckInput, key: &Key, entry: Found, what: &str) -> Fault {
    let reason = format!("the {} = {} {what}", key.title(), entry.shown());
    let (column, value) = match (key.columns.as_slice(), entry.values.as_slice()) {
        ([column], [value]) => (Some(column.name.clone()), cut(value)),
        _ => (None, cut(&entry.shown())),
    };
    Fault {
        kind: Kind::Key,
        error: RowError {
            table: input.table.clone(),
            row: entry.row,
            column,
            value: Some(value),
            reason,
        },
    }
}
