//! Converts text to values of a column's type: in SQL, so that DuckDB converts a million rows at its own
//! speed.
//!
//! This reads the texts of every source: CSV, JSON, Parquet, changed types, defaults, and the parameters of
//! queries whose type a column can have; `query/target.rs` reads those of other types. Two readers decide on
//! some of the texts without SQL, and tests hold them equal to this one: [`crate::import::plain`], for CSV
//! (`plain_values_are_converted_as_others_are`), and [`crate::schema::exact`], for a default when it is set
//! (`default_that_is_taken_converts`). The grammar per type is in `docs/values.md`. DuckDB's own casts take
//! more (`0x1F`, `epoch`, `NaN` in JSON) and lose data silently: they round digits after the point and
//! fractions of integers (this module does so only if the caller gives a [`Rounding`]), make a number beyond
//! the range infinite, and drop an offset, text after the day, and digits of a second beyond microseconds. So
//! a text is cast only if it matches the grammar, and each loss is an error. The usual form of a type is
//! tested first, because that is fast.

use platform::clock::UtcTime;
use platform::{Error, Result};

use crate::import::rounding::Rounding;
use crate::schema::defaults::DefaultValue;
use crate::schema::manifest::ManifestColumn;
use crate::schema::types::ColumnType;
use crate::tables::sql;

/// Message of the error raised inside a lossy conversion; the search for faults then finds the row.
pub(crate) const LOSSY: &str = "more than the type holds";
/// Message of the error raised for a text outside of the grammar.
const FOREIGN: &str = "not a value of the type";
/// A number. Its parts: the sign, the digits before and after the point, the exponent.
const NUMBER: &str = r"^\s*([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,2}))?\s*$";
/// What a number has at least, besides the form of [`NUMBER`].
const DIGIT: &str = r"^\s*[+-]?\.?[0-9]";
/// More zeros than the greatest exponent of [`NUMBER`] can shift the point by.
const ZEROS: &str = "repeat('0', 100)";
/// Most texts of a date.
const USUAL_DATE: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
/// A date, and a midnight in UTC after it. Its part: the day.
const DATE: &str = r"^\s*(-?[0-9]{4,6}[-/\\ ][0-9]{1,2}[-/\\ ][0-9]{1,2})(?:[Tt ]00:00(?::00(?:\.0+)?)?(?: ?(?:[Zz]|UTC|[+-]00(?::?00)?))?)?\s*$";
/// Most texts of a time.
const USUAL_TIMESTAMP: &str = "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?Z?";
/// A time. Its parts: the day, hours and minutes, seconds, decimals of a second, an offset.
const TIMESTAMP: &str = r"^\s*(-?[0-9]{4,6}[-/\\ ][0-9]{1,2}[-/\\ ][0-9]{1,2})(?:[Tt ]([0-9]{1,2}:[0-9]{2})(?:(:[0-9]{2})(?:\.([0-9]+))?)?(?: ?(?:[Zz]|UTC|([+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9](?::?[0-5][0-9])?)?)))?)?\s*$";
/// A text within JSON.
const JSON_TEXT: &str = r#""(?:[^"\\]|\\.)*""#;
/// Deepest nesting of JSON. Most readers of JSON stop there, and so would readers of an answer with the
/// value.
pub(crate) const MAX_JSON_DEPTH: usize = 128;
/// What DuckDB takes outside of the texts in JSON, and RFC 8259 does not.
const NO_JSON: &str = r"(?i)nan|inf|,\s*[\]}]";

/// The conversion of a text, as SQL.
pub(crate) struct Conversion {
    column_type: ColumnType,
    text: String,
    /// Readings for the texts that satisfy their condition, in this order; the last is for all others.
    readings: Vec<Reading>,
}

/// The cast of a text.
struct Reading {
    /// Condition, as SQL, under which this reading applies; None for all other texts.
    when: Option<String>,
    /// The text to cast, in a form that DuckDB reads as it is meant.
    text: String,
    /// Condition, as SQL: the text is outside of the grammar.
    is_foreign: Option<String>,
    /// Condition, as SQL: the cast loses data without an error.
    is_lossy: Option<String>,
    /// Whether a time can end in an offset.
    has_offset: bool,
}

impl Reading {
    /// Casts every text that satisfies a condition.
    fn usual(when: String, text: &str) -> Self {
        Self {
            when: Some(when),
            has_offset: false,
            ..Self::plain(text)
        }
    }

    /// Casts a text as it is.
    fn plain(text: &str) -> Self {
        Self {
            when: None,
            text: text.to_owned(),
            is_foreign: None,
            is_lossy: None,
            has_offset: true,
        }
    }
}

