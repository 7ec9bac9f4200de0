//! Converts imported text to values of a column's type: in SQL, so that DuckDB converts a million rows at its
//! own speed.
//!
//! DuckDB's own conversions lose data silently, and each loss is an error here: digits after the point beyond
//! a decimal's scale and a fraction in an integer (DuckDB rounds; this module does so only if the caller
//! gives a [`Rounding`]), an integer that a floating point number cannot represent exactly, a number beyond
//! the range of a floating point type (DuckDB makes it infinite; a text `inf` or `nan` is explicit and is
//! kept), text after the day in a date, such as a time, and digits of a second beyond microseconds (DuckDB
//! drops both). A timestamp with an offset is converted to UTC (DuckDB drops the offset).

use platform::clock::UtcTime;
use platform::{Error, Result};

use crate::import::rounding::Rounding;
use crate::schema::defaults::DefaultValue;
use crate::schema::manifest::ManifestColumn;
use crate::schema::types::ColumnType;
use crate::tables::sql;

/// Message of the error raised inside a lossy conversion; the search for faults then finds the row.
pub(crate) const LOSSY: &str = "more than the type holds";
/// Every accepted text for a date. DuckDB ignores text after the day.
const DAY: &str = r"(?i)\s*([+-]?[0-9]+[-/\\ ][0-9]{1,2}[-/\\ ][0-9]{1,2}\s*(\(BC\))?|epoch|-?infinity)\s*";
/// A number with an exponent: its sign, its digits before and after the point, its exponent.
const WITH_EXPONENT: &str = r"^\s*([+-]?)([0-9]*)\.?([0-9]*)[eE]([+-]?[0-9]{1,2})\s*$";
/// More zeros than the greatest exponent of [`WITH_EXPONENT`] can shift the point by.
const ZEROS: &str = "repeat('0', 100)";

/// The conversion of a text, as SQL.
pub(crate) struct Conversion {
    column_type: ColumnType,
    plain: Reading,
    /// A condition, and the reading of texts that satisfy it.
    special: Option<(String, Reading)>,
}

/// The cast of a text.
struct Reading {
    /// The text to cast. It differs from the caller's text if a number is written out or a half is rounded to
    /// even.
    text: String,
    /// Condition, as SQL: the cast loses data without an error.
    is_lossy: Option<String>,
}

impl Conversion {
    /// Returns the conversion of the SQL expression `text`.
    pub(crate) fn new(column_type: ColumnType, rounding: Option<Rounding>, text: &str) -> Self {
        let mut special = None;
        let (text, is_lossy) = match column_type {
            ColumnType::Decimal { scale, .. } => {
                special = Some((has_exponent(text), with_exponent(scale, rounding, text)));
                decimal(scale, rounding, text)
            }
            ColumnType::Integer | ColumnType::Bigint => integer(rounding, text),
            // The greatest numbers have 39 and 309 digits; every integer of 7 and 15 digits is exact.
            ColumnType::Float => (text.to_owned(), Some(floating("FLOAT", 38, 7, text))),
            ColumnType::Double => (text.to_owned(), Some(floating("DOUBLE", 308, 15, text))),
            ColumnType::Date => {
                let is_lossy = format!("NOT regexp_full_match({text}, {})", sql::literal(DAY));
                (text.to_owned(), Some(is_lossy))
            }
            ColumnType::Timestamp => {
                let is_lossy = has_more_digits(6, r"\.[0-9]{6}[0-9]*[1-9]", text);
                (text.to_owned(), Some(is_lossy))
            }
            ColumnType::String | ColumnType::Boolean | ColumnType::Json => (text.to_owned(), None),
        };
        Self {
            column_type,
            plain: Reading { text, is_lossy },
            special,
        }
    }

    /// Returns SQL for the value; it raises an error if the text does not convert.
    pub(crate) fn value(&self) -> String {
        self.each(|reading| {
            let value = self.cast("CAST", &reading.text);
            match &reading.is_lossy {
                Some(lossy) => format!("CASE WHEN {lossy} THEN error('{LOSSY}') ELSE {value} END"),
                None => value,
            }
        })
    }

