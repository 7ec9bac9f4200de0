//! Writes the Parquet file of a segment under its columns' field ids, and describes it for the manifest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use duckdb::types::Value as DuckValue;
use platform::{Error, Result};
use sha2::{Digest as _, Sha256};

use crate::child::context::Context;
use crate::import::staging::Target;
use crate::schema::manifest::{ColumnStatistics, Segment};
use crate::statement::messages;
use crate::tables::sql;

/// Longest minimum or maximum kept, in bytes. A cut maximum would be wrong, so longer ones are omitted.
const MAX_STATISTIC_BYTES: usize = 64;

/// The error of a copy: from DuckDB or from this crate.
pub(crate) enum CopyError {
    Duck(duckdb::Error),
    Own(Error),
}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

pub(crate) type Statistics = BTreeMap<u32, ColumnStatistics>;

/// Writes `values`, one SQL expression over the relation for each of the target's columns. Returns the number
/// of rows and the columns' statistics.
pub(crate) fn write(
    context: &Context,
    target: &Target,
    values: &[String],
    relation: &str,
) -> Result<(u64, Statistics), CopyError> {
    let named = target.columns.iter().map(|column| sql::identifier(&column.name));
    let named: Vec<_> = named
        .zip(values)
        .map(|(name, value)| format!("{value} AS {name}"))
        .collect();
    let field_ids = target.columns.iter();
    let field_ids: Vec<_> = field_ids
        .map(|column| format!("{}: {}", sql::identifier(&column.name), column.field_id))
        .collect();
    let copy = format!(
        "COPY (SELECT {} FROM {relation}) TO {} (FORMAT parquet, COMPRESSION lz4_raw, PARQUET_VERSION V2, \
         ROW_GROUP_SIZE 122880, FIELD_IDS {{{}}}, RETURN_STATS)",
        named.join(", "),
        sql::path(&target.output)?,
        field_ids.join(", ")
    );
    let (rows, statistics) = context
        .connection
        .query_row(&copy, [], |row| {
            Ok((row.get::<_, u64>(1)?, row.get::<_, DuckValue>(4)?))
        })
        .map_err(CopyError::Duck)?;
    Ok((rows, read_statistics(target, &statistics)))
}

/// Reads the output of `RETURN_STATS`: a map from quoted column names to maps from names of statistics to
/// texts.
fn read_statistics(target: &Target, value: &DuckValue) -> Statistics {
    let mut read = Statistics::new();
    let DuckValue::Map(columns) = value else {
        return read;
    };
    for (name, statistics) in columns.iter() {
        let (DuckValue::Text(name), DuckValue::Map(statistics)) = (name, statistics) else {
            continue;
        };
        let Some(column) = target
            .columns
            .iter()
            .find(|column| sql::identifier(&column.name) == *name)
        else {
            continue;
        };
        let get = |key: &str| {
            statistics.iter().find_map(|(name, value)| match (name, value) {
                (DuckValue::Text(name), DuckValue::Text(value)) if name == key => Some(value.clone()),
                _ => None,
            })
        };
        let short = |key: &str| get(key).filter(|text| text.len() <= MAX_STATISTIC_BYTES);
        let (min, max) = short("min").zip(short("max")).unzip();
        let null_count = get("null_count").and_then(|count| count.parse().ok());
        read.insert(column.field_id, ColumnStatistics { min, max, null_count });
    }
    read
}

/// Checks the field ids in the file. A file whose columns lack them would read as NULL everywhere, without an
/// error.
pub(crate) fn check_field_ids(context: &Context, target: &Target) -> Result<()> {
    let query = format!(
        "SELECT name, field_id FROM parquet_schema({}) WHERE field_id IS NOT NULL ORDER BY field_id",
        sql::path(&target.output)?
    );
    let read = || -> duckdb::Result<BTreeMap<u32, String>> {
        let mut statement = context.connection.prepare(&query)?;
        let rows = statement.query_map([], |row| Ok((row.get(1)?, row.get(0)?)))?;
        rows.collect()
    };
    let written = read().map_err(|error| messages::own_error(&error))?;
    let expected: BTreeMap<u32, String> = target
        .columns
        .iter()
        .map(|column| (column.field_id, column.name.clone()))
        .collect();
    if written == expected {
        Ok(())
    } else {
        Err(Error::internal(format!(
            "the segment holds the fields {written:?}, not {expected:?}"
        )))
    }
}

/// Describes the segment in the target's file.
pub(crate) fn describe(target: &Target, rows: u64, columns: Statistics) -> Result<Segment> {
    let mut file = File::open(&target.output).map_err(Error::internal)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer).map_err(Error::internal)?;
        let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        hash.update(chunk);
        bytes += u64::try_from(read).unwrap_or(0);
    }
    let sha256 = hex::encode(hash.finalize());
    Ok(Segment {
        segment_id: target.segment_id.clone(),
        rows,
        bytes,
        sha256,
        columns,
    })
}
