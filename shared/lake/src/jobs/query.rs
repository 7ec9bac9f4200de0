//! Checks a caller's statement, then runs it inside the fence.
//!
//! A statement takes two jobs. The first checks it and returns the tables that it needs, so that the parent
//! fetches only the files of these tables; the second runs it. The child writes the answer in its final form,
//! and the parent forwards it unread.

use std::collections::HashMap;
use std::time::Instant;

use duckdb::{Connection, Statement, params_from_iter};
use platform::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::variants;
use crate::child::context::Context;
use crate::query::answer::{self, AnswerSize, Body, Bounds, Format};
use crate::query::pivots;
use crate::query::preparation;
use crate::query::type_name::type_name;
use crate::query::typed_parameters;
use crate::query::values::bound_values;
use crate::statement::messages;
use crate::statement::parameters::{self, Rewritten, Scalar};
use crate::statement::planned::Planned;
use crate::tables::bound::BoundTable;
use crate::tables::native::{Tier, TieredTable};
use crate::tables::sql;
use crate::tables::views;

/// The parent's view of a checked statement.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlanReply {
    pub(crate) tables: Vec<PlannedTable>,
    pub(crate) is_volatile: bool,
}

/// A table that a statement needs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlannedTable {
    pub(crate) name: String,
    /// The tier that its view reads; None before the view exists.
    pub(crate) tier: Option<Tier>,
}

/// Checks a statement and keeps it. Without `params` its parameters have no values, and it cannot be run.
pub(crate) fn plan(
    context: &mut Context,
    original: String,
    params: Option<&Map<String, Value>>,
) -> Result<PlanReply> {
    let started = Instant::now();
    let rewritten = match params {
        Some(params) => parameters::rewrite(&original, params)?,
        None => parameters::rewrite_unbound(&original)?,
    };
    let needs = match context.checked.find(&rewritten.sql) {
        Some(needs) => needs,
        None => {
            let needs = preparation::check(&context.connection, context.tables()?, &original, &rewritten)?;
            context.checked.keep(&rewritten.sql, &needs);
            needs
        }
    };
    context.planned = Some(Planned {
        rewritten: preparation::runnable(rewritten, &needs)?,
        pivots: needs.pivots,
        original,
        took: started.elapsed(),
    });
    let tables = needs.tables.into_iter().map(|name| PlannedTable {
        tier: context.views.tier(&name),
        name,
    });
    Ok(PlanReply {
        tables: tables.collect(),
        is_volatile: needs.is_volatile,
    })
}

pub(super) fn planned(context: &mut Context) -> Result<Planned> {
    let planned = context.planned.take();
    planned.ok_or_else(|| Error::internal("no statement was planned"))
}

/// Runs the planned statement. `tables` are the tables that it needs and whose view is missing or has the
/// other tier.
pub(crate) fn run(
    context: &mut Context,
    tables: &[TieredTable],
    bounds: Bounds,
    format: Format,
) -> Result<(AnswerSize, Vec<u8>)> {
    let mut planned = planned(context)?;
    let started = Instant::now();
    context.views.define(&context.connection, tables)?;
    // The types of a PIVOT's values exist only within the transaction.
    if planned.pivots.is_empty() {
        typed_parameters::read(&context.connection, &mut planned.rewritten)?;
    }
    let answer = answer(context, &planned, started, bounds, format);
    match answer {
        Err(error) if is_about_a_value(&error) && planned.pivots.is_empty() => {
            Err(typed_parameters::refusal(&context.connection, &planned.rewritten).unwrap_or(error))
        }
        answer => answer,
    }
}

/// Returns whether an error may be that of a parameter's text.
fn is_about_a_value(error: &Error) -> bool {
    error.kind() == ErrorKind::Unprocessable && error.message() != messages::OUT_OF_MEMORY
}

