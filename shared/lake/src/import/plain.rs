//! Checks whether a CSV file has its values in plain forms, as nearly all files do: `-12`, `3.5`,
//! `2024-05-01`, `2024-05-01T10:00:00.5Z`.
//!
//! DuckDB converts fastest while it reads, but then it loses data silently (see
//! [`crate::import::conversion`]). It loses nothing if every value is plain. This check reads each byte once,
//! while DuckDB reads; it knows only the rules of RFC 4180, and any other syntax is not plain.

use std::io::{self, Read};

use memchr::{memchr, memchr3};

use crate::schema::exact::{are_digits, has_bits, is_date};
use crate::schema::types::ColumnType;

/// Bytes read at a time.
const PIECE_BYTES: usize = 1_024 * 1_024;
/// A longer row is not plain.
const MAX_ROW_BYTES: usize = 4 * PIECE_BYTES;

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
    /// Returns the plain form of a type; None for a type that DuckDB does not convert while it reads.
    pub(crate) fn for_column(column_type: ColumnType) -> Option<Self> {
        match column_type {
            ColumnType::String => Some(Self::Text),
            ColumnType::Integer | ColumnType::Bigint => Some(Self::Integer),
            ColumnType::Decimal { scale, .. } => Some(Self::Decimal { scale }),
            ColumnType::Float => Some(Self::Floating {
                bits: f32::MANTISSA_DIGITS,
            }),
            ColumnType::Double => Some(Self::Floating {
                bits: f64::MANTISSA_DIGITS,
            }),
            ColumnType::Date => Some(Self::Date),
            ColumnType::Timestamp => Some(Self::Timestamp),
            ColumnType::Boolean | ColumnType::Json => None,
        }
    }

    /// Returns whether an unquoted field has the form. An empty field is NULL and always fits.
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

/// Returns whether each row after the header row has one field for each form, in that form.
pub(crate) fn is_plain(mut csv: impl Read, forms: &[Form]) -> io::Result<bool> {
    let header = vec![Form::Text; forms.len()];
    let mut expected = header.as_slice();
    let mut bytes = vec![0; PIECE_BYTES];
    let mut filled = 0;
    loop {
        let read = csv.read(bytes.get_mut(filled..).unwrap_or_default())?;
        filled += read;
        let is_end = read == 0;
        let mut begin = 0;
        while begin < filled {
            let rest = bytes.get(begin..filled).unwrap_or_default();
            match row(rest, expected, is_end) {
                Row::Plain(length) => {
                    begin += length;
                    expected = forms;
                }
                Row::Unfinished => break,
                Row::NotPlain => return Ok(false),
            }
        }
        if is_end {
            return Ok(begin == filled);
        }
        bytes.copy_within(begin..filled, 0);
        filled -= begin;
        if filled == bytes.len() {
            if filled >= MAX_ROW_BYTES {
                return Ok(false);
            }
            bytes.resize(filled * 2, 0);
        }
    }
}

/// Content at the start of a buffer.
enum Row {
    /// A plain row with its length in bytes.
    Plain(usize),
    /// An incomplete row, unless the file ends here.
    Unfinished,
    NotPlain,
}

fn row(bytes: &[u8], forms: &[Form], is_end: bool) -> Row {
    let mut at = 0;
    for (number, form) in (1..).zip(forms) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match quoted(rest) {
            Field::Quoted(length) if *form == Form::Text => length,
            Field::Quoted(_) => return Row::NotPlain,
            Field::Unfinished => return Row::Unfinished,
            Field::Unquoted => match memchr3(b',', b'\n', b'"', rest) {
                Some(length) => length,
                None if is_end => rest.len(),
                None => return Row::Unfinished,
            },
        };
        let (mut field, after) = rest.split_at(length);
        let is_last = number == forms.len();
        let end = match after {
            [b',', ..] if !is_last => 1,
            [b'\n', ..] if is_last => 1,
            [b'\r', b'\n', ..] if is_last => 2,
            [] if is_last && is_end => 0,
            [] | [b'\r'] if !is_end => return Row::Unfinished,
            _ => return Row::NotPlain,
        };
        if is_last {
            field = field.strip_suffix(b"\r").unwrap_or(field);
        }
        if !field.starts_with(b"\"") && !form.is_met_by(field) {
            return Row::NotPlain;
        }
        at += length + end;
    }
    Row::Plain(at)
}

/// Kind of the field at the start of a buffer.
enum Field {
    Unquoted,
    /// In quotes, with its length in bytes including the quotes.
    Quoted(usize),
    /// In quotes that are not closed yet.
    Unfinished,
}

fn quoted(bytes: &[u8]) -> Field {
    if !bytes.starts_with(b"\"") {
        return Field::Unquoted;
    }
    let mut at = 1;
    while let Some(quote) = memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        at += quote + 1;
        match bytes.get(at) {
            Some(b'"') => at += 1,
            Some(_) => return Field::Quoted(at),
            // The next byte decides whether the quote is doubled; at the end of the file it is not.
            None => break,
        }
    }
    Field::Unfinished
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMS: [Form; 5] = [Form::Text, Form::Integer, CENTS, Form::Date, Form::Timestamp];
    const CENTS: Form = Form::Decimal { scale: 2 };
    const FLOAT: Form = Form::Floating { bits: 24 };
    const DOUBLE: Form = Form::Floating { bits: 53 };

    /// Returns a few bytes per read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    fn check(rows: &str, forms: &[Form]) -> bool {
        let text = format!("{}\n{rows}", vec!["name"; forms.len()].join(","));
        let whole = is_plain(text.as_bytes(), forms).unwrap();
        for step in [1, 2, 3, 7] {
            assert_eq!(
                is_plain(Slow(text.as_bytes(), step), forms).unwrap(),
                whole,
                "{rows} by {step}"
            );
        }
        whole
    }

    #[test]
    fn what_most_files_hold_is_plain() {
        for rows in [
            "",
            "a,1,1.5,2024-05-01,2024-05-01T10:00:00Z\n",
            "a,-1,-1,2024-05-01,2024-05-01 10:00:00.123456\r\n\"b,\"\"\nc\",,,,\r\n",
            ",,,,",
            "a,007,0.10,9999-99-99,2024-05-01T10:00:00",
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
            (Form::Integer, "\"1\""),
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
            (Form::Text, "a\"b"),
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
        for rows in ["1\n", "1,2,3\n", "1,2\n\n", "1,2\r3,4\n"] {
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

    #[test]
    fn a_row_may_be_longer_than_a_piece_but_not_by_much() {
        let row = |bytes: usize| format!("a\n\"{}\"\n1\n", "x\n".repeat(bytes / 2));
        assert!(is_plain(row(PIECE_BYTES * 3).as_bytes(), &[Form::Text]).unwrap());
        assert!(!is_plain(row(MAX_ROW_BYTES * 2).as_bytes(), &[Form::Text]).unwrap());
    }

    proptest! {
        #[test]
        fn where_a_piece_ends_changes_nothing(rows in "([a1\",\r\n-]{0,6}[,\n]){0,12}") {
            check(&rows, &[Form::Text, Form::Integer]);
            check(&rows, &[Form::Integer]);
        }
    }
}
