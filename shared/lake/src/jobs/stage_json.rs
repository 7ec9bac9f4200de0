//! Converts a JSON file to a segment: an array of row objects, or objects one after the other, keyed by
//! column name.
//!
//! Each value is first written as text with its digits unchanged, and then converted like a value of a CSV
//! file. A missing key gives the column's default, an explicit null gives NULL.

use platform::{Error, Result};

use crate::child::context::Context;
use crate::import::file_format::FileFormat;
use crate::import::rows::json::Beginning;
use crate::import::rows::{Column, Reading};
use crate::import::source::Source;
use crate::import::staging::{self, StageInput, StageOutcome};
use crate::schema::types::ColumnType;

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let target = &input.target;
    let what = match Beginning::read(&input.input)? {
        Beginning::Something => None,
        Beginning::Other(other) => Some(format!("the file is {other}, not JSON")),
        Beginning::Nothing => {
            Some("the file is empty; an array of row objects, or an object a line, is expected".to_owned())
        }
    };
    if let Some(what) = what {
        return Err(Error::unprocessable(format!("Table '{}': {what}.", target.table)));
    }
    let columns = target.columns.iter();
    let reading = Reading {
        format: FileFormat::Json,
        path: input.input.clone(),
        columns: columns
            .map(|column| Column::new(column, column.default.is_some()))
            .collect(),
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
    let relation = reading.relation(&context.connection)?;
    // DuckDB itself reads no input file here.
    staging::enclose(context, target, &input.input)?;
    staging::write(context, target, &sources, &relation)
}
