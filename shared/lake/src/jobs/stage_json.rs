//! Converts a JSON file to a segment: an array of row objects, or objects one after the other, keyed by
//! column name.
//!
//! Each value is first written as text with its digits unchanged, and then converted like a value of a CSV
//! file. A missing key gives the column's default, an explicit null gives NULL.

use platform::{Error, Result};

use crate::child::context::Context;
use crate::import::json_rows::{self, Beginning, Column, JsonRows, Reading};
use crate::import::source::Source;
use crate::import::staging::{self, Relation, StageInput, StageOutcome};
use crate::schema::types::ColumnType;
use crate::tables::sql;

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let target = &input.target;
    let beginning = Beginning::read(&input.input)?;
    if beginning != Beginning::Something {
        let what = match beginning {
            Beginning::Other(other) => format!("the file is {other}, not JSON"),
            _ => "the file is empty; an array of row objects, or an object a line, is expected".to_owned(),
        };
        return Err(Error::unprocessable(format!("Table '{}': {what}.", target.table)));
    }
    context
        .connection
        .register_table_function::<JsonRows>(json_rows::NAME)
        .map_err(Error::internal)?;
    // DuckDB itself reads no input file here.
    staging::enclose(context, &input.target, &input.input)?;
    let columns = target.columns.iter().map(|column| Column {
        name: column.name.clone(),
        column_type: column.column_type,
        has_default: column.default.is_some(),
    });
    let reading = Reading {
        path: input.input.clone(),
        columns: columns.collect(),
    };
    let sources: Vec<_> = reading
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| match column.has_default {
            true => Source::TextOrDefault(format!("c{index}"), format!("d{index} IS NOT NULL")),
            // The reader of the file knows only what RFC 8259 allows.
            false if column.column_type == ColumnType::Json => Source::Value(format!("c{index}")),
            false => Source::Text(format!("c{index}")),
        })
        .collect();
    let reading = serde_json::to_string(&reading).map_err(Error::internal)?;
    let relation = Relation {
        sql: format!("{}({})", json_rows::NAME, sql::literal(&reading)),
        flaw: Some(json_rows::FLAW.to_owned()),
    };
    staging::write(context, target, &sources, &relation)
}