impl Conversion {
    /// Returns the conversion of the SQL expression `text`.
    pub(crate) fn new(column_type: ColumnType, rounding: Option<Rounding>, text: &str) -> Self {
        let readings = match column_type {
            ColumnType::Decimal { scale, .. } => {
                let usual = format!(r"-?[0-9]+(\.[0-9]{{0,{scale}}}0*)?");
                let usual = Reading::usual(matches_fully(text, &usual), text);
                exact_number(usual, scale, rounding, text)
            }
            ColumnType::Integer | ColumnType::Bigint => {
                let usual = format!("CAST(TRY_CAST({text} AS BIGINT) AS VARCHAR) = {text}");
                exact_number(Reading::usual(usual, text), 0, rounding, text)
            }
            // The greatest numbers have 39 and 309 digits; every integer of 7 and 15 digits is exact.
            ColumnType::Float => vec![floating("FLOAT", 38, 7, text)],
            ColumnType::Double => vec![floating("DOUBLE", 308, 15, text)],
            ColumnType::Date => vec![
                Reading::usual(matches_fully(text, USUAL_DATE), text),
                Reading {
                    text: part(text, DATE, 1),
                    is_foreign: Some(is_no_match(text, DATE)),
                    ..Reading::plain(text)
                },
            ],
            ColumnType::Timestamp => vec![
                Reading::usual(matches_fully(text, USUAL_TIMESTAMP), text),
                Reading {
                    text: time(text),
                    is_foreign: Some(is_no_match(text, TIMESTAMP)),
                    is_lossy: Some(format!(
                        "regexp_matches({}, '^[0-9]{{6}}[0-9]*[1-9]')",
                        part(text, TIMESTAMP, 4)
                    )),
                    ..Reading::plain(text)
                },
            ],
            ColumnType::Json => vec![Reading {
                is_foreign: Some(is_no_json(text)),
                is_lossy: Some(is_too_deep(text)),
                ..Reading::plain(text)
            }],
            ColumnType::String | ColumnType::Boolean => vec![Reading::plain(text)],
        };
        Self {
            column_type,
            text: text.to_owned(),
            readings,
        }
    }

    /// Returns SQL for the value; it raises an error if the text does not convert.
    pub(crate) fn value(&self) -> String {
        self.each(|reading| {
            let mut checks = String::new();
            for (is_wrong, message) in [(&reading.is_foreign, FOREIGN), (&reading.is_lossy, LOSSY)] {
                if let Some(is_wrong) = is_wrong {
                    checks += &format!("WHEN {is_wrong} THEN error('{message}') ");
                }
            }
            guarded(&checks, self.cast("CAST", reading))
        })
    }

    /// Returns SQL for the value, or NULL if the text does not convert.
    pub(crate) fn value_or_null(&self) -> String {
        self.each(|reading| {
            let mut checks = String::new();
            for is_wrong in [&reading.is_foreign, &reading.is_lossy].into_iter().flatten() {
                checks += &format!("WHEN {is_wrong} THEN NULL ");
            }
            guarded(&checks, self.cast("TRY_CAST", reading))
        })
    }

    /// Returns the condition that the text does not convert; None if every text converts.
    pub(crate) fn is_bad(&self) -> Option<String> {
        let (text, value) = (&self.text, self.value_or_null());
        (self.column_type != ColumnType::String)
            .then(|| format!("({text} IS NOT NULL AND ({value}) IS NULL)"))
    }

    /// Returns the condition that the text does not convert because the cast loses data.
    pub(crate) fn is_lossy(&self) -> String {
        self.each(|reading| match &reading.is_lossy {
            Some(lossy) => {
                let value = self.cast("TRY_CAST", reading);
                let is_foreign = reading.is_foreign.as_deref().unwrap_or("false");
                format!("coalesce(NOT ({is_foreign}) AND ({lossy}) AND ({value}) IS NOT NULL, false)")
            }
            None => "false".to_owned(),
        })
    }

    fn each(&self, write: impl Fn(&Reading) -> String) -> String {
        let mut sql = String::new();
        for reading in &self.readings {
            match &reading.when {
                Some(when) => sql += &format!("WHEN {when} THEN {} ", write(reading)),
                None => return guarded(&sql, write(reading)),
            }
        }
        guarded(&sql, "NULL".to_owned())
    }

    fn cast(&self, cast: &str, reading: &Reading) -> String {
        let (to, text) = (self.column_type.duckdb_type(), &reading.text);
        match self.column_type {
            ColumnType::String => text.to_owned(),
            ColumnType::Timestamp if reading.has_offset => timestamp(cast, text),
            _ => format!("{cast}({text} AS {to})"),
        }
    }
}

