//! Converts a Parquet file, read by DuckDB, to a segment.
//!
//! Columns are matched by name, ignoring case. If the column's type can hold every value of the file's type,
//! values are taken unchanged. If most values fit (many programs write integers with gaps as doubles), and if
//! they are text, they are converted through text, so that the same values are refused as in a CSV file. Any
//! other type is refused before a row is read, unless the column has no value at all.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use platform::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::child::context::Context;
use crate::import::faults::{MAX_SENTENCES, MAX_VALUE, shown};
use crate::import::nested::FileType;
use crate::import::nesting::levels;
use crate::import::parquet_footer::{self, Fault, Footer};
use crate::import::signature;
use crate::import::source::Source;
use crate::import::staging::{self, Relation, StageInput, StageOutcome, Target};
use crate::import::wide_decimals;
use crate::schema::types::ColumnType;
use crate::statement::messages::{self, Cause};
use crate::tables::sql;

const MAGIC: [u8; 4] = *b"PAR1";
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";
/// Type of times in nanoseconds. DuckDB reads times in UTC and times of 96 bits only in whole microseconds.
const NANOSECONDS: &str = "TIMESTAMP_NS";
/// What is wrong with a time of 96 bits of which DuckDB reads another time.
const NO_YEAR: &str = "the time is outside of the years 0001 to 9999 that a time of 96 bits has";
/// What is wrong with a time or a day that DuckDB takes for an infinity.
const INFINITE: &str = "the time is beyond the range that can be kept; leave it empty where there is no time";
/// What is wrong with a map of which JSON would keep a part.
const EQUAL_KEYS: &str = "a map has the same key twice, and JSON would keep one of the values; write a list of pairs, or one \
                          value for each key";
/// Most levels of a type. DuckDB's readers of lists and maps take twice the time and memory for each.
const MAX_LEVELS: usize = 16;
/// Most groups of Parquet in a level: a list and a map are one in another.
const MAX_GROUPS: usize = 2 * MAX_LEVELS;
/// Longest name of a type in a message, in characters: a nested type may have thousands of fields.
const MAX_TYPE_LENGTH: usize = 100;

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let target = &input.target;
    check_ends(&input.input, &target.table)?;
    let footer = check_footer(&input.input, target)?;
    if !footer.wide_decimals.is_empty() {
        wide_decimals::register(&context.connection)?;
    }
    staging::enclose(context, &input.target, &input.input)?;
    let mut relation = Relation {
        sql: format!(
            "read_parquet({}, hive_partitioning = false)",
            sql::path(&input.input)?
        ),
        flaw: None,
    };
    let mut columns = columns(context, target, &relation)?;
    check_levels(target, &columns)?;
    leave_out_index(context, target, &input.input, &mut columns)?;
    let sources = map_columns(context, target, &relation, &columns, &footer)?;
    relation.flaw = flaw(target, &columns, &footer);
    match staging::write(context, target, &sources, &relation) {
        Err(error) if error.status() == 500 => Err(fault(context, target, &relation, error)),
        other => other,
    }
}

/// Fails with 422 unless the file has Parquet's first and last bytes.
fn check_ends(path: &Path, table: &str) -> Result<()> {
    let read = || -> std::io::Result<[[u8; 4]; 2]> {
        let mut file = File::open(path)?;
        let (mut first, mut last) = ([0; 4], [0; 4]);
        file.read_exact(&mut first)?;
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut last)?;
        Ok([first, last])
    };
    let what = match read() {
        Ok([MAGIC, MAGIC]) => return Ok(()),
        Ok([_, ENCRYPTED_MAGIC]) => "the Parquet file is encrypted",
        Ok([MAGIC, _]) => "the Parquet file is cut off",
        Ok([first, _]) => match signature::other_than_parquet(&first) {
            Some(other) => &format!("the file is {other}, not Parquet"),
            None => "the file is not Parquet",
        },
        Err(_) => "the file is empty",
    };
    Err(Error::unprocessable(format!("Table '{table}': {what}.")))
}

/// Fails with 422 if DuckDB would take long for the types in the footer.
fn check_footer(path: &Path, target: &Target) -> Result<Footer> {
    let what = match parquet_footer::check(path, MAX_GROUPS) {
        Ok(footer) => return Ok(footer),
        Err(Fault::Damaged) => return Err(damaged(target, None)),
        Err(Fault::Digits(column, digits)) => format!(
            "the column {} in the Parquet file has decimals of {digits} digits within a list, struct or map, where at most \
             38 can be read exactly; write them with at most 38 digits, or as text",
            shown(&column)
        ),
        Err(Fault::Long(bytes, most)) => format!(
            "the footer of the Parquet file has {bytes} bytes; at most {most} can be read. Write fewer columns, or larger \
             row groups"
        ),
        Err(Fault::Wide(elements, most)) => format!(
            "the schema of the Parquet file has {elements} columns and parts of columns; at most {most} can be read"
        ),
        Err(Fault::Deep(column)) => format!(
            "the type of the column {} in the Parquet file nests more than {MAX_LEVELS} levels; at most {MAX_LEVELS} can \
             be read",
            shown(&column)
        ),
    };
    Err(Error::unprocessable(format!("Table '{}': {what}.", target.table)))
}

