//! Expands a PIVOT without a list of values, whose columns are the values of the data.
//!
//! DuckDB makes two statements of it: one stores the values in a type, the next reads the type. Neither has a
//! parse tree to check. This module does the same in steps that can be checked. The name of a type replaces
//! the missing list, which makes the statement one SELECT; a second query reads the values. Both are checked.
//! The transaction that runs the statement runs the query first and makes the type; its rollback removes the
//! type.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use duckdb::{Connection, params_from_iter};
use platform::{Error, Result};

use crate::query::values::bound_values;
use crate::statement::messages;
use crate::statement::parameters::Rewritten;
use crate::statement::planned::PivotValues;
use crate::statement::scanner::{Token, tokens};
use crate::tables::sql;

/// Most PIVOTs of a statement in which a list is missing.
const MAX_PIVOTS: usize = 100;
/// Most values of one PIVOT: each becomes one or more columns.
const MAX_VALUES: usize = 10_000;

/// A statement in which the name of a type replaces each missing list.
pub(crate) struct Expansion {
    pub(crate) rewritten: Rewritten,
    pub(crate) types: Vec<PivotType>,
}

/// A type that stands for a missing list.
pub(crate) struct PivotType {
    pub(crate) name: String,
    /// Byte range of the caller's query for its values, if there is one.
    pub(crate) query: Option<Range<usize>>,
}

/// Replaces each missing list by the name of a type; None if no list is missing.
pub(crate) fn expand(rewritten: &Rewritten) -> Result<Option<Expansion>> {
    let tokens = tokens(&rewritten.sql);
    let is_pivot = |token: &Token<'_>| token.is_word("PIVOT") || token.is_word("PIVOT_WIDER");
    // The search for each list may read up to the end of the statement, so the number is limited.
    if tokens.iter().filter(|token| is_pivot(token)).count() > MAX_PIVOTS {
        return Err(Error::invalid(format!(
            "The query has more than {MAX_PIVOTS} PIVOTs, and some without a list of values; list them: ON … IN (…)."
        )));
    }
    let Some(prefix) = unused_prefix(&rewritten.sql) else {
        return Ok(None);
    };
    let (mut edits, mut types) = (Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let after = tokens.get(at + 1..).unwrap_or_default();
        if !is_pivot(token) || is_postfix(after) {
            continue;
        }
        for entry in entries(after) {
            let name = format!("{prefix}{}", types.len());
            match missing(entry) {
                Some(Missing::List(end)) => {
                    edits.push((end..end, format!(" IN {name}")));
                    types.push(PivotType { name, query: None });
                }
                Some(Missing::Query(parentheses)) => {
                    types.push(PivotType {
                        name: name.clone(),
                        query: Some(parentheses.start + 1..parentheses.end - 1),
                    });
                    edits.push((parentheses, format!(" {name} ")));
                }
                None => {}
            }
        }
    }
    // The list of an outer PIVOT comes after the list of an inner one.
    edits.sort_by_key(|(range, _)| range.start);
    // A query that stands for a list is replaced whole, so edits inside it are dropped.
    let mut end = 0;
    edits.retain(|(range, _)| {
        let is_outside = range.start >= end;
        end = end.max(range.end);
        is_outside
    });
    let expansion = (!types.is_empty()).then(|| Expansion {
        rewritten: rewritten.edited(&edits),
        types,
    });
    Ok(expansion)
}

/// Returns a prefix that does not occur in the statement; None for a statement built to contain all
/// candidates.
fn unused_prefix(sql: &str) -> Option<String> {
    let lower = sql.to_ascii_lowercase();
    let prefixes = (0..100).map(|number| format!("pivot_values_{number}_"));
    prefixes.into_iter().find(|prefix| !lower.contains(prefix))
}

/// Returns whether a PIVOT follows its table, as in `t PIVOT (sum(x) FOR y IN (…))`. That form always lists
/// its values.
fn is_postfix(after: &[Token<'_>]) -> bool {
    if !after.first().is_some_and(|token| token.is_symbol('(')) {
        return false;
    }
    let mut depth = 0_usize;
    for token in after {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 1 => return false,
            ")" | "]" | "}" => depth -= 1,
            _ if depth == 1 && token.is_word("FOR") => return true,
            _ => {}
        }
    }
    false
}

