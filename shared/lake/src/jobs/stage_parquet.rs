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
use crate::import::functions;
use crate::import::int96::{self, Int96Text};
use crate::import::nested::{BYTES, FileType};
use crate::import::parquet_footer::{self, Fault, Footer};
use crate::import::parquet_source::{FileColumn, of_wide_decimal, source};
use crate::import::signature;
use crate::import::source::Source;
use crate::import::staging::{self, Relation, StageInput, StageOutcome, Target};
use crate::import::wide_decimals::{self, DecimalText};
use crate::statement::messages::{self, Cause};
use crate::tables::sql;

const MAGIC: [u8; 4] = *b"PAR1";
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";
/// What is wrong with a time of 96 bits that other databases do not have.
const NO_YEAR: &str = "the time is outside of the years 0001 to 9999 that a time of 96 bits has";
/// What is wrong with a time or a day that DuckDB takes for an infinity.
const INFINITE: &str = "the time is beyond the range that can be kept; leave it empty where there is no time";
/// What is wrong with bytes within other values that are no text.
const NO_TEXT: &str =
    "bytes in a list, struct or map are not text in UTF-8; write them as text, such as Base64";
/// What is wrong with a map of which JSON would keep a part.
const EQUAL_KEYS: &str = "a map has the same key twice, and JSON would keep one of the values; write a list of pairs, or one \
                          value for each key";
/// Most levels of a type. DuckDB's readers of lists and maps take twice the time and memory for each.
const MAX_LEVELS: usize = 16;
/// Most groups of Parquet in a level: a list and a map are one in another.
const MAX_GROUPS: usize = 2 * MAX_LEVELS;

