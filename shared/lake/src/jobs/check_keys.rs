//! Primary keys and unique columns: no key twice among the new rows, and none that the table already has.
//!
//! A semi join against the existing files. DuckDB skips what their minima and maxima rule out, so rising keys
//! cost almost nothing; random keys cost one pass over the key columns. Rows without a value do not collide.

use std::path::PathBuf;

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::Context;
use crate::manifest::ManifestColumn;
use crate::{fence, messages, sql, staging};

/// What is compared with what.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The table's name, for messages.
    pub(crate) table: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) new_files: Vec<PathBuf>,
    pub(crate) existing_files: Vec<PathBuf>,
}

/// Columns whose values together occur once.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) is_primary: bool,
    pub(crate) columns: Vec<ManifestColumn>,
}

pub(crate) fn run(context: &Context, input: &Input) -> Result<()> {
    let files = input
        .new_files
        .iter()
        .chain(&input.existing_files)
        .map(PathBuf::as_path);
    fence::close(&context.connection, files, [], "")?;
    for key in &input.keys {
        let columns: Vec<_> = key
            .columns
            .iter()
            .map(|column| sql::identifier(&column.name))
            .collect();
        let list = columns.join(", ");
        let texts: Vec<_> = columns
            .iter()
            .map(|column| format!("CAST({column} AS VARCHAR)"))
            .collect();
        let texts = format!("[{}]", texts.join(", "));
        let present: Vec<_> = columns
            .iter()
            .map(|column| format!("{column} IS NOT NULL"))
            .collect();
        let present = present.join(" AND ");
        let new = sql::table_relation(&key.columns, &input.new_files)?;
        let twice = format!(
            "SELECT {texts}::VARCHAR[]::JSON::VARCHAR FROM {new} WHERE {present} GROUP BY {list} HAVING count(*) > 1 \
             ORDER BY {list} LIMIT 1"
        );
        refuse_if_found(context, input, key, &twice, "occurs twice in the imported data")?;
        if input.existing_files.is_empty() {
            continue;
        }
        let existing = sql::table_relation(&key.columns, &input.existing_files)?;
        let again = format!(
            "SELECT {texts}::VARCHAR[]::JSON::VARCHAR FROM {new} SEMI JOIN {existing} USING ({list}) \
             ORDER BY {list} LIMIT 1"
        );
        refuse_if_found(context, input, key, &again, "is already in the table")?;
    }
    Ok(())
}

fn refuse_if_found(context: &Context, input: &Input, key: &Key, query: &str, what: &str) -> Result<()> {
    let found = match context
        .connection
        .query_row(query, [], |row| row.get::<_, String>(0))
    {
        Ok(found) => found,
        Err(duckdb::Error::QueryReturnedNoRows) => return Ok(()),
        Err(error) => return Err(messages::own_error(&error)),
    };
    let values: Vec<String> = serde_json::from_str(&found).map_err(Error::internal)?;
    let values: Vec<_> = values.iter().map(|value| staging::shown(value)).collect();
    let names: Vec<_> = key.columns.iter().map(|column| column.name.as_str()).collect();
    let kind = if key.is_primary {
        "primary key"
    } else {
        "unique value"
    };
    Err(Error::conflict(format!(
        "Table '{}': the {kind} ({}) = ({}) {what}.",
        input.table,
        names.join(", "),
        values.join(", ")
    )))
}
