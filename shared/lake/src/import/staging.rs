//! From a relation of texts to one Parquet segment: conversion, statistics, checksum; and, when something is
//! wrong, a second pass that says what, where.
//!
//! The first pass is optimistic and as fast as DuckDB's own COPY. Only when it fails are the rows numbered
//! and searched, and their keys written for the check that follows.

use std::path::{Path, PathBuf};

use platform::clock::UtcTime;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::import::fault_search;
use crate::import::faults::Fault;
use crate::import::rounding::Rounding;
use crate::import::segment_file::{self, CopyError, Statistics};
use crate::import::source::Source;
use crate::schema::manifest::{ManifestColumn, Segment};
use crate::statement::messages::{self, Cause};

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
    pub(crate) rounding: Option<Rounding>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    /// None if there were no rows; then there is no file either. With faults, a file in which the keys of all rows can be
    /// looked for, and nothing else.
    pub(crate) segment: Option<Segment>,
    /// The first rows at fault, by row.
    pub(crate) faults: Vec<Fault>,
}

impl Written {
    /// No segment, because of rows at fault.
    pub(crate) fn refused(faults: Vec<Fault>) -> Self {
        Self {
            rows: 0,
            segment: None,
            faults,
        }
    }
}

/// The rows to be written.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// As SQL, to stand after FROM. Its rows come in the same order each time.
    pub(crate) sql: String,
    /// The column that tells what is wrong with a row, a [`fault_search::Flaw`]; NULL where nothing is.
    pub(crate) flaw: Option<&'static str>,
}

/// A file, and where its rows go.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) input: PathBuf,
    pub(crate) target: Target,
}

/// Closes the fence around the folder of an import, in which its input and its output are.
pub(crate) fn enclose(context: &mut Context, target: &Target, input: &Path) -> Result<()> {
    let output = target.output.as_path();
    let folder = output.parent();
    let folder = folder.ok_or_else(|| Error::internal("the segment has no folder"))?;
    context.enclose(folder, [output, input])
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
                faults: Vec::new(),
            })
        }
        Ok((rows, statistics)) => {
            let faults = match lacks_values(target, &statistics, true) {
                true => fault_search::faults(context, target, sources, relation)?,
                false => Vec::new(),
            };
            if faults.is_empty() && lacks_values(target, &statistics, false) {
                return Err(Error::internal(
                    "a column that needs values lacks some, but no row does",
                ));
            }
            segment_file::check_field_ids(context, target)?;
            Ok(Written {
                rows,
                segment: Some(segment_file::describe(target, rows, statistics)?),
                faults,
            })
        }
        Err(CopyError::Own(error)) => Err(error),
        Err(CopyError::Duck(error)) => {
            let text = messages::text(&error);
            if messages::cause(&text) != Cause::Statement {
                return Err(messages::own_error(&error));
            }
            let faults = fault_search::faults(context, target, sources, relation)?;
            if faults.is_empty() {
                return Err(Error::internal(text));
            }
            Ok(Written {
                segment: fault_search::write_keys(context, target, sources, relation)?,
                ..Written::refused(faults)
            })
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
        let value = source.value(column, target.making())?;
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

/// Whether a column that needs a value lacks one in a row. `unknown` is taken for a count that is not known.
fn lacks_values(target: &Target, statistics: &Statistics, unknown: bool) -> bool {
    let mut required = target
        .columns
        .iter()
        .filter(|column| column.definition().is_required());
    required.any(|column| {
        let statistics = statistics.get(&column.field_id);
        let null_count = statistics.and_then(|statistics| statistics.null_count);
        null_count.map_or(unknown, |count| count > 0)
    })
}
