//! Reads Parquet segments as a table, as fast as DuckDB reads plain files.
//!
//! A column is identified by its field id; a segment has it under the name and type at the time of writing.
//! `read_parquet` can map field ids itself with its option `schema`, but then it ignores the files'
//! statistics, and joins are planned badly. So this module reads the fields of each file, and wraps every run
//! of files with equal fields in a plain `read_parquet` with the current names and types around it.

use std::path::{Path, PathBuf};

use duckdb::Connection;
use platform::{Error, Result};

use crate::schema::manifest::ManifestColumn;
use crate::statement::messages;
use crate::tables::sql;

/// Most runs of files. With more, planning a query costs more than the statistics save.
const MAX_RUNS: usize = 16;

/// A column in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    id: u32,
    name: String,
    duckdb_type: String,
}

/// Consecutive files with the same fields.
struct Run<'a> {
    fields: Vec<Field>,
    files: Vec<&'a Path>,
}

/// Returns a relation with exactly `columns`, in their order, over files in the cache. Equals
/// [`sql::table_relation`] except in speed.
pub(crate) fn relation(
    connection: &Connection,
    columns: &[ManifestColumn],
    files: &[PathBuf],
) -> Result<String> {
    if files.is_empty() {
        return sql::table_relation(columns, files);
    }
    let runs = runs(files, fields(connection, files)?)?;
    if runs.len() > MAX_RUNS {
        return sql::table_relation(columns, files);
    }
    let selects = runs.iter().map(|run| select(columns, run));
    Ok(format!(
        "({})",
        selects.collect::<Result<Vec<_>>>()?.join(" UNION ALL ")
    ))
}

fn select(columns: &[ManifestColumn], run: &Run<'_>) -> Result<String> {
    let columns = columns.iter().map(|column| {
        let field = run.fields.iter().find(|field| field.id == column.field_id);
        let value = match field {
            Some(field) => sql::identifier(&field.name),
            None => sql::literal_or_null(column.initial_default.as_deref()),
        };
        // DuckDB removes a cast to the type that the value already has.
        let duckdb_type = column.column_type.duckdb_type();
        format!(
            "CAST({value} AS {duckdb_type}) AS {}",
            sql::identifier(&column.name)
        )
    });
    Ok(format!(
        "SELECT {} FROM read_parquet({}, hive_partitioning = false)",
        columns.collect::<Vec<_>>().join(", "),
        sql::paths(run.files.iter().copied())?
    ))
}

/// Returns the fields of each file, in the order of the files.
fn fields(connection: &Connection, files: &[PathBuf]) -> Result<Vec<(String, Field)>> {
    let query = format!(
        "SELECT file_name, field_id, name, duckdb_type FROM parquet_schema({}) WHERE field_id IS NOT NULL",
        sql::paths(files.iter().map(PathBuf::as_path))?
    );
    let read = || -> duckdb::Result<Vec<(String, Field)>> {
        let mut statement = connection.prepare(&query)?;
        let rows = statement.query_map([], |row| {
            let field = Field {
                id: row.get(1)?,
                name: row.get(2)?,
                duckdb_type: row.get(3)?,
            };
            Ok((row.get(0)?, field))
        })?;
        rows.collect()
    };
    read().map_err(|error| messages::own_error(&error))
}

fn runs(files: &[PathBuf], fields: Vec<(String, Field)>) -> Result<Vec<Run<'_>>> {
    let mut fields = fields.into_iter().peekable();
    let mut runs: Vec<Run<'_>> = Vec::new();
    for file in files {
        let mut own = Vec::new();
        while let Some((_, field)) = fields.next_if(|(name, _)| Path::new(name) == file) {
            own.push(field);
        }
        if own.is_empty() {
            return Err(Error::internal("a segment has no fields"));
        }
        match runs.last_mut().filter(|run| run.fields == own) {
            Some(run) => run.files.push(file),
            None => runs.push(Run {
                fields: own,
                files: vec![file],
            }),
        }
    }
    Ok(runs)
}
