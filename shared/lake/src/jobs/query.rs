//! Runs a caller's statement inside the fence and writes the answer as JSON bytes, which the parent passes on
//! unread.

use std::time::Instant;

use duckdb::arrow::array::{Array as _, StructArray};
use duckdb::arrow::datatypes::SchemaRef;
use duckdb::core::{LogicalTypeHandle, LogicalTypeId};
use duckdb::types::{ToSqlOutput, Value as DuckValue, ValueRef};
use duckdb::{Connection, Statement, ToSql, params_from_iter};
use platform::{Error, Result};
use serde_json::{Map, Value};

use crate::cells::{self, Cells};
use crate::child::Context;
use crate::messages;
use crate::parameters::{self, Rewritten, Scalar};
use crate::{sql, statement};

/// Runs `sql` and returns `{"columns", "column_types", "rows", "row_count", "truncated",
/// "execution_time_ms"}`.
pub(crate) fn run(
    context: &Context,
    sql: &str,
    params: &Map<String, Value>,
    limit: usize,
    max_bytes: usize,
) -> Result<Vec<u8>> {
    let started = Instant::now();
    let rewritten = parameters::rewrite(sql, params)?;
    let connection = &context.connection;
    statement::check(connection, context.tables()?, sql, &rewritten)?;
    in_read_only_transaction(connection, || {
        let mut statement = execute(connection, sql, &rewritten)?;
        let mut body = head(&statement)?;
        let (rows, is_truncated) = rows(&mut statement, &mut body, limit, max_bytes, Shape::Arrays)
            .map_err(|error| error.for_caller(sql, &rewritten, max_bytes))?;
        let millis = started.elapsed().as_secs_f64() * 1e3;
        body.extend_from_slice(
            format!(
                "],\"row_count\":{rows},\"truncated\":{is_truncated},\"execution_time_ms\":{millis:.3}}}"
            )
            .as_bytes(),
        );
        Ok(body)
    })
}

/// Checks `sql` as [`run`] does and lets DuckDB bind it, without running it. Parameters may be missing.
pub(crate) fn validate(context: &Context, sql: &str) -> Result<()> {
    let rewritten = parameters::rewrite_unbound(sql)?;
    statement::check(&context.connection, context.tables()?, sql, &rewritten)?;
    in_read_only_transaction(&context.connection, || {
        let prepared = context.connection.prepare(&rewritten.sql);
        prepared
            .map(|_| ())
            .map_err(|error| messages::caller_error(&error, sql, &rewritten))
    })
}

/// The first rows of a table as a JSON array of objects.
pub(crate) fn sample(context: &Context, table: &str, limit: usize, max_bytes: usize) -> Result<Vec<u8>> {
    let text = format!("SELECT * FROM {}", sql::identifier(table));
    let rewritten = parameters::rewrite(&text, &Map::new())?;
    in_read_only_transaction(&context.connection, || {
        let mut statement = execute(&context.connection, &text, &rewritten)?;
        let mut body = vec![b'['];
        rows(&mut statement, &mut body, limit, max_bytes, Shape::Objects)
            .map_err(|error| error.for_caller(&text, &rewritten, max_bytes))?;
        body.push(b']');
        Ok(body)
    })
}

fn in_read_only_transaction<T>(connection: &Connection, run: impl FnOnce() -> Result<T>) -> Result<T> {
    connection
        .execute_batch("BEGIN TRANSACTION READ ONLY")
        .map_err(|error| messages::own_error(&error))?;
    let result = run();
    connection
        .execute_batch("ROLLBACK")
        .map_err(|error| messages::own_error(&error))?;
    result
}

fn execute<'a>(connection: &'a Connection, original: &str, rewritten: &Rewritten) -> Result<Statement<'a>> {
    let to_error = |error| messages::caller_error(&error, original, rewritten);
    let mut statement = connection.prepare(&rewritten.sql).map_err(to_error)?;
    let values = (1..=statement.parameter_count())
        .map(|index| {
            let name = statement.parameter_name(index).map_err(to_error)?;
            let number = name
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1));
            number.and_then(|at| rewritten.values.get(at)).ok_or_else(|| {
                Error::invalid("Parameters are written as {{name}}; the query holds one that is not.")
            })
        })
        .collect::<Result<Vec<_>>>()?;
    drop(
        statement
            .stream_arrow(params_from_iter(values))
            .map_err(to_error)?,
    );
    Ok(statement)
}

impl ToSql for Scalar {
    fn to_sql(&self) -> duckdb::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(DuckValue::Null),
            Self::Boolean(value) => ToSqlOutput::Owned(DuckValue::Boolean(*value)),
            Self::Signed(value) => ToSqlOutput::Owned(DuckValue::BigInt(*value)),
            Self::Unsigned(value) => ToSqlOutput::Owned(DuckValue::UBigInt(*value)),
            Self::Double(value) => ToSqlOutput::Owned(DuckValue::Double(*value)),
            Self::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
        })
    }
}