/// Returns `value` after the arms of a CASE that come first.
fn guarded(arms: &str, value: String) -> String {
    match arms {
        "" => value,
        arms => format!("CASE {arms}ELSE {value} END"),
    }
}

fn matches_fully(text: &str, pattern: &str) -> String {
    format!("regexp_full_match({text}, {})", sql::literal(pattern))
}

fn is_no_match(text: &str, pattern: &str) -> String {
    format!("NOT regexp_matches({text}, {})", sql::literal(pattern))
}

fn part(text: &str, pattern: &str, group: u8) -> String {
    format!("regexp_extract({text}, {}, {group})", sql::literal(pattern))
}

/// Writes a time in one form: day, hours to microseconds, an offset. A form that DuckDB does not know is none
/// of its own.
fn time(text: &str) -> String {
    let part = |group| part(text, TIMESTAMP, group);
    let or = |group, other: &str| format!("coalesce(nullif({}, ''), '{other}')", part(group));
    format!(
        "({} || ' ' || {} || {} || '.' || left({} || '000000', 6) || {})",
        part(1),
        or(2, "00:00"),
        or(3, ":00"),
        part(4),
        part(5)
    )
}

fn is_no_json(text: &str) -> String {
    let no_json = sql::literal(NO_JSON);
    format!(
        "(contains(lower({text}), 'nan') OR contains(lower({text}), 'inf') OR regexp_matches({text}, ',\\s*[\\]}}]')) \
         AND regexp_matches(regexp_replace({text}, {}, '', 'g'), {no_json})",
        sql::literal(JSON_TEXT)
    )
}

/// Returns the condition that valid JSON nests too deeply. Nearly all texts have too few brackets for that;
/// of the others, each round removes the innermost brackets.
fn is_too_deep(text: &str) -> String {
    let opened = format!("strlen({text}) - strlen(replace(replace({text}, '[', ''), '{{', ''))");
    let brackets = format!(
        "translate(regexp_replace(regexp_replace({text}, {}, '', 'g'), '[^\\[\\]{{}}]+', '', 'g'), '{{}}', '[]')",
        sql::literal(JSON_TEXT)
    );
    let rounds = vec!["''"; MAX_JSON_DEPTH].join(", ");
    format!(
        "({opened} > {MAX_JSON_DEPTH} AND \
         list_reduce([{brackets}, {rounds}], lambda brackets, round: replace(brackets, '[]', '')) <> '')"
    )
}

/// Returns the condition that the SQL expression `value`, of another type, cannot be cast to `column_type`.
pub(crate) fn does_not_fit(column_type: ColumnType, value: &str) -> String {
    let to = column_type.duckdb_type();
    format!("({value} IS NOT NULL AND TRY_CAST({value} AS {to}) IS NULL)")
}

fn has_exponent(text: &str) -> String {
    format!("(contains({text}, 'e') OR contains({text}, 'E'))")
}

/// Readings of a number that is kept exactly: the usual form, digits to be rounded, and all other forms,
/// which are written out because DuckDB refuses or rounds some of them.
fn exact_number(usual: Reading, scale: u8, rounding: Option<Rounding>, text: &str) -> Vec<Reading> {
    let part = |group| part(text, NUMBER, group);
    let digits = format!("{} || {}", part(2), part(3));
    let exponent = format!("coalesce(TRY_CAST({} AS INTEGER), 0)", part(4));
    let point = format!("100 + strlen({}) + {exponent}", part(2));
    let written_out = format!(
        "({} || ltrim(left({ZEROS} || {digits} || {ZEROS}, {point}), '0') || '.' \
         || rtrim(substr({ZEROS} || {digits}, {point} + 1), '0') || '0')",
        part(1)
    );
    let mut readings = vec![usual];
    let is_foreign = format!("{} OR {}", is_no_match(text, NUMBER), is_no_match(text, DIGIT));
    readings.extend(rounding.map(|rounding| Reading {
        text: rounded(scale, rounding, text),
        ..Reading::usual(matches_fully(text, r"-?[0-9]+\.[0-9]+"), text)
    }));
    readings.push(Reading {
        text: match rounding {
            Some(rounding) => rounded(scale, rounding, &written_out),
            None => written_out,
        },
        is_foreign: Some(is_foreign),
        is_lossy: rounding.is_none().then(|| {
            format!(
                "(regexp_matches({digits}, '[1-9]') \
                 AND strlen(rtrim({digits}, '0')) - strlen({}) - {exponent} > {scale})",
                part(2)
            )
        }),
        ..Reading::plain(text)
    });
    readings
}

