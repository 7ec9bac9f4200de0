//! Makes results with VARIANT values readable. Arrow has no such type, so the statement runs again with casts
//! to JSON.

use std::collections::HashMap;

use duckdb::{Connection, params_from_iter};
use platform::{Error, Result};

use crate::query::type_name::type_name;
use crate::query::values::bound_values;
use crate::statement::check::check_tree;
use crate::statement::description::{description, without_semicolons};
use crate::statement::messages;
use crate::statement::parameters::Rewritten;
use crate::statement::planned::PivotValues;
use crate::statement::scanner::tokens;
use crate::statement::tree;
use crate::tables::sql;

/// A statement that returns JSON instead of VARIANT.
pub(super) struct Readable {
    pub(super) rewritten: Rewritten,
    /// Types of the caller's statement by column, for columns changed by a cast.
    pub(super) types: HashMap<usize, String>,
}

/// Casts each column that contains a VARIANT; None if there is no such column.
pub(super) fn readable(
    connection: &Connection,
    tables: &[String],
    pivots: &[PivotValues],
    original: &str,
    rewritten: &Rewritten,
) -> Result<Option<Readable>> {
    let to_error = |error| messages::made_error(&error);
    let inner = without_semicolons(&rewritten.sql);
    let mut describe = connection.prepare(&description(inner)).map_err(to_error)?;
    let values = bound_values(&describe, original, rewritten)?;
    let columns = describe
        .query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))
        .and_then(Iterator::collect::<duckdb::Result<Vec<(String, String)>>>)
        .map_err(to_error)?;
    let prepared = connection.prepare(inner).map_err(to_error)?;
    let mut types = HashMap::new();
    let list = columns.iter().enumerate().map(|(index, (name, duckdb_type))| {
        let name = sql::identifier(name);
        let number = index + 1;
        match with_json(duckdb_type) {
            Some(readable) => {
                types.insert(index, type_name(&prepared.column_logical_type(index)));
                format!("CAST(#{number} AS {readable}) AS {name}")
            }
            None => format!("#{number} AS {name}"),
        }
    });
    let list = list.collect::<Vec<_>>().join(", ");
    if types.is_empty() {
        return Ok(None);
    }
    let rewritten = rewritten.edited(&[
        (0..0, format!("SELECT {list} FROM (\n")),
        (inner.len()..rewritten.sql.len(), "\n)".to_owned()),
    ]);
    // The executed statement must pass the check, too, with its casts.
    let names: Vec<_> = pivots.iter().map(|pivot| pivot.type_name.clone()).collect();
    let tree = tree::parse(connection, original, &rewritten)?;
    let tree = tree.ok_or_else(|| Error::internal("a statement with VARIANT values has no parse tree"))?;
    check_tree(&tree.value, tables, &names, original, &rewritten)?;
    Ok(Some(Readable { rewritten, types }))
}

/// Returns DuckDB's name of a type with JSON instead of VARIANT; None if the type has no VARIANT.
fn with_json(duckdb_type: &str) -> Option<String> {
    let tokens = tokens(duckdb_type);
    let mut readable = String::new();
    let mut copied = 0;
    for (at, token) in tokens.iter().enumerate() {
        // A member's name is followed by its type.
        let is_type = tokens
            .get(at + 1)
            .is_none_or(|next| matches!(next.text, ")" | "," | "["));
        if token.is_word("VARIANT") && is_type {
            readable.push_str(duckdb_type.get(copied..token.at).unwrap_or_default());
            readable.push_str("JSON");
            copied = token.end();
        }
    }
    readable.push_str(duckdb_type.get(copied..).unwrap_or_default());
    (copied > 0).then_some(readable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_of_a_type_becomes_json() {
        for (duckdb_type, readable) in [
            ("VARIANT", Some("JSON")),
            ("VARIANT[][3]", Some("JSON[][3]")),
            (
                "STRUCT(\"variant\" VARIANT, variant INTEGER, \"VARIANT\" MAP(VARIANT, VARCHAR))",
                Some("STRUCT(\"variant\" JSON, variant INTEGER, \"VARIANT\" MAP(JSON, VARCHAR))"),
            ),
            (
                "UNION(a VARIANT, b ENUM('VARIANT'))",
                Some("UNION(a JSON, b ENUM('VARIANT'))"),
            ),
            ("STRUCT(variant INTEGER)", None),
            ("ENUM('VARIANT', ',')", None),
            ("INTEGER[]", None),
        ] {
            assert_eq!(with_json(duckdb_type).as_deref(), readable, "{duckdb_type}");
        }
    }
}
