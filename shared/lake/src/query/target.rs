//! The types that texts of parameters are cast to, and how a text is read in each of them.

use duckdb::{Connection, Row};
use platform::{Error, Result};
use serde_json::Value;

use crate::import::conversion::Conversion;
use crate::import::faults::shown;
use crate::import::reason;
use crate::schema::types::ColumnType;
use crate::statement::messages;
use crate::tables::sql;

/// Integers, which DuckDB reads exactly in every type of integers.
const DIGITS: &str = "[+-]?[0-9]+";
/// Times with nanoseconds, which DuckDB reads with their offset.
const NANOSECONDS: &str =
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{7,9}(Z|[+-][0-9]{2}:[0-9]{2})?";
const TIME: &str = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?";
const TIME_NS: &str = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?";
const TIME_TZ: &str = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?([+-][0-9]{2}(:[0-9]{2})?)?)?";
/// Parts of intervals that DuckDB drops: digits beyond microseconds, and text after a time.
const DROPPED: &str = r"\.[0-9]{6}[0-9]*[1-9]|:[0-9.]+\s*[^0-9.:\s]";

/// A type that a text is cast to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name in SQL.
    name: String,
    reading: Reading,
}

/// How a text is read in a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// By the grammar of a type of columns. DuckDB reads texts of the form exactly.
    Column(ColumnType, Option<&'static str>),
    /// By DuckDB, if the text has the form. With an example.
    Form(&'static str, &'static str),
    /// By DuckDB, unless a part of the text has the form. With an example.
    Without(&'static str, &'static str),
    /// By DuckDB, if it writes the value like the text, but for blanks and quotes: its parts are read by
    /// other rules than those of columns.
    Written,
}

impl Target {
    /// Reads a type of a plan; None for a type in which DuckDB reads each text exactly or refuses it.
    pub(crate) fn from_plan(return_type: &Value) -> Option<Self> {
        let id = return_type.get("id")?.as_str()?;
        let column = match id {
            "INTEGER" => ColumnType::Integer,
            "BIGINT" => ColumnType::Bigint,
            "FLOAT" => ColumnType::Float,
            "DOUBLE" => ColumnType::Double,
            "BOOLEAN" => ColumnType::Boolean,
            "DATE" => ColumnType::Date,
            "TIMESTAMP" => ColumnType::Timestamp,
            "VARCHAR" if alias(return_type) == Some("JSON") => ColumnType::Json,
            "DECIMAL" => decimal(return_type)?,
            _ => {
                let reading = other_reading(id, return_type)?;
                let name = name(return_type)?;
                return Some(Self { name, reading });
            }
        };
        Some(Self {
            name: column.duckdb_type(),
            reading: Reading::Column(column, None),
        })
    }

    /// Returns the text that DuckDB reads as it is meant; None if that is the text itself. Fails with 422 if
    /// the text is no value of the type.
    pub(crate) fn meaning(&self, connection: &Connection, name: &str, text: &str) -> Result<Option<String>> {
        let to = &self.name;
        let reason = match self.reading {
            Reading::Column(column_type, form) => {
                match self.meaning_in_column(connection, text, column_type, form)? {
                    Ok(meaning) => return Ok(meaning),
                    Err(reason) => reason,
                }
            }
            Reading::Form(form, example) | Reading::Without(form, example) => {
                let form = sql::literal(form);
                let is_read = match self.reading {
                    Reading::Form(..) => format!("regexp_full_match(t, {form})"),
                    _ => format!("NOT regexp_matches(t, {form})"),
                };
                let query = format!(
                    "SELECT {is_read} AND TRY_CAST(t AS {to}) IS NOT NULL FROM (SELECT ?::VARCHAR AS t)"
                );
                if query_row(connection, &query, text, |row| row.get(0))? {
                    return Ok(None);
                }
                format!("{} is not a {to}; write it as {example}", shown(text))
            }
            Reading::Written => {
                let bare = |text: &str| format!("regexp_replace({text}, '[\\s\"'']', '', 'g')");
                let query = format!(
                    "SELECT coalesce({} = {}, false), w \
                 FROM (SELECT t, CAST(TRY_CAST(t AS {to}) AS VARCHAR) AS w FROM (SELECT ?::VARCHAR AS t))",
                    bare("t"),
                    bare("w")
                );
                let row: (bool, Option<String>) =
                    query_row(connection, &query, text, |row| Ok((row.get(0)?, row.get(1)?)))?;
                match row {
                    (true, _) => return Ok(None),
                    (false, Some(value)) => format!(
                        "{} would be read as {} in {to}; write the values as they are in the type",
                        shown(text),
                        shown(&value)
                    ),
                    (false, None) => format!("{} is not a {to}", shown(text)),
                }
            }
        };
        Err(Error::unprocessable(format!("The parameter '{name}': {reason}.")))
    }