    /// Returns SQL for the value, or NULL if the text does not convert.
    pub(crate) fn value_or_null(&self) -> String {
        self.each(|reading| {
            let value = self.cast("TRY_CAST", &reading.text);
            match &reading.is_lossy {
                Some(lossy) => format!("CASE WHEN {lossy} THEN NULL ELSE {value} END"),
                None => value,
            }
        })
    }

    /// Returns the condition that the text does not convert; None if every text converts.
    pub(crate) fn is_bad(&self) -> Option<String> {
        let (text, value) = (&self.plain.text, self.value_or_null());
        (self.column_type != ColumnType::String)
            .then(|| format!("({text} IS NOT NULL AND ({value}) IS NULL)"))
    }

    /// Returns the condition that the text does not convert because the cast loses data.
    pub(crate) fn is_lossy(&self) -> String {
        self.each(|reading| match &reading.is_lossy {
            Some(lossy) => {
                let value = self.cast("TRY_CAST", &reading.text);
                format!("coalesce(({value}) IS NOT NULL AND ({lossy}), false)")
            }
            None => "false".to_owned(),
        })
    }

    fn each(&self, write: impl Fn(&Reading) -> String) -> String {
        let plain = write(&self.plain);
        match &self.special {
            Some((when, special)) => format!("CASE WHEN {when} THEN {} ELSE {plain} END", write(special)),
            None => plain,
        }
    }

    fn cast(&self, cast: &str, text: &str) -> String {
        let to = self.column_type.duckdb_type();
        match self.column_type {
            ColumnType::String => text.to_owned(),
            ColumnType::Timestamp => timestamp(cast, text),
            _ => format!("{cast}({text} AS {to})"),
        }
    }
}

/// Returns the condition that the SQL expression `value`, of another type, cannot be cast to `column_type`.
pub(crate) fn does_not_fit(column_type: ColumnType, value: &str) -> String {
    let to = column_type.duckdb_type();
    format!("({value} IS NOT NULL AND TRY_CAST({value} AS {to}) IS NULL)")
}

/// Explains to the caller why a text is no value of a type. `shown` is the text in quotes.
pub(crate) fn reason(column_type: ColumnType, is_lossy: bool, shown: &str) -> String {
    use ColumnType as T;
    let article = match column_type {
        T::Integer => "an",
        _ => "a",
    };
    let advice = match column_type {
        T::Decimal { .. } if is_lossy => {
            return format!(
                "{shown} has more digits after the point than {column_type} keeps; round it, or set 'rounding'"
            );
        }
        T::Float | T::Double if is_lossy => {
            return format!(
                "{shown} is more than a {column_type} holds exactly; send fewer digits, or change the column's type"
            );
        }
        T::Timestamp if is_lossy => {
            return format!(
                "{shown} has more digits of a second than a {column_type} keeps; send at most six after the point"
            );
        }
        T::Date if is_written_as(&["0000-00-00"], shown) => ": there is no such day",
        T::Timestamp if is_written_as(&TIMES, shown) => ": there is no such day or time",
        T::Timestamp => "; write it as 2026-01-31T12:00:00Z",
        T::Date => "; write it as 2026-01-31",
        T::Boolean => "; write true or false",
        T::Decimal { .. } | T::Float | T::Double if has_other_characters(shown) => {
            "; write it with digits and a point alone, as 1234.5"
        }
        T::Integer if is_beyond(shown, i32::MAX.into()) => ": it is out of range",
        T::Bigint if is_beyond(shown, i64::MAX as f64) => ": it is out of range",
        T::Integer | T::Bigint if shown.contains('.') && !has_other_characters(shown) => {
            "; round it, or set 'rounding'"
        }
        T::Decimal { .. } | T::Integer | T::Bigint if is_plain_number(shown) => ": it is out of range",
        _ => "",
    };
    format!("{shown} is not {article} {column_type}{advice}")
}