/// Runs the statement and writes its answer.
fn answer(
    context: &mut Context,
    planned: &Planned,
    started: Instant,
    bounds: Bounds,
    format: Format,
) -> Result<(AnswerSize, Vec<u8>)> {
    let tables_of_version = context.tables.as_deref().unwrap_or_default();
    in_read_only_transaction(&context.connection, || {
        let connection = &context.connection;
        pivots::make_types(connection, &planned.pivots, &planned.original, &planned.rewritten)?;
        let executed = execute(connection, tables_of_version, planned)?;
        let statement = executed.statement;
        let mut body = Body::new(&mut context.output);
        let size = match format {
            Format::Json => {
                head(&statement, &executed.types, body.end())?;
                answer::json_arrays(&statement, bounds, &mut body)
            }
            Format::Csv => answer::csv(&statement, bounds, &mut body),
            Format::Arrow => answer::arrow(&statement, bounds, &mut body),
        };
        let rewritten = executed.rewritten.as_ref().unwrap_or(&planned.rewritten);
        let size = size.map_err(|stopped| stopped.for_caller(&planned.original, rewritten, bounds.bytes))?;
        if format == Format::Json {
            let millis = (planned.took + started.elapsed()).as_secs_f64() * 1e3;
            let tail = format!(
                "],\"row_count\":{},\"truncated\":{},\"execution_time_ms\":{millis:.3}}}",
                size.rows, size.is_truncated
            );
            body.end().extend_from_slice(tail.as_bytes());
        }
        Ok((size, body.into_rest()))
    })
}

/// Lets DuckDB bind the planned statement without running it. The tables have no rows here, so no file is
/// read.
pub(crate) fn validate(context: &mut Context, tables: &[BoundTable]) -> Result<()> {
    let planned = planned(context)?;
    over_stand_ins(&context.connection, tables, |connection| {
        let prepare = |rewritten: &Rewritten| {
            let prepared = connection.prepare(&rewritten.sql);
            prepared
                .map(drop)
                .map_err(|error| messages::caller_error(&error, &planned.original, rewritten))
        };
        pivots::make_stand_ins(connection, &planned.pivots)?;
        match prepare(&planned.rewritten) {
            // The columns of a PIVOT without a list are known only from the rows.
            Err(fault) if !planned.pivots.is_empty() && is_about_the_schema(&fault) => return Ok(()),
            prepared => prepared?,
        }
        if planned.rewritten.values.is_empty() {
            return Ok(());
        }
        // DuckDB stops at the first parameter of unknown type and reports success. So the statement is
        // prepared again with NULL for the parameters; only errors about the schema count, because NULL
        // itself can cause the others.
        if !planned.pivots.is_empty() {
            return Ok(());
        }
        match prepare(&parameters::rewrite_to_nulls(&planned.original)?) {
            Err(fault) if is_about_the_schema(&fault) => Err(fault),
            _ => Ok(()),
        }
    })
}

fn is_about_the_schema(fault: &Error) -> bool {
    ABOUT_THE_SCHEMA.iter().any(|part| fault.message().contains(part))
}

/// Parts of messages about a missing or ambiguous table or column.
const ABOUT_THE_SCHEMA: [&str; 5] = [
    "Referenced column \"",
    "Referenced table \"",
    "does not have a column named",
    "Ambiguous reference to",
    " does not exist!",
];

/// Runs a function in a transaction in which the tables have no rows.
pub(super) fn over_stand_ins<T>(
    connection: &Connection,
    tables: &[BoundTable],
    run: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let stand_ins = views::stand_ins(tables)?;
    in_transaction(connection, "BEGIN TRANSACTION", || {
        let result = connection.execute_batch(&stand_ins);
        result.map_err(|error| messages::own_error(&error))?;
        run(connection)
    })
}