    /// Returns the meaning of a text by the grammar of a type of columns, or the reason why it has none.
    /// DuckDB reads texts of the form `own` exactly.
    fn meaning_in_column(
        &self,
        connection: &Connection,
        text: &str,
        column_type: ColumnType,
        own: Option<&str>,
    ) -> Result<Result<Option<String>, String>> {
        let (name, to) = (&self.name, column_type.duckdb_type());
        let conversion = Conversion::new(column_type, None, "t");
        let is_exact = own.map_or_else(
            || "false".to_owned(),
            |own| {
                format!(
                    "regexp_full_match(t, {}) AND TRY_CAST(t AS {name}) IS NOT NULL",
                    sql::literal(own)
                )
            },
        );
        let has_value =
            |text: &str| format!("value IS NOT DISTINCT FROM TRY_CAST(TRY_CAST({text} AS {name}) AS {to})");
        let query = format!(
            "SELECT w, {is_exact}, {}, {}, {} \
         FROM (SELECT t, value, CAST(value AS VARCHAR) || '{}' AS w \
         FROM (SELECT t, {} AS value FROM (SELECT ?::VARCHAR AS t)))",
            has_value("t"),
            has_value("w"),
            conversion.is_lossy(),
            self.zone(),
            conversion.value_or_null()
        );
        let row: (Option<String>, bool, bool, bool, bool) = query_row(connection, &query, text, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        let (value, is_exact, is_own, is_kept, is_lossy) = row;
        let is_time = column_type == ColumnType::Timestamp;
        Ok(match value {
            _ if is_exact => Ok(None),
            Some(_) if is_own => Ok(None),
            Some(value) if is_kept => Ok(Some(value)),
            Some(_) if is_time => Err(format!(
                "{} has more digits of a second than a {name} keeps",
                shown(text)
            )),
            None if is_time || *name == to => Err(reason::reason(column_type, is_lossy, &shown(text))),
            _ => Err(format!(
                "{} is not a whole number that a {name} holds",
                shown(text)
            )),
        })
    }

    /// Returns what is appended to a time in UTC.
    fn zone(&self) -> &'static str {
        match self.name.as_str() {
            "TIMESTAMP WITH TIME ZONE" => "+00",
            _ => "",
        }
    }
}

fn other_reading(id: &str, return_type: &Value) -> Option<Reading> {
    Some(match id {
        "TINYINT" | "SMALLINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" | "UBIGINT" | "HUGEINT"
        | "UHUGEINT" => {
            let integers = ColumnType::Decimal {
                precision: 38,
                scale: 0,
            };
            Reading::Column(integers, Some(DIGITS))
        }
        "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP_S" | "TIMESTAMP_MS" => {
            Reading::Column(ColumnType::Timestamp, None)
        }
        "TIMESTAMP_NS" => Reading::Column(ColumnType::Timestamp, Some(NANOSECONDS)),
        "BIGNUM" => Reading::Form(DIGITS, "1234"),
        "TIME" => Reading::Form(TIME, "12:00:30.123456"),
        "TIME_NS" => Reading::Form(TIME_NS, "12:00:30.123456789"),
        "TIME WITH TIME ZONE" => Reading::Form(TIME_TZ, "12:00:30+02:00"),
        "INTERVAL" => Reading::Without(DROPPED, "1 day 12:00:30.123456"),
        "LIST" | "ARRAY" | "STRUCT" | "MAP" if is_inexact(return_type) => Reading::Written,
        _ => return None,
    })
}

/// Returns whether DuckDB may read a text in a part of the type inexactly.
fn is_inexact(return_type: &Value) -> bool {
    parts(return_type).into_iter().any(|part| {
        Target::from_plan(part).is_some_and(|target| {
            !matches!(
                target.reading,
                Reading::Column(ColumnType::Float | ColumnType::Double | ColumnType::Boolean, _)
            )
        })
    })
}

fn parts(return_type: &Value) -> Vec<&Value> {
    let info = return_type.get("type_info");
    let fields = info.and_then(|info| info.get("child_types")?.as_array());
    let fields = fields
        .into_iter()
        .flatten()
        .filter_map(|field| field.get("second"));
    let element = info.and_then(|info| info.get("child_type"));
    element.into_iter().chain(fields).collect()
}

/// Returns the name of a type in SQL; None if a part has none of its own.
fn name(return_type: &Value) -> Option<String> {
    let info = return_type.get("type_info");
    let element = || info?.get("child_type");
    Some(match return_type.get("id")?.as_str()? {
        "LIST" => format!("{}[]", name(element()?)?),
        "ARRAY" => format!("{}[{}]", name(element()?)?, info?.get("size")?.as_u64()?),
        "MAP" => {
            let [key, value] = parts(element()?).try_into().ok()?;
            format!("MAP({}, {})", name(key)?, name(value)?)
        }
        "STRUCT" => {
            let fields = info?.get("child_types")?.as_array()?.iter().map(|field| {
                let field_name = field.get("first")?.as_str().filter(|name| !name.is_empty())?;
                Some(format!(
                    "{} {}",
                    sql::identifier(field_name),
                    name(field.get("second")?)?
                ))
            });
            format!("STRUCT({})", fields.collect::<Option<Vec<_>>>()?.join(", "))
        }
        "DECIMAL" => decimal(return_type)?.duckdb_type(),
        "UNION" | "ENUM" => return None,
        id => alias(return_type).unwrap_or(id).to_owned(),
    })
}

fn alias(return_type: &Value) -> Option<&str> {
    let alias = return_type.get("type_info")?.get("alias")?.as_str();
    alias.filter(|alias| !alias.is_empty())
}

fn decimal(return_type: &Value) -> Option<ColumnType> {
    let info = return_type.get("type_info")?;
    let digits = |name: &str| u8::try_from(info.get(name)?.as_u64()?).ok();
    Some(ColumnType::Decimal {
        precision: digits("width")?,
        scale: digits("scale")?,
    })
}

fn query_row<T>(
    connection: &Connection,
    query: &str,
    text: &str,
    read: impl FnOnce(&Row<'_>) -> duckdb::Result<T>,
) -> Result<T> {
    let row = connection.query_row(query, [text], read);
    row.map_err(|error| messages::own_error(&error))
}
