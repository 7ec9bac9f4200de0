//! Rewrites a table's files for its altered columns, one new file for each entry of `files`, with rows in the
//! same order.
//!
//! As in an import, the first pass is optimistic, and rows are numbered and searched only when it fails. Rows
//! are counted through all files of the table, so that a message names the row that `SELECT *` shows.

use std::path::PathBuf;

use platform::clock::UtcTime;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::child::fence;
use crate::import::conversion;
use crate::import::faults::{MAX_SENTENCES, shown};
use crate::import::segment_file::{self, CopyError};
use crate::import::staging::Target;
use crate::import::type_change::TypeChange;
use crate::schema::manifest::{ManifestColumn, Segment};
use crate::statement::messages::{self, Cause};
use crate::tables::sql::{self, ROW_NUMBER, numbered};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RewriteInput {
    /// For messages.
    pub(crate) table: String,
    /// Columns of the new files. None is required here; that is checked afterwards over all new files
    /// together.
    pub(crate) columns: Vec<ManifestColumn>,
    /// The source of each column's values.
    pub(crate) sources: Vec<Source>,
    pub(crate) files: Vec<File>,
    /// Folder for the new files.
    pub(crate) directory: PathBuf,
    /// Time of the change, for defaults.
    pub(crate) now: UtcTime,
}

/// Source of the values of a column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Source {
    /// This former column, converted to the new type.
    Column(ManifestColumn),
    /// The column's default, evaluated for each row.
    Default,
}

/// Files that become one file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct File {
    pub(crate) paths: Vec<PathBuf>,
    /// Rows of the table before the rows of these files.
    pub(crate) rows_before: u64,
    /// Segment id of the new file.
    pub(crate) new_id: String,
}

/// A value that does not convert, with its row in the table.
struct Bad {
    row: u64,
    reason: String,
}

pub(crate) fn run(context: &Context, input: &RewriteInput) -> Result<Vec<Segment>> {
    let files = input
        .files
        .iter()
        .flat_map(|file| &file.paths)
        .map(PathBuf::as_path);
    fence::close(&context.connection, files, [input.directory.as_path()], "")?;
    let mut segments = Vec::new();
    for (index, file) in input.files.iter().enumerate() {
        match rewrite(context, input, file) {
            Ok(segment) => segments.push(segment),
            Err(CopyError::Own(error)) => return Err(error),
            Err(CopyError::Duck(error)) => {
                let text = messages::text(&error);
                if messages::cause(&text) != Cause::Statement {
                    return Err(messages::own_error(&error));
                }
                let rest = input.files.get(index..).unwrap_or_default();
                return Err(refusal(context, input, rest)?.unwrap_or_else(|| Error::internal(text)));
            }
        }
    }
    Ok(segments)
}

fn rewrite(context: &Context, input: &RewriteInput, file: &File) -> Result<Segment, CopyError> {
    let target = Target {
        table: input.table.clone(),
        columns: input.columns.clone(),
        output: input.directory.join(format!("{}.parquet", file.new_id)),
        segment_id: file.new_id.clone(),
        now: input.now,
        rounding: None,
    };
    let mut values = Vec::new();
    for (column, source) in input.columns.iter().zip(&input.sources) {
        values.push(match source {
            Source::Column(before) if before.column_type == column.column_type => name(before),
            Source::Column(before) => change(before, column).value,
            Source::Default => conversion::default(column, input.now)?,
        });
    }
    let relation = relation(&input.sources, &file.paths)?;
    let (rows, statistics) = segment_file::write(context, &target, &values, &relation)?;
    segment_file::check_field_ids(context, &target)?;
    Ok(segment_file::describe(&target, rows, statistics)?)
}

/// Returns a 422 with the first values that do not convert; None if every value converts.
fn refusal(context: &Context, input: &RewriteInput, files: &[File]) -> Result<Option<Error>> {
    let mut bad = Vec::new();
    for file in files {
        bad.extend(bad_values(context, input, file, MAX_SENTENCES - bad.len())?);
        if bad.len() >= MAX_SENTENCES {
            break;
        }
    }
    let Some(first) = bad.first() else {
        return Ok(None);
    };
    let error = Error::unprocessable(format!(
        "Table '{}', row {}: {}. Nothing was changed.",
        input.table, first.row, first.reason
    ));
    let all = bad.iter().map(|bad| format!("row {}: {}", bad.row, bad.reason));
    let all = all.collect::<Vec<_>>().join("; ");
    Ok(Some(error.with_details(format!("{all}."))))
}

fn bad_values(context: &Context, input: &RewriteInput, file: &File, most: usize) -> Result<Vec<Bad>> {
    let mut conditions = Vec::new();
    let mut candidates = Vec::new();
    for (index, (column, source)) in input.columns.iter().zip(&input.sources).enumerate() {
        if let Source::Column(before) = source
            && before.column_type != column.column_type
            && let Some(is_bad) = change(before, column).is_bad
        {
            candidates.push(format!(
                "CASE WHEN {is_bad} THEN {{i: {index}::UINTEGER, v: CAST({} AS VARCHAR)}} END",
                name(before)
            ));
            conditions.push(is_bad);
        }
    }
    if conditions.is_empty() {
        return Ok(Vec::new());
    }
    let search = format!(
        "SELECT {ROW_NUMBER}, bad.i, bad.v FROM (SELECT {ROW_NUMBER}, unnest([{}]) AS bad FROM {} WHERE {}) \
         WHERE bad IS NOT NULL LIMIT {most}",
        candidates.join(", "),
        numbered(&relation(&input.sources, &file.paths)?),
        conditions.join(" OR ")
    );
    let read = || -> duckdb::Result<Vec<(u64, u32, String)>> {
        let mut statement = context.connection.prepare(&search)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    let rows = read().map_err(|error| messages::own_error(&error))?;
    let bad = rows.into_iter().filter_map(|(row, index, value)| {
        let column = input.columns.get(usize::try_from(index).ok()?)?;
        let (name, to, value) = (&column.name, column.column_type, shown(&value));
        Some(Bad {
            row: file.rows_before + row,
            reason: format!("column '{name}': {value} does not convert to {to}"),
        })
    });
    Ok(bad.collect())
}

fn change(before: &ManifestColumn, column: &ManifestColumn) -> TypeChange {
    TypeChange::new(before.column_type, column.column_type, &name(before))
}

fn name(column: &ManifestColumn) -> String {
    sql::identifier(&column.name)
}

/// Returns a relation over the files with the columns to read; with no column, it still has the files' rows.
fn relation(sources: &[Source], files: &[PathBuf]) -> Result<String> {
    let columns = sources.iter().filter_map(|source| match source {
        Source::Column(column) => Some(column.clone()),
        Source::Default => None,
    });
    let columns: Vec<_> = columns.collect();
    if columns.is_empty() {
        return Ok(format!(
            "read_parquet({})",
            sql::paths(files.iter().map(PathBuf::as_path))?
        ));
    }
    sql::table_relation(&columns, files)
}