/// Returns the names and DuckDB types of the file's columns.
fn columns(context: &Context, target: &Target, relation: &Relation) -> Result<Vec<(String, String)>> {
    let describe = format!(
        "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {})",
        relation.sql
    );
    let read = || -> duckdb::Result<Vec<(String, String)>> {
        let mut statement = context.connection.prepare(&describe)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    read().map_err(|error| unreadable(target, &error))
}

/// Fails with 422 if a type has too many levels. The footer tells the types, so that no value is read.
fn check_levels(target: &Target, columns: &[(String, String)]) -> Result<()> {
    let deep = columns
        .iter()
        .find(|(_, file_type)| levels(file_type) > MAX_LEVELS);
    deep.map_or(Ok(()), |(name, file_type)| {
        Err(Error::unprocessable(format!(
            "Table '{}': the type of the column {} in the Parquet file nests {} levels; at most {MAX_LEVELS} can be read.",
            target.table,
            shown(name),
            levels(file_type)
        )))
    })
}

/// Finds the fault of a file whose footer is readable and whose rows caused `failed`.
fn fault(context: &Context, target: &Target, relation: &Relation, failed: Error) -> Error {
    // Reads every value: DuckDB would answer a count from the footer alone.
    let read_all = format!("SELECT bit_xor(hash(COLUMNS(*))) FROM {}", relation.sql);
    if let Err(error) = context.connection.execute_batch(&read_all) {
        return unreadable(target, &error);
    }
    let cause = std::error::Error::source(&failed).map(ToString::to_string);
    match cause.as_deref().and_then(messages::kind) {
        // A value outside DuckDB's range, such as a time before its minimum.
        Some(_) => damaged(target, cause.as_deref()).with_source(failed),
        None => failed,
    }
}

/// `reason` is DuckDB's text.
fn damaged(target: &Target, reason: Option<&str>) -> Error {
    let reason =
        reason.map(|reason| messages::scrub(reason.split_once(": ").map_or(reason, |(_, rest)| rest)));
    let error = Error::unprocessable(format!(
        "Table '{}': the Parquet file is damaged, or uses something of Parquet that cannot be read.",
        target.table
    ));
    match reason {
        Some(reason) => error.with_details(format!("The reader says: {reason}")),
        None => error,
    }
}

fn unreadable(target: &Target, error: &duckdb::Error) -> Error {
    let text = messages::text(error);
    match messages::cause(&text) {
        Cause::Memory | Cause::Interrupted => messages::own_error(error),
        Cause::Statement | Cause::Fence | Cause::Fault | Cause::Internal => {
            damaged(target, Some(&text)).with_source(text)
        }
    }
}

/// Returns the source of each of the table's columns.
fn map_columns(
    context: &Context,
    target: &Target,
    relation: &Relation,
    found: &[(String, String)],
    footer: &Footer,
) -> Result<Vec<Source>> {
    let table = &target.table;
    let known = |name: &str| {
        target
            .columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
    };
    if let Some((name, _)) = found.iter().find(|(name, _)| !known(name)) {
        return Err(Error::unprocessable(format!(
            "Table '{table}': the Parquet file has a column {}, which the table does not have.",
            shown(name)
        )));
    }
    let mut wrong = Vec::new();
    let mut sources = Vec::new();
    for column in &target.columns {
        let Some((name, file_type)) = found
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&column.name))
        else {
            if column.default.is_none() && column.definition().is_required() {
                return Err(Error::unprocessable(format!(
                    "Table '{table}': the file lacks the column '{}', which needs a value and has no default.",
                    column.name
                )));
            }
            sources.push(Source::Default);
            continue;
        };
        let identifier = sql::identifier(name);
        let source = match footer.wide_decimals.get(name) {
            // A repeated column is a list.
            Some(scale) if file_type == "BLOB" => of_wide_decimal(column.column_type, &identifier, *scale),
            Some(_) => None,
            None => source(column.column_type, file_type, &identifier),
        };
        match source {
            Some(source) => sources.push(source),
            // Programs that know no value have no type to write either.
            None if is_null_throughout(context, relation, &identifier)? => {
                sources.push(Source::Value("NULL".to_owned()));
            }
            None => wrong.push(format!(
                "column '{}' is {} in the Parquet file and {} in the table",
                column.name,
                shortened(file_type),
                column.column_type
            )),
        }
    }
    let Some(first) = wrong.first() else {
        return Ok(sources);
    };
    let error = Error::unprocessable(format!("Table '{table}': {first}; the types do not go together."));
    wrong.truncate(MAX_SENTENCES);
    Err(if wrong.len() > 1 {
        error.with_details(format!("{}.", wrong.join("; ")))
    } else {
        error
    })
}

