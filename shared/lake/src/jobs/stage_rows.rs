//! Rows of a request become a segment: a JSON array of objects whose keys are column names.
//!
//! Each value is first brought to the text that stands for it, its digits unchanged, and then converted as a
//! CSV file's would be. A key that is absent gives the column's default, an explicit null gives NULL.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use duckdb::appender_params_from_iter;
use duckdb::types::Value as DuckValue;
use platform::{Error, Result};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::child::Context;
use crate::manifest::ManifestColumn;
use crate::messages;
use crate::staging::{self, Bad, MAX_LISTED, Source, Target, Written};
use crate::types::ColumnType;

/// Where the rows go; they themselves are the body of the request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Input {
    pub(crate) target: Target,
}

/// A row as it was sent: a key may occur twice, which is told rather than half forgotten.
#[derive(Default)]
struct Row<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Row<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;

        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut row = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    row.push(entry);
                }
                Ok(Row(row))
            }
        }

        deserializer.deserialize_map(RowVisitor)
    }
}

pub(crate) fn run(context: &Context, input: &Input, body: &[u8]) -> Result<Written> {
    let target = &input.target;
    staging::enclose(context, None, target)?;
    let (rows, mut bad) = texts(target, body)?;
    fill(context, target, rows).map_err(|error| messages::own_error(&error))?;
    let sources: Vec<_> = (0..target.columns.len())
        .map(|index| Source::TextOrDefault(format!("c{index}"), format!("d{index}")))
        .collect();
    if bad.is_empty() {
        return staging::write(context, target, &sources, "staged");
    }
    // A value that does not convert may stand before them.
    bad.extend(staging::bad_values(context, target, &sources, "staged")?);
    bad.sort_by_key(|bad| bad.row);
    bad.truncate(MAX_LISTED);
    Err(staging::refuse(&target.table, &bad))
}

/// Each row as its texts, and after them, per column, whether the row does not name it; and the first rows that
/// have the wrong shape. What is wrong stands as NULL in its row, and the rows end where enough are wrong.
fn texts(target: &Target, body: &[u8]) -> Result<(Vec<Vec<DuckValue>>, Vec<Bad>)> {
    let table = &target.table;
    let rows: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| {
        Error::unprocessable(format!(
            "Table '{table}': a JSON array of objects is expected ({error})."
        ))
    })?;
    let mut bad = Vec::new();
    let mut all = Vec::with_capacity(rows.len());
    for (row, raw) in (1..).zip(rows) {
        let Ok(object) = serde_json::from_str::<Row<'_>>(raw.get()) else {
            bad.push(Bad {
                row,
                reason: "it is not an object".to_owned(),
            });
            all.push(row_texts(target, row, &Row::default(), &mut bad));
            if bad.len() >= MAX_LISTED {
                break;
            }
            continue;
        };
        all.push(row_texts(target, row, &object, &mut bad));
        if bad.len() >= MAX_LISTED {
            break;
        }
    }
    Ok((all, bad))
}

fn row_texts(target: &Target, row: u64, object: &Row<'_>, bad: &mut Vec<Bad>) -> Vec<DuckValue> {
    let mut values: HashMap<String, &RawValue> = HashMap::with_capacity(object.0.len());
    for (key, value) in &object.0 {
        let known = target
            .columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(key));
        let Some(column) = known else {
            bad.push(Bad {
                row,
                reason: format!("the table has no column {}", staging::shown(key)),
            });
            continue;
        };
        if values.insert(key.to_ascii_lowercase(), value).is_some() {
            bad.push(Bad {
                row,
                reason: format!("the column '{}' is named twice", column.name),
            });
        }
    }
    let mut texts = Vec::with_capacity(target.columns.len() * 2);
    let mut absent = Vec::with_capacity(target.columns.len());
    for column in &target.columns {
        let value = values.get(&column.name.to_ascii_lowercase());
        absent.push(DuckValue::Boolean(value.is_none()));
        texts.push(match value.map(|value| text(column, value)) {
            None | Some(Ok(None)) => DuckValue::Null,
            Some(Ok(Some(text))) => DuckValue::Text(text),
            Some(Err(())) => {
                let shown = staging::shown(value.map_or("", |value| value.get()));
                let reason = format!(
                    "column '{}': {shown} is not a {}",
                    column.name, column.column_type
                );
                bad.push(Bad { row, reason });
                DuckValue::Null
            }
        });
    }
    texts.append(&mut absent);
    texts
}

/// The text that stands for a value; an error if its JSON type does not go with the column's.
fn text(column: &ManifestColumn, value: &RawValue) -> Result<Option<String>, ()> {
    let raw = value.get();
    let first = raw.bytes().next();
    if first == Some(b'n') {
        return Ok(None);
    }
    match (column.column_type, first) {
        (ColumnType::Json, _) => Ok(Some(raw.to_owned())),
        (ColumnType::Boolean, Some(b't' | b'f')) => Ok(Some(raw.to_owned())),
        (ColumnType::Boolean, _) => Err(()),
        (_, Some(b'"')) => serde_json::from_str(raw).map(Some).map_err(|_| ()),
        (
            ColumnType::Integer
            | ColumnType::Bigint
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. },
            Some(b'-' | b'0'..=b'9'),
        ) => Ok(Some(raw.to_owned())),
        _ => Err(()),
    }
}

fn fill(context: &Context, target: &Target, rows: Vec<Vec<DuckValue>>) -> duckdb::Result<()> {
    let texts = (0..target.columns.len()).map(|index| format!("c{index} VARCHAR"));
    let absent = (0..target.columns.len()).map(|index| format!("d{index} BOOLEAN"));
    let columns: Vec<_> = texts.chain(absent).collect();
    context
        .connection
        .execute_batch(&format!("CREATE TABLE staged ({})", columns.join(", ")))?;
    let mut appender = context.connection.appender("staged")?;
    for row in rows {
        appender.append_row(appender_params_from_iter(row))?;
    }
    appender.flush()
}
