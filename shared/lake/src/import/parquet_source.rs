//! Chooses the conversion of a Parquet column to the type of a column.

use crate::import::int96;
use crate::import::nested::{BYTES, FileType, NANOSECONDS};
use crate::import::source::Source;
use crate::import::wide_decimals;
use crate::schema::types::ColumnType;
use crate::tables::sql;

/// Longest name of a type in a message, in characters: a nested type may have thousands of fields.
const MAX_TYPE_LENGTH: usize = 100;

#[derive(Debug)]
pub(crate) struct FileColumn {
    pub(crate) name: String,
    /// DuckDB's name of the type.
    pub(crate) type_name: String,
    pub(crate) file_type: FileType,
}

impl FileColumn {
    /// Returns the name of the type for a message.
    pub(crate) fn shown_type(&self) -> String {
        match self.file_type {
            FileType::Int96 => "TIMESTAMP".to_owned(),
            _ => shortened(&self.type_name),
        }
    }
}

fn shortened(file_type: &str) -> String {
    let mut text: String = file_type.chars().take(MAX_TYPE_LENGTH).collect();
    if text.len() < file_type.len() {
        text.push('…');
    }
    text
}

/// Returns the conversion of a decimal of more than 38 digits, like [`source`].
pub(crate) fn of_wide_decimal(column_type: ColumnType, name: &str, scale: i32) -> Option<Source> {
    let takes_numbers = !matches!(
        column_type,
        ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp
    );
    takes_numbers.then(|| Source::Text(wide_decimals::text(name, scale)))
}

/// Returns the conversion of a value from the file's type to the column's type; None if the types are
/// incompatible.
pub(crate) fn source(column: &FileColumn, column_type: ColumnType) -> Option<Source> {
    let name = &sql::identifier(&column.name);
    let file_type = column.type_name.as_str();
    let value = || Some(Source::Value(name.to_owned()));
    let text = || Some(Source::Text(format!("CAST({name} AS VARCHAR)")));
    let base = file_type.split('(').next().unwrap_or(file_type);
    let is_nested = column.file_type.is_nested() || base == "UNION";
    let is_small = matches!(
        base,
        "TINYINT" | "SMALLINT" | "INTEGER" | "UTINYINT" | "USMALLINT"
    );
    let is_integer = is_small || matches!(base, "BIGINT" | "HUGEINT" | "UINTEGER" | "UBIGINT" | "UHUGEINT");
    let is_number = is_integer || matches!(base, "FLOAT" | "DOUBLE" | "DECIMAL");
    let is_time = base.starts_with("TIMESTAMP");
    if is_nested && column_type != ColumnType::Json {
        return None;
    }
    if column.file_type == FileType::Int96 {
        return of_int96(column_type, name);
    }
    // Some programs write texts without saying so.
    let is_bytes = file_type == BYTES;
    if is_bytes && column_type != ColumnType::String {
        let decoded = format!("coalesce(TRY(decode({name})), CAST({name} AS VARCHAR))");
        return Some(Source::Text(decoded));
    }
    if matches!(base, "VARCHAR" | "ENUM") && column_type != ColumnType::String {
        return text();
    }
    let floating = match base {
        "FLOAT" => Some(f32::MANTISSA_DIGITS),
        "DOUBLE" => Some(f64::MANTISSA_DIGITS),
        _ => None,
    };
    let number = || match floating {
        Some(digits) => Some(Source::Text(floating_text(name, digits))),
        None => text(),
    };
    match column_type {
        ColumnType::String if is_bytes => {
            let decoded = format!("TRY(decode({name}))");
            let is_no_text = format!("({name} IS NOT NULL AND {decoded} IS NULL)");
            Some(Source::Checked(decoded, is_no_text))
        }
        ColumnType::String => match base {
            "VARCHAR" | "JSON" | "ENUM" | "UUID" => value(),
            _ if is_number || base == "BOOLEAN" => value(),
            _ => None,
        },
        ColumnType::Integer if is_small => value(),
        ColumnType::Bigint if is_small || matches!(base, "BIGINT" | "UINTEGER") => value(),
        ColumnType::Float if base == "FLOAT" => value(),
        ColumnType::Double if is_small || matches!(base, "FLOAT" | "DOUBLE") => value(),
        ColumnType::Decimal { .. } if holds(column_type, file_type) => value(),
        ColumnType::Integer
        | ColumnType::Bigint
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. } => is_number.then(number).flatten(),
        ColumnType::Boolean => (base == "BOOLEAN").then(value).flatten(),
        ColumnType::Date if base == "DATE" => value(),
        // Many programs have no type for days and write midnights. Any other time of day is refused.
        ColumnType::Date if is_time => Some(Source::Text(format!(
            "CASE WHEN CAST({name} AS TIMESTAMP) = date_trunc('day', CAST({name} AS TIMESTAMP)){} \
             THEN CAST(CAST({name} AS DATE) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END",
            if base == NANOSECONDS {
                format!(" AND NOT {}", has_nanoseconds(name))
            } else {
                String::new()
            }
        ))),
        ColumnType::Date => None,
        ColumnType::Timestamp if base == NANOSECONDS => {
            Some(Source::Checked(name.to_owned(), has_nanoseconds(name)))
        }
        ColumnType::Timestamp => (is_time || base == "DATE").then(value).flatten(),
        ColumnType::Json => match base {
            "JSON" => text(),
            _ if is_nested => of_nested(&column.file_type, name),
            _ if is_number || base == "BOOLEAN" => json(name),
            _ => None,
        },
    }
}

/// Returns SQL for the text of a floating point number. The shortest text of a large whole number has other
/// digits than the number.
fn floating_text(name: &str, digits: u32) -> String {
    format!(
        "CASE WHEN isfinite({name}) AND abs({name}) >= pow(2, {digits}) AND abs({name}) < 1e38 \
         THEN CAST(CAST({name} AS HUGEINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
    )
}

fn of_int96(column_type: ColumnType, name: &str) -> Option<Source> {
    let text = int96::text(name);
    match column_type {
        ColumnType::Timestamp => Some(Source::Checked(text, int96::has_nanoseconds(name))),
        ColumnType::Date => Some(Source::Text(text)),
        _ => None,
    }
}

fn of_nested(file_type: &FileType, name: &str) -> Option<Source> {
    json(file_type.with_texts(name).as_deref().unwrap_or(name))
}

fn json(value: &str) -> Option<Source> {
    Some(Source::Text(format!("CAST(to_json({value}) AS VARCHAR)")))
}

/// Returns a condition: the time is not in whole microseconds.
fn has_nanoseconds(name: &str) -> String {
    format!("(isfinite({name}) AND epoch_ns({name}) % 1000 <> 0)")
}

/// Returns whether the column can hold every value of the file's decimal type.
fn holds(column_type: ColumnType, file_type: &str) -> bool {
    file_type.parse::<ColumnType>().is_ok_and(|file_type| {
        matches!(file_type, ColumnType::Decimal { .. }) && file_type.widens_to(column_type)
    })
}