/// Returns the parts after a PIVOT's ON, split at commas. A join in its source may have an ON, so the last ON
/// counts.
fn entries<'a>(after: &'a [Token<'a>]) -> Vec<&'a [Token<'a>]> {
    let (mut start, mut end) = (None, None);
    let mut stop = after.len();
    for (at, token) in outermost(after) {
        let is_one_of = |words: &[&str]| words.iter().any(|word| token.is_word(word));
        if token.is_word("ON") {
            (start, end) = (Some(at + 1), None);
        } else if is_one_of(&["USING", "GROUP"]) {
            end = end.or(Some(at));
        } else if is_closing(token) || token.is_symbol(';') || is_one_of(&ENDS) {
            stop = at;
            break;
        }
    }
    let Some(start) = start else { return Vec::new() };
    let all = after.get(start..end.unwrap_or(stop)).unwrap_or_default();
    let commas = outermost(all).filter(|(_, token)| token.is_symbol(','));
    let mut cuts: Vec<usize> = commas.map(|(at, _)| at).collect();
    cuts.push(all.len());
    let mut from = 0;
    let parts = cuts.into_iter().map(|cut| {
        let part = all.get(from..cut).unwrap_or_default();
        from = cut + 1;
        part
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Keywords of the surrounding statement that can follow a PIVOT.
const ENDS: [&str; 6] = ["UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT", "OFFSET"];

fn is_closing(token: &Token<'_>) -> bool {
    matches!(token.text, ")" | "]" | "}")
}

/// Returns the tokens outside of parentheses and CASE, with their indexes.
fn outermost<'a>(all: &'a [Token<'a>]) -> impl Iterator<Item = (usize, &'a Token<'a>)> {
    let mut depth = 0_usize;
    all.iter().enumerate().filter(move |(_, token)| {
        let is_inside = depth > 0;
        if matches!(token.text, "(" | "[" | "{") || token.is_word("CASE") {
            depth += 1;
        } else if is_closing(token) || token.is_word("END") {
            depth = depth.saturating_sub(1);
        }
        !is_inside
    })
}

/// The kind of list that an entry after ON lacks.
enum Missing {
    /// No list; the byte where the entry ends.
    List(usize),
    /// A query instead of a list; its byte range with the parentheses.
    Query(Range<usize>),
}

fn missing(entry: &[Token<'_>]) -> Option<Missing> {
    let Some((at, _)) = outermost(entry).find(|(_, token)| token.is_word("IN")) else {
        return entry.last().map(|last| Missing::List(last.end()));
    };
    let [open, first, ..] = entry.get(at + 1..)? else {
        return None;
    };
    let last = entry.last()?;
    let is_query = ["SELECT", "FROM", "WITH", "VALUES", "TABLE"]
        .iter()
        .any(|word| first.is_word(word));
    let is_whole = open.is_symbol('(') && last.is_symbol(')');
    (is_query && is_whole).then(|| Missing::Query(open.at..last.end()))
}

/// Reads the values and makes the types. Needs a transaction, whose rollback removes the types.
pub(crate) fn make_types(
    connection: &Connection,
    pivots: &[PivotValues],
    original: &str,
    rewritten: &Rewritten,
) -> Result<()> {
    for pivot in pivots {
        let values = values(connection, pivot, original, rewritten)?;
        make_type(connection, &pivot.type_name, &values)?;
    }
    Ok(())
}

/// Makes each type with one invented value, to bind a statement that is not run.
pub(crate) fn make_stand_ins(connection: &Connection, pivots: &[PivotValues]) -> Result<()> {
    pivots.iter().try_for_each(|pivot| {
        make_type(
            connection,
            &pivot.type_name,
            std::slice::from_ref(&pivot.type_name),
        )
    })
}

fn values(
    connection: &Connection,
    pivot: &PivotValues,
    original: &str,
    rewritten: &Rewritten,
) -> Result<Vec<String>> {
    let sql = format!(
        "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (\n{}\n) LIMIT {}",
        pivot.sql,
        MAX_VALUES + 1
    );
    let to_error = |error| messages::made_error(&error);
    let mut statement = connection.prepare(&sql).map_err(to_error)?;
    let bound = bound_values(&statement, original, rewritten)?;
    let mut rows = statement.query(params_from_iter(bound)).map_err(to_error)?;
    if rows
        .as_ref()
        .is_some_and(|statement| statement.column_count() != 1)
    {
        return Err(Error::invalid(
            "The query that gives the values of a PIVOT returns one column, and here there are several.",
        ));
    }
    let mut read = Vec::new();
    while let Some(row) = rows.next().map_err(to_error)? {
        read.push(row.get::<_, Option<String>>(0).map_err(to_error)?);
    }
    if read.len() > MAX_VALUES {
        return Err(Error::unprocessable(format!(
            "A PIVOT of the query finds more than {MAX_VALUES} values; list those that count: ON … IN (…)."
        )));
    }
    let mut unique = HashSet::new();
    let values = read
        .into_iter()
        .flatten()
        .filter(|value| unique.insert(value.clone()));
    Ok(values.collect())
}

fn make_type(connection: &Connection, name: &str, values: &[String]) -> Result<()> {
    if values.iter().any(|value| value.contains('\0')) {
        return Err(Error::unprocessable(
            "A PIVOT of the query finds a value with a NUL character (U+0000); list its values: ON … IN (…).",
        ));
    }
    let mut statement = format!("CREATE TEMP TYPE {} AS ENUM (", sql::identifier(name));
    for (at, value) in values.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(statement, "{comma}{}", sql::literal(value));
    }
    statement.push(')');
    connection
        .execute_batch(&statement)
        .map_err(|error| messages::own_error(&error))
}
