//! Writes times of every unit, with all their digits.

use duckdb::arrow::array::types::{
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use duckdb::arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use duckdb::arrow::datatypes::TimeUnit;
use platform::Result;

use crate::query::calendar;
use crate::query::cells::{Write, cast};

/// Writes texts that need no escapes. If `write` returns false, it wrote nothing and the value is null.
pub(super) fn texts<'a, T: ArrowPrimitiveType>(
    array: &'a ArrayRef,
    write: impl Fn(T::Native, &mut Vec<u8>) -> bool + 'a,
) -> Result<Write<'a>> {
    let array = cast::<PrimitiveArray<T>>(array)?;
    Ok(Box::new(move |row, out| {
        out.push(b'"');
        if write(array.value(row), out) {
            out.push(b'"');
        } else {
            out.pop();
            out.extend_from_slice(b"null");
        }
    }))
}

pub(super) fn timestamps(array: &ArrayRef, unit: TimeUnit) -> Result<Write<'_>> {
    fn scaled(time: i64, factor: i64, out: &mut Vec<u8>) -> bool {
        let micros = time.checked_mul(factor);
        micros.is_some_and(|micros| calendar::timestamp(micros, out))
    }
    match unit {
        TimeUnit::Second => {
            texts::<TimestampSecondType>(array, |seconds, out| scaled(seconds, 1_000_000, out))
        }
        TimeUnit::Millisecond => {
            texts::<TimestampMillisecondType>(array, |millis, out| scaled(millis, 1_000, out))
        }
        TimeUnit::Microsecond => texts::<TimestampMicrosecondType>(array, calendar::timestamp),
        TimeUnit::Nanosecond => texts::<TimestampNanosecondType>(array, |nanos, out| {
            if nanos == i64::MAX || nanos == -i64::MAX || !calendar::timestamp(nanos.div_euclid(1_000), out) {
                return false;
            }
            if nanos.rem_euclid(1_000) > 0 {
                out.pop();
                further_digits(nanos, out);
                out.push(b'Z');
            }
            true
        }),
    }
}

/// Writes the digits of a second after the sixth, unless these are zeros.
pub(super) fn further_digits(nanos: i64, out: &mut Vec<u8>) {
    let further = nanos.rem_euclid(1_000);
    if further == 0 {
        return;
    }
    // Whole milliseconds were written without zeros for the microseconds.
    if nanos.rem_euclid(1_000_000) < 1_000 {
        out.extend_from_slice(b"000");
    }
    out.extend_from_slice(format!("{further:03}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_keep_every_digit() {
        for (nanos, expected) in [
            (0, "00:00:00.000"),
            (1, "00:00:00.000000001"),
            (1_000, "00:00:00.000001"),
            (123_456_789, "00:00:00.123456789"),
            (123_000_007, "00:00:00.123000007"),
        ] {
            let mut out = Vec::new();
            calendar::time(nanos / 1_000, &mut out);
            further_digits(nanos, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
