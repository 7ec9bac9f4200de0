//! Finds the faults of rows that could not be written: numbers the rows and tests each value.

use platform::error::RowError;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::child::context::Context;
use crate::import::faults::{Fault, Kind, MAX_ROW_ERRORS, MAX_VALUE, cut, shown};
use crate::import::key::Key;
use crate::import::reason;
use crate::import::segment_file::{self, CopyError};
use crate::import::source::{Making, Source};
use crate::import::staging::{Relation, Target};
use crate::schema::manifest::Segment;
use crate::statement::messages;
use crate::tables::sql::{ROW_NUMBER, numbered};

/// A fault of a row that is known before its values are converted: a value of the flaw column of a
/// [`Relation`], as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flaw {
    /// Index of the wrong column among the target's columns; None if the whole row is wrong.
    pub(crate) column: Option<usize>,
    pub(crate) value: Option<String>,
    pub(crate) reason: String,
}

impl Flaw {
    pub(crate) fn of_row(reason: impl Into<String>) -> Self {
        Self {
            column: None,
            value: None,
            reason: reason.into(),
        }
    }
}

/// Result for a row: its number, its flaw, and the first wrong column with its value and the kind of its
/// fault.
type Found = (u64, Option<String>, Option<usize>, Option<String>, Option<u8>);

/// Kinds of faults of a value, as the query returns them.
const UNFIT: u8 = 0;
const LOSSY: u8 = 1;
const MISSING: u8 = 2;

/// Returns the faults of the first wrong rows, in row order: [`MAX_ROW_ERRORS`], and one more if there are
/// more. Each row reports its first wrong column.
pub(crate) fn faults(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<Vec<Fault>> {
    let mut candidates = Vec::new();
    for (index, (column, source)) in target.columns.iter().zip(sources).enumerate() {
        if let Some(search) = source.search(column, target.making()) {
            candidates.push(format!(
                "CASE WHEN {} THEN {{i: {index}::UINTEGER, v: substr(TRY_CAST({} AS VARCHAR), 1, {}), \
                 k: CASE WHEN {} THEN {LOSSY} ELSE {UNFIT} END::UTINYINT}} END",
                search.is_bad,
                search.shown,
                MAX_VALUE + 1,
                search.is_lossy
            ));
        }
        if let Some(is_missing) = source.is_missing(column)? {
            candidates.push(format!(
                "CASE WHEN {is_missing} THEN {{i: {index}::UINTEGER, v: NULL::VARCHAR, k: {MISSING}::UTINYINT}} END"
            ));
        }
    }
    let flaw = relation.flaw.as_deref().unwrap_or("NULL::VARCHAR");
    if candidates.is_empty() && relation.flaw.is_none() {
        return Ok(Vec::new());
    }
    candidates.push("NULL::STRUCT(i UINTEGER, v VARCHAR, k UTINYINT)".to_owned());
    let search = format!(
        "SELECT {ROW_NUMBER}, flaw, fault.i, fault.v, fault.k \
         FROM (SELECT {ROW_NUMBER}, {flaw} AS flaw, coalesce({}) AS fault FROM {}) \
         WHERE flaw IS NOT NULL OR fault IS NOT NULL LIMIT {}",
        candidates.join(", "),
        numbered(&relation.sql),
        MAX_ROW_ERRORS + 1
    );
    let read = || -> duckdb::Result<Vec<Found>> {
        let mut statement = context.connection.prepare(&search)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        rows.collect()
    };
    let found = read().map_err(|error| messages::own_error(&error))?;
    found.into_iter().map(|found| fault(target, found)).collect()
}

fn fault(target: &Target, (row, flaw, index, value, kind): Found) -> Result<Fault> {
    let flaw = flaw.map(|flaw| serde_json::from_str::<Flaw>(&flaw));
    let flaw = flaw.transpose().map_err(Error::internal)?;
    // A flaw of the whole row is reported before a fault in its first column.
    let flaw = flaw.filter(|flaw| index.is_none_or(|index| flaw.column.is_none_or(|column| column <= index)));
    let index = flaw.as_ref().map_or(index, |flaw| flaw.column);
    let Some(column) = index.and_then(|index| target.columns.get(index)) else {
        let reason = flaw.map(|flaw| flaw.reason);
        let reason = reason.ok_or_else(|| Error::internal("a fault without a column"))?;
        return Ok(Fault::of_row(&target.table, row, reason));
    };
    let (kind, value, reason) = match (flaw, kind) {
        (Some(flaw), _) => (Kind::Value, flaw.value, flaw.reason),
        (None, Some(MISSING)) => {
            let reason = format!("the column '{}' needs a value and has none", column.name);
            (Kind::Missing, None, reason)
        }
        (None, kind) => {
            let text = value.unwrap_or_default();
            let reason = reason::reason(column.column_type, kind == Some(LOSSY), &shown(&text));
            (Kind::Value, Some(text), reason)
        }
    };
    Ok(Fault {
        kind,
        error: RowError {
            table: target.table.clone(),
            row,
            column: Some(column.name.clone()),
            value: value.as_deref().map(cut),
            reason,
        },
    })
}

/// Writes only the columns of the target's keys to its file, NULL for wrong values, so that keys can be
/// checked although some rows have faults. Returns None if the target has no keys or no rows.
pub(crate) fn write_keys(
    context: &Context,
    target: &Target,
    sources: &[Source],
    relation: &Relation,
) -> Result<Option<Segment>> {
    let keys = Key::from_columns(&target.columns);
    let is_key = |id: u32| {
        keys.iter()
            .flat_map(|key| &key.columns)
            .any(|key| key.field_id == id)
    };
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for (column, source) in target.columns.iter().zip(sources) {
        if is_key(column.field_id) {
            values.push(source.value_or_null(column, target.making())?);
            columns.push(column.clone());
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let target = Target {
        columns,
        ..target.clone()
    };
    match segment_file::write(context, &target, &values, &relation.sql) {
        Ok((0, _)) => Ok(None),
        Ok((rows, statistics)) => segment_file::describe(&target, rows, statistics).map(Some),
        Err(CopyError::Own(error)) => Err(error),
        Err(CopyError::Duck(error)) => Err(messages::own_error(&error)),
    }
}

impl Target {
    pub(crate) fn making(&self) -> Making {
        Making {
            now: self.now,
            rounding: self.rounding,
        }
    }
}
