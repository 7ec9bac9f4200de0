//! Checks whether the existing rows of a table satisfy a new rule: a required column or a unique key.

use std::path::PathBuf;

use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::child::fence;
use crate::import::key::Key;
use crate::schema::manifest::ManifestColumn;
use crate::statement::messages;
use crate::tables::sql::{self, ROW_NUMBER, numbered};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RowCheckInput {
    /// For messages.
    pub(crate) table: String,
    /// Columns that need a value in every row.
    pub(crate) required: Vec<ManifestColumn>,
    pub(crate) keys: Vec<Key>,
    pub(crate) files: Vec<PathBuf>,
}

pub(crate) fn run(context: &Context, input: &RowCheckInput) -> Result<()> {
    let files = input.files.iter().map(PathBuf::as_path);
    fence::close(&context.connection, files, [], "")?;
    for column in &input.required {
        check_required(context, input, column)?;
    }
    for key in &input.keys {
        check_key(context, input, key)?;
    }
    Ok(())
}

fn check_required(context: &Context, input: &RowCheckInput, column: &ManifestColumn) -> Result<()> {
    let relation = sql::table_relation(std::slice::from_ref(column), &input.files)?;
    let is_missing = format!("{} IS NULL", sql::identifier(&column.name));
    // Rows are numbered only if one lacks a value. The files' statistics usually show that none does.
    let any = format!("SELECT 1 FROM {relation} WHERE {is_missing} LIMIT 1");
    if find::<u64>(context, &any)?.is_none() {
        return Ok(());
    }
    let first = format!(
        "SELECT min({ROW_NUMBER}) FROM {} WHERE {is_missing}",
        numbered(&relation)
    );
    let row = find::<u64>(context, &first)?.unwrap_or(0);
    Err(Error::conflict(format!(
        "Table '{}', row {row}: the column '{}' has no value there, so it cannot be made to need one.",
        input.table, column.name
    )))
}

fn check_key(context: &Context, input: &RowCheckInput, key: &Key) -> Result<()> {
    let relation = sql::table_relation(&key.columns, &input.files)?;
    let Some(value) = key.first_repeated(context, &relation)? else {
        return Ok(());
    };
    let names = key.column_names();
    let kind = if key.is_primary {
        "the primary key"
    } else {
        "unique"
    };
    Err(Error::conflict(format!(
        "Table '{}': the value ({names}) = {value} occurs more than once, so ({names}) cannot be {kind}.",
        input.table
    )))
}

fn find<T: duckdb::types::FromSql>(context: &Context, query: &str) -> Result<Option<T>> {
    match context.connection.query_row(query, [], |row| row.get(0)) {
        Ok(value) => Ok(Some(value)),
        Err(duckdb::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(messages::own_error(&error)),
    }
}