pub(crate) fn run(context: &mut Context, input: &StageInput) -> Result<StageOutcome> {
    let target = &input.target;
    check_ends(&input.input, &target.table)?;
    let footer = check_footer(&input.input, target)?;
    if !footer.wide_decimals.is_empty() {
        functions::register::<DecimalText>(&context.connection, wide_decimals::NAME)?;
    }
    if !footer.leaves.is_empty() {
        functions::register::<Int96Text>(&context.connection, int96::NAME)?;
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
    leave_out_index(context, target, &input.input, &mut columns)?;
    let columns = with_types(target, columns, &footer)?;
    let sources = map_columns(context, target, &relation, &columns, &footer)?;
    relation.flaw = flaw(target, &columns);
    match staging::write(context, target, &sources, &relation) {
        Err(error) if error.status() == 500 => Err(fault(context, target, &relation, &columns, error)),
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
        Err(Fault::Damaged) => return Err(damaged(target, None, None)),
        Err(Fault::Digits(column, digits)) => format!(
            "the column {} in the Parquet file has decimals of {digits} digits within a list, struct or map, where at most \
             38 can be read exactly; write them with at most 38 digits, or as text",
            shown(&column)
        ),
        Err(Fault::CutTime(column)) => format!(
            "the column {} in the Parquet file has times of day in nanoseconds within a list, struct or map, of which \
             microseconds are read; write them in microseconds, or as text",
            shown(&column)
        ),
        Err(Fault::Long(bytes, most)) => format!(
            "the footer of the Parquet file has {bytes} bytes; at most {most} can be read. Write fewer columns, or larger \
             row groups"
        ),
        Err(Fault::Wide(elements, most)) => format!(
            "the schema of the Parquet file has {elements} columns and parts of columns; at most {most} can be read"
        ),
        Err(Fault::EqualColumns(one, other)) => format!(
            "the Parquet file has the columns {} and {}, and names of columns have no case; rename one of them",
            shown(&one),
            shown(&other)
        ),
        Err(Fault::EqualFields(column, one, other)) => format!(
            "the column {} in the Parquet file has a struct with the fields {} and {}, which cannot be told apart without \
             case; rename one of them",
            shown(&column),
            shown(&one),
            shown(&other)
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
    read().map_err(|error| unreadable(target, None, &error))
}

/// Adds what the footer tells of the types. Fails with 422 for a type that cannot be read.
fn with_types(target: &Target, columns: Vec<(String, String)>, footer: &Footer) -> Result<Vec<FileColumn>> {
    let columns = columns.into_iter().map(|(name, type_name)| {
        let what = match FileType::of_column(&type_name, footer.leaves.get(&name)) {
            Some(file_type) if file_type.levels() > MAX_LEVELS => {
                let levels = file_type.levels();
                &format!("has a type that nests {levels} levels; at most {MAX_LEVELS} can be read")
            }
            Some(file_type) if file_type.has_unwritable_name() && file_type.with_texts("").is_some() => {
                "has bytes or times in a struct with a field that has no name; give it one"
            }
            Some(file_type) => {
                return Ok(FileColumn {
                    name,
                    type_name,
                    file_type,
                });
            }
            None => "has times of 96 bits or in nanoseconds that cannot be read; write them in microseconds",
        };
        Err(Error::unprocessable(format!(
            "Table '{}': the column {} in the Parquet file {what}.",
            target.table,
            shown(&name)
        )))
    });
    columns.collect()
}

/// Finds the fault of a file whose footer is readable and whose rows caused `failed`.
fn fault(
    context: &Context,
    target: &Target,
    relation: &Relation,
    columns: &[FileColumn],
    failed: Error,
) -> Error {
    for column in columns {
        // Reads every value: DuckDB would answer a count from the footer alone.
        let name = sql::identifier(&column.name);
        let read_all = format!("SELECT bit_xor(hash({name})) FROM {}", relation.sql);
        if let Err(error) = context.connection.execute_batch(&read_all) {
            return unreadable(target, Some(&column.name), &error);
        }
    }
    let cause = std::error::Error::source(&failed).map(ToString::to_string);
    // A value outside DuckDB's range, such as a time before its minimum; or damage that the reader did not
    // meet again, because it read memory behind the data.
    let is_of_file = |cause: &str| messages::kind(cause).is_some() || cause.starts_with("Invalid Error: ");
    match cause.filter(|cause| is_of_file(cause)) {
        Some(cause) => damaged(target, None, Some(&cause)).with_source(failed),
        None => failed,
    }
}

/// `reason` is DuckDB's text.
fn damaged(target: &Target, column: Option<&str>, reason: Option<&str>) -> Error {
    let kind = reason.and_then(messages::kind);
    let is_beyond_range = matches!(kind, Some("Conversion Error" | "Out of Range Error"));
    let what = match column.map(shown) {
        Some(column) if is_beyond_range => format!(
            "the column {column} in the Parquet file has a value beyond the range that can be kept, such as a time; leave \
             it empty where there is no value"
        ),
        Some(column) => format!(
            "the column {column} in the Parquet file is damaged, or uses something of Parquet that cannot be read"
        ),
        None => "the Parquet file is damaged, or uses something of Parquet that cannot be read".to_owned(),
    };
    let reason =
        reason.map(|reason| messages::scrub(reason.split_once(": ").map_or(reason, |(_, rest)| rest)));
    let error = Error::unprocessable(format!("Table '{}': {what}.", target.table));
    match reason {
        Some(reason) => error.with_details(format!("The reader says: {}.", reason.trim_end_matches('.'))),
        None => error,
    }
}

fn unreadable(target: &Target, column: Option<&str>, error: &duckdb::Error) -> Error {
    let text = messages::text(error);
    match messages::cause(&text) {
        Cause::Memory | Cause::Interrupted => messages::own_error(error),
        Cause::Statement | Cause::Fence | Cause::Fault | Cause::Internal => {
            damaged(target, column, Some(&text)).with_source(text)
        }
    }
}

/// Returns the source of each of the table's columns.
fn map_columns(
    context: &Context,
    target: &Target,
    relation: &Relation,
    columns: &[FileColumn],
    footer: &Footer,
) -> Result<Vec<Source>> {
    let table = &target.table;
    let is_of_table = |name: &str| {
        target
            .columns
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(name))
    };
    if let Some(FileColumn { name, .. }) = columns.iter().find(|column| !is_of_table(&column.name)) {
        return Err(Error::unprocessable(format!(
            "Table '{table}': the Parquet file has a column {}, which the table does not have.",
            shown(name)
        )));
    }
    let mut wrong = Vec::new();
    let mut sources = Vec::new();
    for column in &target.columns {
        let Some(of_file) = of_name(columns, &column.name) else {
            if column.default.is_none() && column.definition().is_required() {
                return Err(Error::unprocessable(format!(
                    "Table '{table}': the file lacks the column '{}', which needs a value and has no default.",
                    column.name
                )));
            }
            sources.push(Source::Default);
            continue;
        };
        let identifier = sql::identifier(&of_file.name);
        let source = match footer.wide_decimals.get(&of_file.name) {
            // A repeated column is a list.
            Some(scale) if of_file.type_name == BYTES => {
                of_wide_decimal(column.column_type, &identifier, *scale)
            }
            Some(_) => None,
            None => source(of_file, column.column_type),
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
                of_file.shown_type(),
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
        .map_err(|error| unreadable(target, None, &error))?;
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

fn of_name<'a>(columns: &'a [FileColumn], name: &str) -> Option<&'a FileColumn> {
    columns
        .iter()
        .find(|column| column.name.eq_ignore_ascii_case(name))
}

/// Returns SQL for what is wrong in a row beside values that do not convert; None if nothing can be.
fn flaw(target: &Target, columns: &[FileColumn]) -> Option<String> {
    let mut flaws = Vec::new();
    for (index, column) in target.columns.iter().enumerate() {
        let Some(FileColumn { name, file_type, .. }) = of_name(columns, &column.name) else {
            continue;
        };
        let name = sql::identifier(name);
        let texts = file_type.with_texts(&name).unwrap_or_else(|| name.clone());
        let is_no_text = match file_type.is_nested() {
            true => file_type.is_no_text(&name),
            false => None,
        };
        for (is_wrong, value, reason) in [
            (is_no_text, &name, NO_TEXT),
            (file_type.is_no_year(&name), &texts, NO_YEAR),
            (file_type.is_infinite(&name), &texts, INFINITE),
            (file_type.has_equal_keys(&name), &name, EQUAL_KEYS),
        ] {
            flaws.extend(is_wrong.map(|is_wrong| {
                format!(
                    "CASE WHEN {is_wrong} THEN CAST(to_json({{\"column\": {index}, \
                     \"value\": substr(CAST({value} AS VARCHAR), 1, {MAX_VALUE}), \"reason\": {}}}) AS VARCHAR) END",
                    sql::literal(reason)
                )
            }));
        }
    }
    (!flaws.is_empty()).then(|| format!("coalesce({})", flaws.join(", ")))
}