fn head(statement: &Statement<'_>) -> Result<Vec<u8>> {
    let schema = statement.schema();
    let names: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let types: Vec<_> = (0..names.len())
        .map(|index| type_name(&statement.column_logical_type(index)))
        .collect();
    let mut body = Vec::with_capacity(64 * 1024);
    body.extend_from_slice(b"{\"columns\":");
    serde_json::to_writer(&mut body, &names).map_err(Error::internal)?;
    body.extend_from_slice(b",\"column_types\":");
    serde_json::to_writer(&mut body, &types).map_err(Error::internal)?;
    body.extend_from_slice(b",\"rows\":[");
    Ok(body)
}

/// The type as column definitions write it where they have it, else as DuckDB writes it.
fn type_name(handle: &LogicalTypeHandle) -> String {
    if let Some(alias) = handle.get_alias() {
        return alias.to_uppercase();
    }
    let child = |index: usize| type_name(&handle.child(index));
    match handle.try_id() {
        Ok(LogicalTypeId::Varchar) => "STRING".to_owned(),
        Ok(LogicalTypeId::Decimal) => {
            format!("DECIMAL({},{})", handle.decimal_width(), handle.decimal_scale())
        }
        Ok(LogicalTypeId::List) => format!("{}[]", child(0)),
        Ok(LogicalTypeId::Map) => format!("MAP({}, {})", child(0), child(1)),
        Ok(LogicalTypeId::Struct) => {
            let members: Vec<_> = (0..handle.num_children())
                .map(|index| format!("{} {}", sql::identifier(&handle.child_name(index)), child(index)))
                .collect();
            format!("STRUCT({})", members.join(", "))
        }
        Ok(
            LogicalTypeId::TimestampS
            | LogicalTypeId::TimestampMs
            | LogicalTypeId::TimestampNs
            | LogicalTypeId::TimestampTZ,
        ) => "TIMESTAMP".to_owned(),
        Ok(LogicalTypeId::SqlNull) => "NULL".to_owned(),
        Ok(other) => format!("{other:?}").to_uppercase(),
        Err(_) => "UNKNOWN".to_owned(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Arrays,
    Objects,
}

/// Why no more rows could be written.
enum Stopped {
    Duck(duckdb::Error),
    TooLarge,
    Other(Error),
}

impl Stopped {
    fn for_caller(self, original: &str, rewritten: &Rewritten, max_bytes: usize) -> Error {
        match self {
            Self::Duck(error) => messages::caller_error(&error, original, rewritten),
            Self::Other(error) => error,
            Self::TooLarge => Error::unprocessable(format!(
                "The answer is larger than {:.1} MB; lower 'limit', select fewer columns, or aggregate.",
                f64::from(u32::try_from(max_bytes).unwrap_or(u32::MAX)) / 1e6
            )),
        }
    }
}

/// Writes up to `limit` rows, separated by commas: how many, and whether there are more.
fn rows(
    statement: &mut Statement<'_>,
    body: &mut Vec<u8>,
    limit: usize,
    max_bytes: usize,
    shape: Shape,
) -> Result<(usize, bool), Stopped> {
    let schema = statement.schema();
    let types: Vec<_> = (0..schema.fields().len())
        .map(|index| statement.column_logical_type(index))
        .collect();
    let mut written = 0;
    while let Some(batch) = statement.step().map_err(Stopped::Duck)? {
        let members = members(&batch, &schema, &types).map_err(Stopped::Other)?;
        for row in 0..batch.len() {
            if written == limit {
                return Ok((written, true));
            }
            if written > 0 {
                body.push(b',');
            }
            match shape {
                Shape::Objects => cells::object(&members, row, body),
                Shape::Arrays => {
                    body.push(b'[');
                    for (index, (_, cells)) in members.iter().enumerate() {
                        if index > 0 {
                            body.push(b',');
                        }
                        cells.write(row, body);
                    }
                    body.push(b']');
                }
            }
            written += 1;
            if body.len() > max_bytes {
                return Err(Stopped::TooLarge);
            }
        }
    }
    Ok((written, false))
}

fn members<'a>(
    batch: &'a StructArray,
    schema: &SchemaRef,
    types: &[LogicalTypeHandle],
) -> Result<Vec<(Vec<u8>, Cells<'a>)>> {
    let columns = batch.columns().iter().zip(schema.fields()).zip(types);
    columns
        .map(|((column, field), duckdb_type)| {
            let mut name = Vec::new();
            cells::string(field.name(), &mut name);
            Ok((name, Cells::new(column, duckdb_type)?))
        })
        .collect()
}