/// Removes the columns of the file that are an index of pandas and no column of the table.
fn leave_out_index(
    context: &Context,
    target: &Target,
    path: &Path,
    columns: &mut Vec<(String, String)>,
) -> Result<()> {
    let is_of_table = |name: &str| {
        let mut columns = target.columns.iter();
        columns.any(|column| column.name.eq_ignore_ascii_case(name))
    };
    if columns.iter().all(|(name, _)| is_of_table(name)) {
        return Ok(());
    }
    let query = format!(
        "SELECT any_value(try(decode(value))) FROM parquet_kv_metadata({}) WHERE key = 'pandas'::BLOB",
        sql::path(path)?
    );
    let metadata: Option<String> = context
        .connection
        .query_row(&query, [], |row| row.get(0))
        .map_err(|error| unreadable(target, &error))?;
    let metadata: Option<Pandas> = metadata.and_then(|text| serde_json::from_str(&text).ok());
    let index = metadata
        .map(|metadata| metadata.index_columns)
        .unwrap_or_default();
    // An index that counts rows has no column; there, pandas writes an object.
    columns.retain(|(name, _)| is_of_table(name) || !index.iter().any(|index| index.as_str() == Some(name)));
    Ok(())
}

/// What pandas writes about a file.
#[derive(Deserialize)]
struct Pandas {
    index_columns: Vec<Value>,
}

fn is_null_throughout(context: &Context, relation: &Relation, name: &str) -> Result<bool> {
    let query = format!("SELECT count({name}) FROM {}", relation.sql);
    let count = context
        .connection
        .query_row(&query, [], |row| row.get::<_, i64>(0));
    count
        .map(|count| count == 0)
        .map_err(|error| messages::own_error(&error))
}

/// Returns SQL for what is wrong in a row beside values that do not convert; None if nothing can be.
fn flaw(target: &Target, found: &[(String, String)], footer: &Footer) -> Option<String> {
    let mut flaws = Vec::new();
    for (index, column) in target.columns.iter().enumerate() {
        let mut found = found.iter();
        let Some((name, file_type)) = found.find(|(name, _)| name.eq_ignore_ascii_case(&column.name)) else {
            continue;
        };
        let (file_type, name) = (FileType::parse(file_type), sql::identifier(name));
        let has_int96 = footer
            .int96
            .iter()
            .any(|int96| int96.eq_ignore_ascii_case(&column.name));
        let is_no_year = if has_int96 {
            file_type.is_no_year(&name)
        } else {
            None
        };
        for (is_wrong, reason) in [
            (is_no_year, NO_YEAR),
            (file_type.is_infinite(&name), INFINITE),
            (file_type.has_equal_keys(&name), EQUAL_KEYS),
        ] {
            flaws.extend(is_wrong.map(|is_wrong| {
                format!(
                    "CASE WHEN {is_wrong} THEN CAST(to_json({{\"column\": {index}, \
                     \"value\": substr(CAST({name} AS VARCHAR), 1, {MAX_VALUE}), \"reason\": {}}}) AS VARCHAR) END",
                    sql::literal(reason)
                )
            }));
        }
    }
    (!flaws.is_empty()).then(|| format!("coalesce({})", flaws.join(", ")))
}

fn shortened(file_type: &str) -> String {
    let mut text: String = file_type.chars().take(MAX_TYPE_LENGTH).collect();
    if text.len() < file_type.len() {
        text.push('…');
    }
    text
}

/// Returns the conversion of a decimal of more than 38 digits, like [`source`].
fn of_wide_decimal(column_type: ColumnType, name: &str, scale: i32) -> Option<Source> {
    let takes_numbers = !matches!(
        column_type,
        ColumnType::Boolean | ColumnType::Date | ColumnType::Timestamp
    );
    takes_numbers.then(|| Source::Text(wide_decimals::text(name, scale)))
}

/// Returns the conversion of a value from the file's type to the column's type; None if the types are
/// incompatible.
fn source(column_type: ColumnType, file_type: &str, name: &str) -> Option<Source> {
    let value = || Some(Source::Value(name.to_owned()));
    let text = || Some(Source::Text(format!("CAST({name} AS VARCHAR)")));
    let base = file_type.split('(').next().unwrap_or(file_type);
    let is_nested = file_type.ends_with(']') || matches!(base, "STRUCT" | "MAP" | "UNION");
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
    // Some programs write texts without saying so.
    let is_bytes = file_type == "BLOB";
    if is_bytes && column_type != ColumnType::String {
        let decoded = format!("coalesce(TRY(decode({name})), CAST({name} AS VARCHAR))");
        return Some(Source::Text(decoded));
    }
    if matches!(base, "VARCHAR" | "ENUM") && column_type != ColumnType::String {
        return text();
    }
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
        | ColumnType::Decimal { .. } => is_number.then(text).flatten(),
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
            _ if is_nested || is_number || base == "BOOLEAN" => {
                Some(Source::Text(format!("CAST(to_json({name}) AS VARCHAR)")))
            }
            _ => None,
        },
    }
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