/// Forms of times, with zeros for all digits; a fraction or an offset may follow.
const TIMES: [&str; 3] = ["0000-00-00", "0000-00-00 00:00", "0000-00-00T00:00"];

/// Returns whether a quoted text starts with one of the forms (zeros stand for digits) and continues only
/// with characters of times.
fn is_written_as(forms: &[&str], shown: &str) -> bool {
    let form = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
    let written: String = shown.trim_matches('\'').chars().map(form).collect();
    let rests = forms.iter().filter_map(|form| written.strip_prefix(form));
    rests.into_iter().any(|rest| match forms {
        [_] => rest.is_empty(),
        _ => rest.chars().all(|letter| "0:.+-Z".contains(letter)),
    })
}

/// Returns whether a quoted text is a number that no rounding reduces to `most`.
fn is_beyond(shown: &str, most: f64) -> bool {
    let number: Option<f64> = shown.trim_matches('\'').parse().ok();
    number.is_some_and(|number| number.abs() + 0.5 >= most + 1.0)
}

/// Returns whether a quoted text is a number of digits, with at most a sign and a point.
fn is_plain_number(shown: &str) -> bool {
    let number = shown.trim_matches('\'').trim_start_matches(['+', '-']);
    let is_digits = |part: &str| part.chars().all(|letter| letter.is_ascii_digit());
    match number.split_once('.') {
        Some((whole, fraction)) => !whole.is_empty() && is_digits(whole) && is_digits(fraction),
        None => !number.is_empty() && is_digits(number),
    }
}

/// Returns whether a quoted text has characters that no number has, such as a currency sign or a comma.
fn has_other_characters(shown: &str) -> bool {
    shown
        .chars()
        .any(|character| !character.is_ascii_digit() && !"'+-.eE".contains(character))
}

fn has_exponent(text: &str) -> String {
    format!("(contains({text}, 'e') OR contains({text}, 'E'))")
}

/// Returns the condition that more than `count` characters follow the point of a text, and `pattern` occurs
/// in it. Cheap searches come first.
fn has_more_digits(count: u8, pattern: &str, text: &str) -> String {
    format!(
        "(contains({text}, '.') AND strlen({text}) - instr({text}, '.') > {count} AND regexp_matches({text}, {}))",
        sql::literal(pattern)
    )
}

fn decimal(scale: u8, rounding: Option<Rounding>, text: &str) -> (String, Option<String>) {
    match rounding {
        None => {
            let excess = format!(r"\.(?:[0-9]_?){{{scale}}}[0-9_]*[1-9]");
            (text.to_owned(), Some(has_more_digits(scale, &excess, text)))
        }
        Some(rounding) => (rounded(scale, rounding, text), None),
    }
}

/// Writes out a number with an exponent: DuckDB refuses some of these, and half a digit is not visible in
/// them.
fn with_exponent(scale: u8, rounding: Option<Rounding>, text: &str) -> Reading {
    let pattern = sql::literal(WITH_EXPONENT);
    let is_clear = format!("regexp_matches({text}, {pattern})");
    let part = |group: u8| format!("regexp_extract({text}, {pattern}, {group})");
    let digits = format!("{} || {}", part(2), part(3));
    let exponent = format!("TRY_CAST({} AS INTEGER)", part(4));
    let point = format!("100 + strlen({}) + {exponent}", part(2));
    let written_out = format!(
        "({} || left({ZEROS} || {digits} || {ZEROS}, {point}) || '.' || substr({ZEROS} || {digits}, {point} + 1))",
        part(1)
    );
    match rounding {
        None => Reading {
            text: written_out,
            is_lossy: Some(format!(
                "NOT {is_clear} OR (regexp_matches({digits}, '[1-9]') \
                 AND strlen(rtrim({digits}, '0')) - strlen({}) - {exponent} > {scale})",
                part(2)
            )),
        },
        Some(rounding) => Reading {
            text: rounded(scale, rounding, &written_out),
            is_lossy: Some(format!("NOT {is_clear}")),
        },
    }
}

