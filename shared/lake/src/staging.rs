//! From a relation of texts to one Parquet segment: conversion, statistics, checksum; and, when something is
//! wrong, a second pass that says what, where.
//!
//! The first pass is optimistic and as fast as DuckDB's own COPY. Only when it fails are the rows numbered
//! and searched.

use std::path::{Path, PathBuf};

use platform::clock::UtcTime;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::Context;
use crate::conversion;
use crate::defaults::DefaultValue;
use crate::manifest::{ManifestColumn, Segment};
use crate::messages::{self, Cause};
use crate::segment_file::{self, CopyError, Statistics};

/// How many bad values are listed.
pub(crate) const MAX_LISTED: usize = 10;
/// Longest value that a message shows, in characters.
const MAX_SHOWN: usize = 60;

/// Where rows go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The table's name, for messages.
    pub(crate) table: String,
    pub(crate) columns: Vec<ManifestColumn>,
    pub(crate) segment_id: String,
    /// The file to write.
    pub(crate) output: PathBuf,
    /// The time of the import, for defaults.
    pub(crate) now: UtcTime,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    /// None if there were no rows; then there is no file either.
    pub(crate) segment: Option<Segment>,
}

/// The rows to be written.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// As SQL, to stand after FROM. Its rows come in the same order each time.
    pub(crate) sql: String,
    /// The column that tells what is wrong with a row as such, a line each; NULL where nothing is.
    pub(crate) flaw: Option<&'static str>,
}

/// Where the value of a target column comes from, as SQL over the relation.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A value that is cast to the column's type.
    Value(String),
    /// A text.
    Text(String),
    /// A text, except where the condition after it holds: there the default.
    TextOrDefault(String, String),
    /// The default in every row.
    Default,
}

/// A file, and where its rows go.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) input: PathBuf,
    pub(crate) target: Target,
}

/// A value that does not fit, or a row that has the wrong shape.
pub(crate) struct Bad {
    pub(crate) row: u64,
    pub(crate) reason: String,
}

/// Closes the fence around the folder of an import, in which its input and its output are.
pub(crate) fn enclose(context: &mut Context, target: &Target, input: &Path) -> Result<()> {
    let output = target.output.as_path();
    let folder = output.parent();
    let folder = folder.ok_or_else(|| Error::internal("the segment has no folder"))?;
    context.enclose(folder, [output, input])
}

/// 422, with the first bad values.
pub(crate) fn refuse(table: &str, bad: &[Bad]) -> Error {
    let lines: Vec<_> = bad
        .iter()
        .map(|bad| format!("row {}: {}", bad.row, bad.reason))
        .collect();
    let first = lines.first().map_or("it cannot be read", String::as_str);
    let error = Error::unprocessable(format!(
        "Table '{table}', {first}. Row 1 is the first row of data."
    ));
    if lines.len() > 1 {
        error.with_details(format!("{}.", lines.join("; ")))
    } else {
        error
    }
}

