//! Lets DuckDB convert a CSV file that has its values in plain forms, as nearly all files do: `-12`, `3.5`,
//! `2024-05-01`, `2024-05-01T10:00:00.5Z`.
//!
//! DuckDB converts fastest while it reads, but then it loses data silently (see
//! [`crate::import::conversion`] and [`crate::import::records`]). It loses nothing if every value is plain,
//! which is checked while DuckDB reads.

use std::io::Read;
use std::path::Path;
use std::thread;

use platform::Result;

use crate::child::context::Context;
use crate::import::compression::Compression;
use crate::import::records::{Fault, Records};
use crate::import::segment_file::CopyError;
use crate::import::source::Source;
use crate::import::staging::{self, Relation, StageOutcome, Target};
use crate::schema::exact::{are_digits, has_bits, is_date};
use crate::schema::manifest::ManifestColumn;
use crate::schema::types::ColumnType;
use crate::statement::messages::{self, Cause};
use crate::tables::sql;

/// The plain form of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    /// An optional minus and up to 18 digits.
    Integer,
    /// An optional minus and up to 30 characters: digits, with at most one point between them. Digits after
    /// the point beyond `scale` are zeros.
    Decimal {
        scale: u8,
    },
    /// Like `Decimal`, with any digits after the point. An integer has at most `bits` significant bits.
    Floating {
        bits: u32,
    },
    /// `2024-05-01`.
    Date,
    /// `2024-05-01T10:00:00`, or with a space instead of `T`; with up to six decimals, and with or without
    /// `Z`.
    Timestamp,
}

impl Form {
    /// Returns the plain form of a type; that of a type which DuckDB does not convert while it reads is text.
    fn of(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::String | ColumnType::Boolean | ColumnType::Json => Self::Text,
            ColumnType::Integer | ColumnType::Bigint => Self::Integer,
            ColumnType::Decimal { scale, .. } => Self::Decimal { scale },
            ColumnType::Float => Self::Floating {
                bits: f32::MANTISSA_DIGITS,
            },
            ColumnType::Double => Self::Floating {
                bits: f64::MANTISSA_DIGITS,
            },
            ColumnType::Date => Self::Date,
            ColumnType::Timestamp => Self::Timestamp,
        }
    }

    /// Returns whether a field has the form. An empty field is NULL and always fits.
    fn is_met_by(self, field: &[u8]) -> bool {
        if field.is_empty() {
            return true;
        }
        let digits = field.strip_prefix(b"-").unwrap_or(field);
        match self {
            Self::Text => true,
            Self::Integer => digits.len() <= 18 && are_digits(digits),
            Self::Decimal { scale } => number(digits).is_some_and(|(_, fraction)| {
                let excess = fraction.get(usize::from(scale)..).unwrap_or_default();
                excess.iter().all(|digit| *digit == b'0')
            }),
            Self::Floating { bits } => number(digits).is_some_and(|(whole, _)| {
                // A number with a point is no integer. Every integer of up to 7 or 15 digits is exact.
                let is_short = whole.len() <= if bits < 53 { 7 } else { 15 };
                is_short || digits.contains(&b'.') || has_bits(whole, bits)
            }),
            Self::Date => is_date(field),
            Self::Timestamp => is_timestamp(field),
        }
    }
}

/// Splits a number of up to 30 characters into the digits before and after the point.
fn number(digits: &[u8]) -> Option<(&[u8], &[u8])> {
    if digits.len() > 30 {
        return None;
    }
    // A second point stays in the second part, which is then refused.
    match digits.iter().position(|byte| *byte == b'.') {
        None => are_digits(digits).then_some((digits, &[])),
        Some(point) => {
            let (whole, fraction) = (digits.get(..point)?, digits.get(point + 1..)?);
            (are_digits(whole) && are_digits(fraction)).then_some((whole, fraction))
        }
    }
}

fn is_timestamp(text: &[u8]) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else {
        return false;
    };
    match time {
        [b'T' | b' ', a, b, b':', c, d, b':', e, f, rest @ ..] => {
            let is_rest = match rest.strip_suffix(b"Z").unwrap_or(rest) {
                [] => true,
                [b'.', digits @ ..] => digits.len() <= 6 && are_digits(digits),
                _ => false,
            };
            is_rest && is_date(date) && are_digits(&[*a, *b, *c, *d, *e, *f])
        }
        _ => false,
    }
}

/// Lets DuckDB convert the values of a CSV file while it reads them, which takes half the time. `columns` has
/// the table's column of each field, and `sources` the fields of the columns. Returns None if a value is not
/// plain or anything is wrong with the file; what was written then is worthless.
pub(crate) fn write(
    context: &Context,
    target: &Target,
    csv: (&Path, Compression),
    columns: &[&ManifestColumn],
    sources: &[Source],
) -> Result<Option<StageOutcome>> {
    let forms: Vec<_> = columns
        .iter()
        .map(|column| Form::of(column.column_type))
        .collect();
    let relation = Relation {
        sql: relation(csv, columns)?,
        flaw: None,
    };
    let sources = target.columns.iter().zip(sources);
    let sources: Vec<_> = sources
        .map(|(column, source)| match source {
            Source::Text(value) if Form::of(column.column_type) != Form::Text => Source::Value(value.clone()),
            source => source.clone(),
        })
        .collect();
    let interrupt = context.connection.interrupt_handle();
    let (copied, is_plain) = thread::scope(|scope| {
        let check = scope.spawn(move || {
            let is_plain = csv
                .1
                .open(csv.0)
                .is_ok_and(|csv| matches!(is_plain(csv, &forms), Ok(true)));
            if !is_plain {
                interrupt.interrupt();
            }
            is_plain
        });
        let copied = staging::copy(context, target, &sources, &relation);
        (copied, matches!(check.join(), Ok(true)))
    });
    match copied {
        _ if !is_plain => Ok(None),
        Err(CopyError::Duck(error)) if messages::cause(&messages::text(&error)) == Cause::Statement => {
            Ok(None)
        }
        copied => staging::finish(context, target, &sources, &relation, copied).map(Some),
    }
}

