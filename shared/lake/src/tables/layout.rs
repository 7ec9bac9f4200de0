//! Reading Parquet segments as a table, as fast as DuckDB reads them.
//!
//! A column is its field id; a segment holds it under the name and the type that it had when the segment was written.
//! `read_parquet` can map field ids itself, with its option `schema`, but then it forgets the statistics of the files, and
//! joins are planned blindly. So the fields of each file are read, and every run of files with the same fields becomes a
//! plain `read_parquet` with the names and the types of now around it.

use std::path::{Path, PathBuf};

use duckdb::Connection;
use platform::{Error, Result};

use crate::schema::manifest::ManifestColumn;
use crate::statement::messages;
use crate::tables::sql;

/// Most runs of files: beyond, planning a query over them costs more than the statistics bring.
const MAX_RUNS: usize = 16;

/// A field of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    id: u32,
    name: String,
    duckdb_type: String,
}

/// Files one after the other that hold the same fields.
struct Run<'a> {
    fields: Vec<Field>,
    files: Vec<&'a Path>,
}

/// A relation with exactly `columns`, in their order, over files that are at hand: see [`sql::table_relation`], which it
/// equals in all but speed.
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
        // DuckDB leaves out a cast to the type that is there already.
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

/// The fields of each file, in the order of the files.
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
