//! Describes the columns of a statement's result without running the statement.

use duckdb::params_from_iter;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use super::query::{over_stand_ins, planned};
use crate::child::context::Context;
use crate::query::values::bound_values;
use crate::statement::description::description;
use crate::statement::messages;
use crate::tables::bound::BoundTable;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultColumn {
    /// Name in the query's answer. Two columns may have the same name.
    pub name: String,
    /// Type as column definitions write it, or DuckDB's name for a type that definitions lack.
    pub column_type: String,
}

impl ResultColumn {
    /// Returns whether a value of the column can have members or elements.
    pub fn has_parts(&self) -> bool {
        let of_type = |prefix: &str| self.column_type.starts_with(prefix);
        self.column_type.ends_with(']')
            || ["JSON", "STRUCT(", "MAP(", "UNION(", "VARIANT"]
                .into_iter()
                .any(of_type)
    }
}

/// Returns the columns of the planned statement's result.
pub(crate) fn run(context: &mut Context, tables: &[BoundTable]) -> Result<Vec<ResultColumn>> {
    let planned = planned(context)?;
    if !planned.pivots.is_empty() {
        return Err(Error::invalid(
            "The columns of the query are not known without its rows, because a PIVOT does not list its values; \
             list them: ON … IN (…).",
        ));
    }
    let (original, rewritten) = (&planned.original, &planned.rewritten);
    over_stand_ins(&context.connection, tables, |connection| {
        // Prepared alone first, so that an error has its place in the caller's text.
        let prepared = connection.prepare(&rewritten.sql);
        drop(prepared.map_err(|error| messages::caller_error(&error, original, rewritten))?);
        let to_error = |error| messages::made_error(&error);
        // The driver knows a result's columns only after execution; DESCRIBE returns them without it.
        let mut describe = connection
            .prepare(&description(&rewritten.sql))
            .map_err(to_error)?;
        let values = bound_values(&describe, original, rewritten)?;
        let columns = describe
            .query_map(params_from_iter(values), |row| {
                Ok(ResultColumn {
                    name: row.get(0)?,
                    column_type: type_name(row.get(1)?),
                })
            })
            .map_err(to_error)?;
        columns.collect::<duckdb::Result<_>>().map_err(to_error)
    })
}

fn type_name(duckdb_type: String) -> String {
    match duckdb_type.as_str() {
        "VARCHAR" => "STRING".to_owned(),
        "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => {
            "TIMESTAMP".to_owned()
        }
        _ => duckdb_type,
    }
}
