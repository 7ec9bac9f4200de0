//! Writes the tables of a version to files: one DuckDB database, or one Parquet file per table.
//!
//! The output has names and rows. It declares no keys and no required columns: an index takes many times as
//! long as the rows themselves, and the rows already satisfy the rules.

use std::path::{Path, PathBuf};

use duckdb::Connection;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::child::fence;
use crate::statement::messages;
use crate::tables::bound::BoundTable;
use crate::tables::layout;
use crate::tables::sql;

/// Name of the attached database while its file is written.
const TARGET: &str = "download";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExportInput {
    pub(crate) tables: Vec<ExportedTable>,
    pub(crate) form: Form,
    /// The file, or the folder of the files. Its parent folder must hold nothing else.
    pub(crate) output: PathBuf,
}

/// A table with its files and its description.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExportedTable {
    pub(crate) table: BoundTable,
    pub(crate) description: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Form {
    /// A DuckDB database.
    Database(Storage),
    /// A file `<table>.parquet` for each table.
    Parquet,
}

/// The storage format of a DuckDB database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Storage {
    /// The oldest format that can store every type, so that old clients can read it.
    Oldest,
    /// The format of this DuckDB version.
    Latest,
}

impl Storage {
    fn version(self) -> &'static str {
        match self {
            Self::Oldest => "v1.0.0",
            Self::Latest => "latest",
        }
    }
}

pub(crate) fn run(context: &Context, input: &ExportInput) -> Result<()> {
    let folder = match input.form {
        Form::Database(_) => input.output.parent(),
        Form::Parquet => Some(input.output.as_path()),
    };
    let folder = folder.ok_or_else(|| Error::internal("the output has no folder"))?;
    let files = input.tables.iter().flat_map(|table| &table.table.files);
    // One thread writes a file of half the size in about the same time.
    fence::close(
        &context.connection,
        files.map(PathBuf::as_path),
        [folder],
        "SET threads = 1;",
    )?;
    let statements = match input.form {
        Form::Database(storage) => database(&context.connection, input, storage)?,
        Form::Parquet => parquet(&context.connection, input, folder)?,
    };
    for statement in statements {
        let done = context.connection.execute_batch(&statement);
        done.map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn failed(error: &duckdb::Error) -> Error {
    let text = messages::text(error);
    if !text.contains("No space left") {
        return messages::own_error(error);
    }
    Error::unprocessable(
        "This version is too large for a download; read it by queries, or download one with fewer rows.",
    )
    .with_source(text)
}

/// Returns the statements that write every table, with the descriptions of tables and columns as comments.
fn database(connection: &Connection, input: &ExportInput, storage: Storage) -> Result<Vec<String>> {
    let mut statements = vec![format!(
        "ATTACH {} AS {TARGET} (STORAGE_VERSION '{}')",
        sql::path(&input.output)?,
        storage.version()
    )];
    for ExportedTable { table, description } in &input.tables {
        let relation = layout::relation(connection, &table.columns, &table.files)?;
        let name = format!("{TARGET}.main.{}", sql::identifier(&table.name));
        statements.push(format!("CREATE TABLE {name} AS SELECT * FROM {relation}"));
        if let Some(text) = description {
            statements.push(format!("COMMENT ON TABLE {name} IS {}", sql::literal(text)));
        }
        for column in &table.columns {
            if let Some(text) = &column.description {
                let column = sql::identifier(&column.name);
                let text = sql::literal(text);
                statements.push(format!("COMMENT ON COLUMN {name}.{column} IS {text}"));
            }
        }
    }
    // Writes everything into the file, so that no log remains beside it.
    statements.push(format!("CHECKPOINT {TARGET}; DETACH {TARGET}"));
    Ok(statements)
}

fn parquet(connection: &Connection, input: &ExportInput, folder: &Path) -> Result<Vec<String>> {
    let tables = input.tables.iter().map(|ExportedTable { table, .. }| {
        Ok(format!(
            "COPY (SELECT * FROM {}) TO {} (FORMAT parquet, COMPRESSION zstd)",
            layout::relation(connection, &table.columns, &table.files)?,
            sql::path(&folder.join(format!("{}.parquet", table.name)))?
        ))
    });
    tables.collect()
}