/// `value` as a message shows it.
pub(crate) fn shown(value: &str) -> String {
    let mut shown: String = value
        .chars()
        .take(MAX_SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if value.chars().count() > MAX_SHOWN {
        shown.push('…');
    }
    format!("'{shown}'")
}

/// Writes the rows of `relation` to the target's file. `sources` go with the target's columns.
pub(crate) fn write(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<Written> {
    let copied = copy(context, target, sources, relation);
    finish(context, target, sources, relation, copied)
}

/// Looks at what a [`copy`] of the same wrote, or for why it failed.
pub(crate) fn finish(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
    copied: Result<(u64, Statistics), CopyError>,
) -> Result<Written> {
    match copied {
        Ok((0, _)) => {
            std::fs::remove_file(&target.output).map_err(Error::internal)?;
            Ok(Written {
                rows: 0,
                segment: None,
            })
        }
        Ok((rows, statistics)) => {
            check_required(context, target, sources, relation, &statistics)?;
            segment_file::check_field_ids(context, target)?;
            Ok(Written {
                rows,
                segment: Some(segment_file::describe(target, rows, statistics)?),
            })
        }
        Err(CopyError::Own(error)) => Err(error),
        Err(CopyError::Duck(error)) => {
            let text = messages::text(&error);
            if messages::cause(&text) != Cause::Statement {
                return Err(messages::own_error(&error));
            }
            let bad = bad_values(context, target, sources, relation)?;
            if bad.is_empty() {
                Err(Error::internal(text))
            } else {
                Err(refuse(&target.table, &bad))
            }
        }
    }
}

/// Writes the rows of `relation` to the target's file, and looks at nothing else: how many they are, and what is known of them.
pub(crate) fn copy(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<(u64, Statistics), CopyError> {
    let mut values = Vec::new();
    for (column, source) in target.columns.iter().zip(sources) {
        let value = match source {
            Source::Value(value) => format!("CAST({value} AS {})", column.column_type.duckdb_type()),
            Source::Text(text) => conversion::convert(column.column_type, text),
            Source::TextOrDefault(text, is_absent) => format!(
                "CASE WHEN {is_absent} THEN {} ELSE {} END",
                conversion::default(column, target.now)?,
                conversion::convert(column.column_type, text)
            ),
            Source::Default => conversion::default(column, target.now)?,
        };
        values.push(match relation.flaw.filter(|_| values.is_empty()) {
            // Which row, and what it is, is found by the search for what is wrong.
            Some(flaw) => {
                format!("CASE WHEN {flaw} IS NOT NULL THEN error('the row has a flaw') ELSE {value} END")
            }
            None => value,
        });
    }
    segment_file::write(context, target, &values, &relation.sql)
}

/// 409 if a column that needs a value has a row without one.
fn check_required(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
    statistics: &Statistics,
) -> Result<()> {
    for (column, source) in target
        .columns
        .iter()
        .zip(sources)
        .filter(|(column, _)| column.definition().is_required())
    {
        // An unknown count means that nobody looked; the file is there to look at.
        let nulls = statistics
            .get(&column.field_id)
            .and_then(|statistics| statistics.null_count);
        if nulls == Some(0) {
            continue;
        }
        let default = column.definition().default_value().map_err(Error::internal)?;
        let has_default = default.is_some_and(|default| default != DefaultValue::Null);
        let is_missing = match source {
            Source::TextOrDefault(text, is_absent) if has_default => {
                format!("{text} IS NULL AND NOT {is_absent}")
            }
            Source::Value(text) | Source::Text(text) | Source::TextOrDefault(text, _) => {
                format!("{text} IS NULL")
            }
            Source::Default => "true".to_owned(),
        };
        let first = format!(
            "SELECT {ROW_NUMBER} FROM {} WHERE {is_missing} LIMIT 1",
            numbered(&relation.sql)
        );
        match context
            .connection
            .query_row(&first, [], |row| row.get::<_, u64>(0))
        {
            Ok(row) => {
                return Err(Error::conflict(format!(
                    "Table '{}', row {row}: the column '{}' needs a value and has none. Row 1 is the first row of data.",
                    target.table, column.name
                )));
            }
            Err(duckdb::Error::QueryReturnedNoRows) if nulls.is_none() => {}
            Err(duckdb::Error::QueryReturnedNoRows) => {
                return Err(Error::internal(format!(
                    "no row of '{}' lacks a value, but some do",
                    column.name
                )));
            }
            Err(error) => return Err(messages::own_error(&error)),
        }
    }
    Ok(())
}

/// What rows are numbered under. No column of a table can have this name, so it hides none.
pub(crate) const ROW_NUMBER: &str = "\"row number\"";

/// A relation whose rows are numbered from 1.
pub(crate) fn numbered(relation: &str) -> String {
    format!("(SELECT row_number() OVER () AS {ROW_NUMBER}, * FROM {relation})")
}

/// The first rows and values that are wrong, in the order of the rows.
pub(crate) fn bad_values(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<Vec<Bad>> {
    let mut conditions = Vec::new();
    let mut candidates = Vec::new();
    if let Some(flaw) = relation.flaw {
        conditions.push(format!("{flaw} IS NOT NULL"));
        candidates.push(format!(
            "CASE WHEN {flaw} IS NOT NULL THEN {{i: NULL::UINTEGER, v: {flaw}}} END"
        ));
    }
    for (index, (column, source)) in target.columns.iter().zip(sources).enumerate() {
        let found = match source {
            Source::Value(value) => Some((conversion::does_not_fit(column.column_type, value), value)),
            Source::Text(text) | Source::TextOrDefault(text, _) => {
                conversion::is_bad(column.column_type, text).map(|is_bad| (is_bad, text))
            }
            Source::Default => None,
        };
        if let Some((is_bad, value)) = found {
            candidates.push(format!(
                "CASE WHEN {is_bad} THEN {{i: {index}::UINTEGER, v: TRY_CAST({value} AS VARCHAR)}} END"
            ));
            conditions.push(is_bad);
        }
    }
    if conditions.is_empty() {
        return Ok(Vec::new());
    }
    let search = format!(
        "SELECT {ROW_NUMBER}, bad.i, bad.v FROM (SELECT {ROW_NUMBER}, unnest([{}]) AS bad FROM {} WHERE {}) \
         WHERE bad IS NOT NULL LIMIT {MAX_LISTED}",
        candidates.join(", "),
        numbered(&relation.sql),
        conditions.join(" OR ")
    );
    let read = || -> duckdb::Result<Vec<(u64, Option<u32>, String)>> {
        let mut statement = context.connection.prepare(&search)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect()
    };
    let found = read().map_err(|error| messages::own_error(&error))?;
    let mut bad = Vec::new();
    for (row, index, value) in found {
        let column = index.and_then(|index| target.columns.get(usize::try_from(index).ok()?));
        match column {
            Some(column) => {
                let (name, kind) = (&column.name, column.column_type);
                let reason = format!("column '{name}': {} is not a {kind}", shown(&value));
                bad.push(Bad { row, reason });
            }
            None => bad.extend(value.lines().map(|reason| Bad {
                row,
                reason: reason.to_owned(),
            })),
        }
    }
    bad.truncate(MAX_LISTED);
    Ok(bad)
}
