//! How imported text becomes a value of a column's type: in SQL, so that DuckDB converts a million rows at
//! its own speed.
//!
//! DuckDB's own conversions lose something silently in four places, and those are closed here: a fraction in
//! an integer is an error unless it is zero (DuckDB rounds), so is a floating point number beyond the greatest
//! of its type (DuckDB makes it infinite; a text `inf` or `nan` says what it means and is kept) and whatever
//! follows the day in a date, such as a time (DuckDB drops it), and a timestamp with an offset is brought to
//! UTC (DuckDB drops the offset). A decimal is rounded to its scale, as SQL databases do.

use platform::clock::UtcTime;
use platform::{Error, Result};

use crate::defaults::DefaultValue;
use crate::manifest::ManifestColumn;
use crate::sql;
use crate::types::ColumnType;

/// Raised inside the conversion; found again by the search for what is wrong.
const LOSSY: &str = "more than the type holds";
/// All that a text for a date may hold. DuckDB ignores what follows the day.
const DAY: &str = r"(?i)\s*([+-]?[0-9]+[-/\\ ][0-9]{1,2}[-/\\ ][0-9]{1,2}\s*(\(BC\))?|epoch|-?infinity)\s*";

/// The value of `column_type` in the text that the SQL expression `text` gives; an error of DuckDB's if there
/// is none.
pub(crate) fn convert(column_type: ColumnType, text: &str) -> String {
    let to = column_type.duckdb_type();
    match column_type {
        ColumnType::String => text.to_owned(),
        ColumnType::Timestamp => timestamp("CAST", text),
        _ => match is_lossy(column_type, "CAST", text) {
            Some(lossy) => format!("CASE WHEN {lossy} THEN error('{LOSSY}') ELSE CAST({text} AS {to}) END"),
            None => format!("CAST({text} AS {to})"),
        },
    }
}

/// Whether the text that the SQL expression `text` gives is not a value of `column_type`; None if every text
/// is one.
pub(crate) fn is_bad(column_type: ColumnType, text: &str) -> Option<String> {
    let to = column_type.duckdb_type();
    let value = match column_type {
        ColumnType::String => return None,
        ColumnType::Timestamp => timestamp("TRY_CAST", text),
        _ => format!("TRY_CAST({text} AS {to})"),
    };
    let lossy =
        is_lossy(column_type, "TRY_CAST", text).map_or_else(String::new, |lossy| format!(" OR ({lossy})"));
    Some(format!("({text} IS NOT NULL AND (({value}) IS NULL{lossy}))"))
}

/// Whether the value that the SQL expression `value` gives, which is of another type, cannot be cast to `column_type`.
pub(crate) fn does_not_fit(column_type: ColumnType, value: &str) -> String {
    let to = column_type.duckdb_type();
    format!("({value} IS NOT NULL AND TRY_CAST({value} AS {to}) IS NULL)")
}

/// Whether a conversion would lose something without an error; None for a type where none does. Cheap searches
/// go first: few integers hold a point, and few numbers have an exponent or enough digits to be too great.
fn is_lossy(column_type: ColumnType, cast: &str, text: &str) -> Option<String> {
    let has_exponent = format!("contains({text}, 'e') OR contains({text}, 'E')");
    let is_too_great = |digits: u32, to: &str| {
        format!("(strlen({text}) > {digits} OR {has_exponent}) AND isinf({cast}({text} AS {to}))")
    };
    match column_type {
        ColumnType::Integer | ColumnType::Bigint => Some(format!(
            "(contains({text}, '.') OR {has_exponent}) AND regexp_matches({text}, '\\.0*[1-9]|[eE]')"
        )),
        // The greatest numbers have 39 and 309 digits.
        ColumnType::Float => Some(is_too_great(38, "FLOAT")),
        ColumnType::Double => Some(is_too_great(308, "DOUBLE")),
        ColumnType::Date => Some(format!("NOT regexp_full_match({text}, {})", sql::literal(DAY))),
        _ => None,
    }
}

/// A text that may end in an offset goes by way of TIMESTAMP WITH TIME ZONE, which takes twice as long.
fn timestamp(cast: &str, text: &str) -> String {
    format!(
        "CASE WHEN regexp_matches({text}, '[+-][0-9][0-9](:?[0-9][0-9])?$') \
         THEN CAST({cast}({text} AS TIMESTAMPTZ) AS TIMESTAMP) ELSE {cast}({text} AS TIMESTAMP) END"
    )
}

/// The value that a row gets where an import does not name `column`, as SQL of its type; NULL without a
/// default.
pub(crate) fn default(column: &ManifestColumn, now: UtcTime) -> Result<String> {
    let to = column.column_type.duckdb_type();
    let default = column.definition().default_value().map_err(Error::internal)?;
    Ok(match default {
        Some(DefaultValue::Uuid) => format!("CAST(uuid() AS {to})"),
        Some(value) => match value.text_at(now) {
            Some(text) => convert(column.column_type, &sql::literal(&text)),
            None => format!("CAST(NULL AS {to})"),
        },
        None => format!("CAST(NULL AS {to})"),
    })
}
