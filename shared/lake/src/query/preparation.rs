//! Parses and checks a caller's statement, with the missing lists of its PIVOTs replaced.

use std::collections::HashSet;

use duckdb::Connection;
use platform::{Error, Result};

use crate::query::pivots;
use crate::query::pivots::Expansion;
use crate::statement::check::{Needs, check_tree};
use crate::statement::parameters::Rewritten;
use crate::statement::pivot_queries::{self, OpenPivot};
use crate::statement::planned::PivotValues;
use crate::statement::tree;
use crate::statement::tree::Tree;

/// Checks `rewritten`, made from the caller's `original`, and returns its needs. It may name the store's
/// `tables`. Fails with 400 if something is not allowed.
pub(crate) fn check(
    connection: &Connection,
    tables: &[String],
    original: &str,
    rewritten: &Rewritten,
) -> Result<Needs> {
    if let Some(tree) = tree::parse(connection, original, rewritten)? {
        return check_tree(&tree.value, tables, &[], original, rewritten);
    }
    let is_no_select =
        || Error::invalid("Only SELECT statements are allowed; a store is changed by its other operations.");
    let expansion = pivots::expand(rewritten)?.ok_or_else(is_no_select)?;
    let tree = tree::parse(connection, original, &expansion.rewritten)?.ok_or_else(is_no_select)?;
    let names = expansion.types.iter().map(|pivot_type| pivot_type.name.clone());
    let names: Vec<_> = names.collect();
    let mut needs = check_tree(&tree.value, tables, &names, original, &expansion.rewritten)?;
    let mut type_names = HashSet::new();
    for pivot in pivot_queries::find(&tree) {
        if !type_names.insert(pivot.type_name.clone()) {
            continue;
        }
        let (query, of_values) = values(connection, &tree, &expansion, &pivot, rewritten)?;
        let of_values = match of_values {
            Some(part) => {
                let tree = tree::parse(connection, original, &part)?.ok_or_else(|| {
                    Error::invalid("A query in the place of a PIVOT's list is one SELECT, whose own PIVOTs list their values.")
                })?;
                check_tree(&tree.value, tables, &names, original, &part)?
            }
            None => {
                let own = Rewritten::own(query.clone());
                let tree = tree::parse(connection, &query, &own)?.ok_or_else(is_no_select)?;
                check_tree(&tree.value, tables, &names, &query, &own).map_err(|error| {
                    Error::invalid(
                        "The values of a PIVOT in the query cannot be read by themselves; list them: ON … IN (…).",
                    )
                    .with_source(error)
                })?
            }
        };
        needs.tables.extend(of_values.tables);
        needs.is_volatile |= of_values.is_volatile;
        needs.pivots.push(PivotValues {
            type_name: pivot.type_name,
            sql: query,
        });
    }
    Ok(needs)
}

/// Returns the query for the values of a PIVOT, and the part of the statement with it if the caller wrote it.
fn values(
    connection: &Connection,
    tree: &Tree,
    expansion: &Expansion,
    pivot: &OpenPivot,
    rewritten: &Rewritten,
) -> Result<(String, Option<Rewritten>)> {
    let mut types = expansion.types.iter();
    let pivot_type = types.find(|pivot_type| pivot_type.name == pivot.type_name);
    match pivot_type.and_then(|pivot_type| pivot_type.query.clone()) {
        Some(range) => {
            let part = rewritten.part(range);
            Ok((part.sql.trim_start().to_owned(), Some(part)))
        }
        None => Ok((pivot_queries::query(connection, tree, pivot)?, None)),
    }
}

/// Returns the statement to run, for one that passed the check with these `needs`.
pub(crate) fn runnable(rewritten: Rewritten, needs: &Needs) -> Result<Rewritten> {
    if needs.pivots.is_empty() {
        return Ok(rewritten);
    }
    let expansion = pivots::expand(&rewritten)?;
    Ok(expansion.map_or(rewritten, |expansion| expansion.rewritten))
}
