//! What a caller's statement would return, without running it.

use duckdb::params_from_iter;
use platform::{Error, Result};
use serde::{Deserialize, Serialize};

use super::query::{over_stand_ins, planned};
use crate::child::context::Context;
use crate::query::values::bound_values;
use crate::statement::messages;
use crate::statement::scanner::tokens;
use crate::tables::bound::BoundTable;

/// A column of a statement's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultColumn {
    /// Its name, as the answer of the query has it. Two columns may have the same.
    pub name: String,
    /// Its type: as column definitions write it where they have it, else as DuckDB does.
    pub column_type: String,
}

impl ResultColumn {
    /// Whether a value of the column can have parts: members or elements.
    pub fn has_parts(&self) -> bool {
        let of_type = |prefix: &str| self.column_type.starts_with(prefix);
        self.column_type.ends_with(']')
            || ["JSON", "STRUCT(", "MAP(", "UNION(", "VARIANT"]
                .into_iter()
                .any(of_type)
    }
}

/// Names the columns that the planned statement would return.
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
        let to_error = |error| messages::caller_error(&error, original, rewritten);
        // The statement by itself first: the places in its errors are those of the caller's text.
        drop(connection.prepare(&rewritten.sql).map_err(to_error)?);
        // The driver tells a result's columns only after its execution; DESCRIBE tells them without.
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

/// The statement that describes `sql`. DuckDB wants parentheses around another DESCRIBE.
pub(super) fn description(sql: &str) -> String {
    let first = tokens(sql).into_iter().next();
    let describes = ["DESC", "DESCRIBE", "SHOW", "SUMMARIZE"];
    match first.is_some_and(|first| describes.iter().any(|word| first.is_word(word))) {
        true => format!("DESCRIBE (\n{}\n)", without_semicolons(sql)),
        false => format!("DESCRIBE {sql}"),
    }
}

/// `sql` without semicolons at its end.
pub(super) fn without_semicolons(sql: &str) -> &str {
    let tokens = tokens(sql);
    let semicolons = tokens.iter().rev().take_while(|token| token.is_symbol(';'));
    let end = semicolons.last().map_or(sql.len(), |first| first.at);
    sql.get(..end).unwrap_or(sql)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_before_its_semicolons() {
        for (sql, statement) in [
            ("select 1", "select 1"),
            ("select 1;", "select 1"),
            ("select 1 ; -- ;\n ;", "select 1 "),
            ("select ';'", "select ';'"),
            ("select 1 -- ;", "select 1 -- ;"),
        ] {
            assert_eq!(without_semicolons(sql), statement);
        }
    }
}