/// Returns a text that DuckDB casts to the rounded value. DuckDB rounds a half away from zero.
fn rounded(scale: u8, rounding: Rounding, text: &str) -> String {
    let (pattern, replacement) = match (rounding, scale) {
        (Rounding::HalfUp, _) => return text.to_owned(),
        (Rounding::HalfEven, 0) => (r"^([+-]?(?:[0-9]*[02468])?)\.50*$".to_owned(), r"\1.0"),
        (Rounding::HalfEven, scale) => (
            format!(r"^([+-]?[0-9]*\.[0-9]{{{}}}[02468])50*$", scale - 1),
            r"\1",
        ),
    };
    format!(
        "regexp_replace({text}, {}, '{replacement}')",
        sql::literal(&pattern)
    )
}

/// Reading of a floating point number. A number that is too large, and an integer that is not exact, are
/// lossy. A number with a point or an exponent is no integer: programs write the nearest floating point
/// number like that, as in `15000000000.0`.
fn floating(to: &str, digits: u32, exact_digits: u32, text: &str) -> Reading {
    let has_exponent = has_exponent(text);
    let integer = format!("TRY_CAST({text} AS HUGEINT)");
    let is_lossy = format!(
        "(((strlen({text}) > {digits} OR {has_exponent}) AND isinf(TRY_CAST({text} AS {to}))) \
         OR (strlen({text}) > {exact_digits} AND regexp_full_match({text}, '\\s*[+-]?[0-9]+\\s*') \
         AND coalesce({integer} <> TRY_CAST(TRY_CAST({text} AS {to}) AS HUGEINT), true)))"
    );
    Reading {
        is_foreign: Some(format!("contains({text}, '_')")),
        is_lossy: Some(is_lossy),
        ..Reading::plain(text)
    }
}

/// Casts a text that may end in an offset through TIMESTAMP WITH TIME ZONE, which takes twice as long.
fn timestamp(cast: &str, text: &str) -> String {
    format!(
        "CASE WHEN regexp_matches({text}, '[+-][0-9][0-9](:?[0-9][0-9]){{0,2}}$') \
         THEN CAST({cast}({text} AS TIMESTAMPTZ) AS TIMESTAMP) ELSE {cast}({text} AS TIMESTAMP) END"
    )
}

/// Returns the value of `column` in rows of an import that omits it, as SQL of its type; NULL without a
/// default.
pub(crate) fn default(column: &ManifestColumn, now: UtcTime) -> Result<String> {
    let to = column.column_type.duckdb_type();
    let default = column.definition().default_value().map_err(Error::internal)?;
    Ok(match default {
        Some(DefaultValue::Uuid) => format!("CAST(uuid() AS {to})"),
        Some(value) => match value.text_at(now) {
            Some(text) => Conversion::new(column.column_type, None, &sql::literal(&text)).value(),
            None => format!("CAST(NULL AS {to})"),
        },
        None => format!("CAST(NULL AS {to})"),
    })
}

#[cfg(test)]
mod tests {
    use duckdb::Connection;

    use super::*;

    const TYPES: &str = "STRING INTEGER BIGINT FLOAT DOUBLE DECIMAL(4,2) BOOLEAN DATE TIMESTAMP";
    const TEXTS: &str = "0,-1,+5,007,1.50,1.555,1e3,1E-2,2147483647,2147483648,16777217,9007199254740992,\
                         9007199254740993,9223372036854775807,3.5e38,1e308,true,FALSE,2026-01-02,0001-01-01,2026-02-30,\
                         2026-01-02 03:04,2026-01-02T03:04:05Z,2026-01-02T03:04:05.123456000Z,2026-01-02T03:04:05.1234567Z,\
                         2026-01-02T03:04:05+0200,2026-01-02T03:04:05+14:00,2026-01-02T03:04:05+15:00,9999-12-31T23:59:59Z";

    #[test]
    fn default_that_is_taken_converts() {
        let connection = Connection::open_in_memory().unwrap();
        let mut taken = 0;
        for text in TEXTS.split(',') {
            let quoted = sql::literal(text);
            for kind in TYPES.split(' ') {
                let column_type = kind.parse().unwrap();
                let value = Conversion::new(column_type, None, &quoted).value_or_null();
                let sql = format!("SELECT ({value}) IS NOT NULL");
                let converts: bool = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
                let is_taken = DefaultValue::parse(&quoted, column_type).is_ok();
                assert!(converts || !is_taken, "{text} as {kind}");
                taken += u32::from(is_taken);
            }
        }
        assert!(taken > 60, "{taken}");
    }
}
