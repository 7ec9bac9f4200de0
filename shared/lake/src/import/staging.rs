//! Writes a relation of texts to one Parquet segment with conversion, statistics and checksum, and locates
//! faults.
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

/// Destination of rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// For messages.
    pub(crate) table: String,
    pub(crate) columns: Vec<ManifestColumn>,
    pub(crate) segment_id: String,
    pub(crate) output: PathBuf,
    /// Time of the import, for defaults.
    pub(crate) now: UtcTime,
    pub(crate) rounding: Option<Rounding>,
}

/// Result of staging a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageOutcome {
    pub(crate) rows: u64,
    /// None if there were no rows; then there is no file. If there are faults, the file serves only to check
    /// the keys of all rows.
    pub(crate) segment: Option<Segment>,
    /// Faults of the first wrong rows, in row order.
    pub(crate) faults: Vec<Fault>,
}

impl StageOutcome {
    /// Returns a result with faults and without a segment.
    pub(crate) fn refused(faults: Vec<Fault>) -> Self {
        Self {
            rows: 0,
            segment: None,
            faults,
        }
    }
}

/// The rows to write.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// SQL that can stand after FROM. Its rows have the same order each time.
    pub(crate) sql: String,
    /// SQL for a row's fault, a [`fault_search::Flaw`]; NULL if the row has none.
    pub(crate) flaw: Option<String>,
}

/// An input file, and the destination of its rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StageInput {
    pub(crate) input: PathBuf,
    pub(crate) target: Target,
}

/// Closes the fence around the folder of an import, which contains its input and output.
pub(crate) fn enclose(context: &mut Context, target: &Target, input: &Path) -> Result<()> {
    let output = target.output.as_path();
    let folder = output.parent();
    let folder = folder.ok_or_else(|| Error::internal("the segment has no folder"))?;
    context.enclose(folder, [output, input])
}

/// Writes the rows of `relation` to the target's file. `sources` are in the order of the target's columns.
pub(crate) fn write(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<StageOutcome> {
    let copied = copy(context, target, sources, relation);
    finish(context, target, sources, relation, copied)
}

/// Checks the result of a [`copy`] with the same arguments, or finds the faults that made it fail.
pub(crate) fn finish(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
    copied: Result<(u64, Statistics), CopyError>,
) -> Result<StageOutcome> {
    match copied {
        Ok((0, _)) => {
            std::fs::remove_file(&target.output).map_err(Error::internal)?;
            Ok(StageOutcome {
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
            Ok(StageOutcome {
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
            Ok(StageOutcome {
                segment: fault_search::write_keys(context, target, sources, relation)?,
                ..StageOutcome::refused(faults)
            })
        }
    }
}

/// Writes the rows of `relation` to the target's file without further checks. Returns the number of rows and
/// the columns' statistics.
pub(crate) fn copy(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<(u64, Statistics), CopyError> {
    let mut values = Vec::new();
    for (column, source) in target.columns.iter().zip(sources) {
        let value = source.value(column, target.making())?;
        values.push(match relation.flaw.as_ref().filter(|_| values.is_empty()) {
            // The search for faults finds the row and its flaw.
            Some(flaw) => {
                format!("CASE WHEN {flaw} IS NOT NULL THEN error('the row has a flaw') ELSE {value} END")
            }
            None => value,
        });
    }
    segment_file::write(context, target, &values, &relation.sql)
}

/// Returns whether a required column lacks a value in some row. `unknown` is the answer for an unknown count.
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