/// Returns a text that DuckDB casts to the rounded value. DuckDB rounds a half away from zero.
fn rounded(scale: u8, rounding: Rounding, text: &str) -> String {
    let (pattern, replacement) = match (rounding, scale) {
        (Rounding::HalfUp, _) => return text.to_owned(),
        (Rounding::HalfEven, 0) => (r"^(\s*[+-]?(?:[0-9_]*[02468])?)\.5[0_]*\s*$".to_owned(), r"\1.0"),
        (Rounding::HalfEven, scale) => (
            format!(
                r"^(\s*[+-]?[0-9_]*\.(?:[0-9]_?){{{}}}[02468])5[0_]*\s*$",
                scale - 1
            ),
            r"\1",
        ),
    };
    format!(
        "regexp_replace({text}, {}, '{replacement}')",
        sql::literal(&pattern)
    )
}

/// Few integers contain a point or an exponent, so these are searched for first.
fn integer(rounding: Option<Rounding>, text: &str) -> (String, Option<String>) {
    let has_exponent = has_exponent(text);
    match rounding {
        None => {
            let is_lossy = format!(
                "(contains({text}, '.') OR {has_exponent}) AND regexp_matches({text}, '\\.[0_]*[1-9]|[eE]')"
            );
            (text.to_owned(), Some(is_lossy))
        }
        Some(rounding) => (rounded(0, rounding, text), Some(has_exponent)),
    }
}

/// Returns the condition that a number is too large, or an integer that is not exact. A number with a point
/// or an exponent is no integer: programs write the nearest floating point number like that, as in
/// `15000000000.0`.
fn floating(to: &str, digits: u32, exact_digits: u32, text: &str) -> String {
    let has_exponent = has_exponent(text);
    let integer = format!("TRY_CAST({text} AS HUGEINT)");
    format!(
        "(((strlen({text}) > {digits} OR {has_exponent}) AND isinf(TRY_CAST({text} AS {to}))) \
         OR (strlen({text}) > {exact_digits} AND regexp_full_match({text}, '\\s*[+-]?[0-9_]+\\s*') \
         AND coalesce({integer} <> TRY_CAST(TRY_CAST({text} AS {to}) AS HUGEINT), true)))"
    )
}

/// Casts a text that may end in an offset through TIMESTAMP WITH TIME ZONE, which takes twice as long, and
/// which accepts neither spaces at the ends nor zeros after the sixth digit of a second.
fn timestamp(cast: &str, text: &str) -> String {
    format!(
        "CASE WHEN regexp_matches({text}, '[+-][0-9][0-9](:?[0-9][0-9]){{0,2}}\\s*$') \
         THEN CAST({cast}(regexp_replace(trim({text}), '(\\.[0-9]{{6}})0+', '\\1') AS TIMESTAMPTZ) AS TIMESTAMP) \
         ELSE {cast}({text} AS TIMESTAMP) END"
    )
}

/// Returns the value of `column` in rows of an import that omits it, as SQL of its type; NULL without a
/// default. A loss in this conversion was accepted when the default was set.
pub(crate) fn default(column: &ManifestColumn, now: UtcTime) -> Result<String> {
    let to = column.column_type.duckdb_type();
    let default = column.definition().default_value().map_err(Error::internal)?;
    Ok(match default {
        Some(DefaultValue::Uuid) => format!("CAST(uuid() AS {to})"),
        Some(value) => match value.text_at(now) {
            Some(text) => Conversion {
                column_type: column.column_type,
                plain: Reading {
                    text: sql::literal(&text),
                    is_lossy: None,
                },
                special: None,
            }
            .value(),
            None => format!("CAST(NULL AS {to})"),
        },
        None => format!("CAST(NULL AS {to})"),
    })
}