/// Returns the first rows of a table as a JSON array of objects.
pub(crate) fn sample(context: &mut Context, table: BoundTable, bounds: Bounds) -> Result<Vec<u8>> {
    let text = format!("SELECT * FROM {}", sql::identifier(&table.name));
    let of_segments = TieredTable { table, copy: None };
    context.views.define(&context.connection, &[of_segments])?;
    let rewritten = parameters::rewrite(&text, &Map::new())?;
    in_read_only_transaction(&context.connection, || {
        let statement = stream(&context.connection, &rewritten, &[])
            .map_err(|error| messages::caller_error(&error, &text, &rewritten))?;
        let mut body = Body::new(&mut context.output);
        body.end().push(b'[');
        answer::json_objects(&statement, bounds, &mut body)
            .map_err(|stopped| stopped.for_caller(&text, &rewritten, bounds.bytes))?;
        body.end().push(b']');
        Ok(body.into_rest())
    })
}

fn in_read_only_transaction<T>(connection: &Connection, run: impl FnOnce() -> Result<T>) -> Result<T> {
    in_transaction(connection, "BEGIN TRANSACTION READ ONLY", run)
}

/// Runs a function in a transaction that is always rolled back.
fn in_transaction<T>(connection: &Connection, begin: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    connection
        .execute_batch(begin)
        .map_err(|error| messages::own_error(&error))?;
    let result = run();
    let end = || connection.execute_batch("ROLLBACK");
    // The statement's interruption may arrive so late that it hits the ROLLBACK; without a second one, the
    // transaction would stay open.
    match (result, end().or_else(|_| end())) {
        (result, Ok(())) => result,
        // An error that invalidates the database also fails the ROLLBACK, and is more informative.
        (Err(error), Err(_)) if error.kind() != ErrorKind::InvalidRequest => Err(error),
        (_, Err(error)) => Err(messages::of_the_end(&error)),
    }
}

/// An executed statement whose rows can be read.
struct Executed<'a> {
    statement: Statement<'a>,
    /// The executed statement, if it is not the planned one.
    rewritten: Option<Rewritten>,
    /// Types of the planned statement by column, where the executed statement has another type.
    types: HashMap<usize, String>,
}

fn execute<'a>(connection: &'a Connection, tables: &[String], planned: &Planned) -> Result<Executed<'a>> {
    let (original, rewritten) = (&planned.original, &planned.rewritten);
    let to_error = |error: &duckdb::Error| messages::caller_error(error, original, rewritten);
    let prepared = connection
        .prepare(&rewritten.sql)
        .map_err(|error| to_error(&error))?;
    let values = bound_values(&prepared, original, rewritten)?;
    drop(prepared);
    let error = match stream(connection, rewritten, &values) {
        Ok(statement) => {
            return Ok(Executed {
                statement,
                rewritten: None,
                types: HashMap::new(),
            });
        }
        Err(error) => error,
    };
    if !messages::has_no_form(&error) {
        return Err(to_error(&error));
    }
    let readable = variants::readable(connection, tables, &planned.pivots, original, rewritten)?;
    let readable = readable.ok_or_else(|| to_error(&error))?;
    let statement = stream(connection, &readable.rewritten, &values)
        .map_err(|error| messages::caller_error(&error, original, &readable.rewritten))?;
    Ok(Executed {
        statement,
        rewritten: Some(readable.rewritten),
        types: readable.types,
    })
}

fn stream<'a>(
    connection: &'a Connection,
    rewritten: &Rewritten,
    values: &[&Scalar],
) -> duckdb::Result<Statement<'a>> {
    let mut statement = connection.prepare(&rewritten.sql)?;
    drop(statement.stream_arrow(params_from_iter(values))?);
    Ok(statement)
}

fn head(statement: &Statement<'_>, own_types: &HashMap<usize, String>, body: &mut Vec<u8>) -> Result<()> {
    let schema = statement.schema();
    let names: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let types: Vec<_> = (0..names.len())
        .map(|index| match own_types.get(&index) {
            Some(name) => name.clone(),
            None => type_name(&statement.column_logical_type(index)),
        })
        .collect();
    body.extend_from_slice(b"{\"columns\":");
    serde_json::to_writer(&mut *body, &names).map_err(Error::internal)?;
    body.extend_from_slice(b",\"column_types\":");
    serde_json::to_writer(&mut *body, &types).map_err(Error::internal)?;
    body.extend_from_slice(b",\"rows\":[");
    Ok(())
}
