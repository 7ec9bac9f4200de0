//! Binds the values of a prepared statement's parameters.

use duckdb::types::{ToSqlOutput, Value as DuckValue, ValueRef};
use duckdb::{Statement, ToSql};
use platform::{Error, Result};

use crate::statement::messages;
use crate::statement::parameters::{Rewritten, Scalar};

/// Returns the values in the order of the statement's parameters.
pub(crate) fn bound_values<'a>(
    statement: &Statement<'_>,
    original: &str,
    rewritten: &'a Rewritten,
) -> Result<Vec<&'a Scalar>> {
    let to_error = |error| messages::caller_error(&error, original, rewritten);
    (1..=statement.parameter_count())
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
        .collect()
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
