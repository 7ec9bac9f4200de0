//! Tells whether a text is kept exactly in a type (`docs/values.md`).

use crate::schema::types::ColumnType;

/// Returns whether the grammar of imports keeps a text that fits the type, and keeps it exactly.
pub(crate) fn is_exact(text: &str, column_type: ColumnType) -> bool {
    let is_exact_number = |bits| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        // A number with a point or an exponent is no integer.
        digits.bytes().any(|byte| !byte.is_ascii_digit()) || has_bits(digits.as_bytes(), bits)
    };
    match column_type {
        ColumnType::Float => is_exact_number(f32::MANTISSA_DIGITS),
        ColumnType::Double => is_exact_number(f64::MANTISSA_DIGITS),
        ColumnType::Date => is_date(text.as_bytes()),
        ColumnType::Timestamp => is_time(text),
        _ => true,
    }
}

/// Returns whether a text is a day, and perhaps a time of it in whole microseconds and an offset.
fn is_time(text: &str) -> bool {
    let Some((day, time)) = text.split_at_checked("2026-01-02".len()) else {
        return false;
    };
    let (clock, offset) = time.split_at(time.find(['Z', '+', '-']).unwrap_or(time.len()));
    let (clock, decimals) = clock
        .split_once('.')
        .map_or((clock, None), |(clock, decimals)| (clock, Some(decimals)));
    let form = |text: &str| -> String {
        let zero = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
        text.chars().map(zero).collect()
    };
    let clock_form = form(clock).replace('T', " ");
    let is_clock = match clock_form.as_str() {
        "" => time.is_empty(),
        " 00:00" => decimals.is_none(),
        // A leap second is no time of DuckDB.
        " 00:00:00" => !clock.ends_with(":60"),
        _ => false,
    };
    let are_decimals = decimals.is_none_or(|decimals| {
        let beyond = decimals.get(6..).unwrap_or_default();
        form(decimals).trim_matches('0').is_empty() && beyond.bytes().all(|digit| digit == b'0')
    });
    let hours = offset.get(1..3).and_then(|hours| hours.parse::<u8>().ok());
    let is_offset = match form(offset).replace('-', "+").as_str() {
        "" | "Z" => true,
        "+00" | "+0000" | "+00:00" => hours.is_some_and(|hours| hours <= 14),
        _ => false,
    };
    is_date(day.as_bytes()) && is_clock && are_decimals && is_offset
}

/// Returns whether an integer has at most `bits` bits between its first and last set bit.
pub(crate) fn has_bits(digits: &[u8], bits: u32) -> bool {
    let text = std::str::from_utf8(digits).ok();
    let integer = text.and_then(|text| text.parse::<u128>().ok());
    integer.is_some_and(|integer| {
        integer == 0 || u128::BITS - integer.leading_zeros() - integer.trailing_zeros() <= bits
    })
}

pub(crate) fn are_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Returns whether a text is a day as in `2026-01-31`; the month may be any two digits.
pub(crate) fn is_date(text: &[u8]) -> bool {
    match text {
        [a, b, c, d, b'-', e, f, b'-', g, h] => are_digits(&[*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => false,
    }
}