/// Returns the file as a relation with the columns `c0`, `c1` and so on.
fn relation((path, compression): (&Path, Compression), columns: &[&ManifestColumn]) -> Result<String> {
    let columns = columns.iter().enumerate().map(|(index, column)| {
        let duckdb_type = match Form::of(column.column_type) {
            Form::Text => "VARCHAR".to_owned(),
            _ => column.column_type.duckdb_type(),
        };
        format!("'c{index}': '{duckdb_type}'")
    });
    Ok(format!(
        "read_csv({}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', nullstr = '', \
         allow_quoted_nulls = false, compression = '{}', columns = {{{}}})",
        sql::path(path)?,
        compression.name(),
        columns.collect::<Vec<_>>().join(", ")
    ))
}

/// Returns whether each row after the header row has one field for each form, in that form.
fn is_plain(csv: impl Read, forms: &[Form]) -> Result<bool, Fault> {
    let mut records = Records::new(csv);
    let _ = records.header()?;
    while let Some(record) = records.next()? {
        let mut fields = record.bytes().zip(forms);
        let is_plain = fields.all(|((field, is_quoted), form)| match form {
            Form::Text => true,
            // An empty text in quotes is not NULL.
            form => form.is_met_by(field) && !(is_quoted && field.is_empty()),
        });
        if !is_plain || record.fields() != forms.len() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [Form; 5] = [Form::Text, Form::Integer, CENTS, Form::Date, Form::Timestamp];
    const CENTS: Form = Form::Decimal { scale: 2 };
    const FLOAT: Form = Form::Floating { bits: 24 };
    const DOUBLE: Form = Form::Floating { bits: 53 };

    fn check(rows: &str, forms: &[Form]) -> bool {
        let end = if rows.contains('\r') { "\r\n" } else { "\n" };
        let text = format!("{}{end}{rows}", vec!["name"; forms.len()].join(","));
        matches!(is_plain(text.as_bytes(), forms), Ok(true))
    }

    #[test]
    fn what_most_files_hold_is_plain() {
        for rows in [
            "",
            "a,1,1.5,2024-05-01,2024-05-01T10:00:00Z\n",
            "a,-1,-1,2024-05-01,2024-05-01 10:00:00.123456\r\n\"b,\"\"\nc\",,,,\r\n\r\n",
            ",,,,",
            "a,007,0.10,9999-99-99,2024-05-01T10:00:00",
            "\"a\",\"1\",\"1.5\",\"2024-05-01\",\"2024-05-01T10:00:00Z\"",
        ] {
            assert!(check(rows, &FORMS), "{rows}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        for (form, field) in [
            (Form::Integer, "1.0"),
            (Form::Integer, "1e3"),
            (Form::Integer, " 1"),
            (Form::Integer, "+1"),
            (Form::Integer, "-"),
            (Form::Integer, "\"\""),
            (Form::Integer, "\" 1\""),
            (Form::Integer, "1234567890123456789"),
            (CENTS, "1.005"),
            (CENTS, "1."),
            (CENTS, ".5"),
            (CENTS, "1e5"),
            (CENTS, "1.2.3"),
            (CENTS, "nan"),
            (Form::Date, "2024-5-1"),
            (Form::Date, "2024-05-01 10:00:00"),
            (Form::Date, "-2024-05-01"),
            (Form::Timestamp, "2024-05-01"),
            (Form::Timestamp, "2024-05-01T10:00:00+02:00"),
            (Form::Timestamp, "2024-05-01T10:00:00."),
            (Form::Timestamp, "2024-05-01T10:00:00.1234567"),
            (Form::Text, "\"a\"b"),
            (Form::Text, "\"a"),
        ] {
            assert!(
                !check(&format!("x,{field}\n"), &[Form::Text, form]),
                "{form:?} {field}"
            );
            assert!(
                !check(&format!("{field},x\n"), &[form, Form::Text]),
                "{form:?} {field}"
            );
        }
        for rows in ["1\n", "1,2,3\n", "1,2\r3,4\n"] {
            assert!(!check(rows, &[Form::Text, Form::Integer]), "{rows:?}");
        }
    }

    #[test]
    fn a_number_is_plain_where_its_type_keeps_it() {
        for (form, field, expected) in [
            (CENTS, "1.50000", true),
            (CENTS, "-1.501", false),
            (Form::Decimal { scale: 0 }, "1.0", true),
            (Form::Decimal { scale: 0 }, "1.5", false),
            (FLOAT, "16777216", true),
            (FLOAT, "16777217", false),
            (FLOAT, "-16777217.00", true),
            (FLOAT, "16777217.5", true),
            (FLOAT, "16777218", true),
            (FLOAT, "0.123456789123456789", true),
            (DOUBLE, "9007199254740992", true),
            (DOUBLE, "9007199254740993", false),
            (DOUBLE, "-9007199254740993.0", true),
            (DOUBLE, "18014398509481984", true),
            (DOUBLE, "0000000000000000000000", true),
        ] {
            assert_eq!(
                check(&format!("{field}\n"), &[form]),
                expected,
                "{form:?} {field}"
            );
        }
    }
}
