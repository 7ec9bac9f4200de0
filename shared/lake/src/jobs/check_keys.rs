//! Primary keys and unique columns: no key twice among new rows, and none that the table already has.
//!
//! A semi join against the existing files. DuckDB skips what their minima and maxima rule out, so rising keys
//! cost almost nothing; random keys cost one pass over the key columns.

use std::path::PathBuf;

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::Context;
use crate::key::Key;
use crate::layout;

/// What is compared with what.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The table's name, for messages.
    pub(crate) table: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) new_file: PathBuf,
    pub(crate) existing_files: Vec<PathBuf>,
}

pub(crate) fn run(context: &mut Context, input: &Input) -> Result<()> {
    let folder = input.new_file.parent();
    let folder = folder.ok_or_else(|| Error::internal("the segment has no folder"))?;
    let files = input.existing_files.iter().chain([&input.new_file]);
    context.enclose(folder, files.map(PathBuf::as_path))?;
    for key in &input.keys {
        let connection = &context.connection;
        let new = layout::relation(connection, &key.columns, std::slice::from_ref(&input.new_file))?;
        let refuse = |value: &str, what: &str| {
            let (table, key) = (&input.table, key.title());
            Err(Error::conflict(format!(
                "Table '{table}': the {key} = {value} {what}."
            )))
        };
        if let Some(value) = key.first_repeated(context, &new)? {
            return refuse(&value, "occurs twice in the imported data");
        }
        if input.existing_files.is_empty() {
            continue;
        }
        let existing = layout::relation(connection, &key.columns, &input.existing_files)?;
        if let Some(value) = key.first_shared(context, &new, &existing)? {
            return refuse(&value, "is already in the table");
        }
    }
    Ok(())
}
