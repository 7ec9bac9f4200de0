//! Reads times of 96 bits in a Parquet file exactly.
//!
//! DuckDB reads them in microseconds: it cuts nanoseconds and wraps far years. So the footer is changed,
//! DuckDB reads their bytes, and a function makes text of these, as DuckDB writes a TIMESTAMP_NS.

use std::error::Error as StdError;
use std::sync::Arc;

use duckdb::arrow::array::{Array, BinaryArray, RecordBatch, StringArray};
use duckdb::arrow::datatypes::DataType;
use duckdb::vscalar::{ArrowFunctionSignature, VArrowScalar};
use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use jiff::fmt::temporal::DateTimePrinter;

pub(crate) const NAME: &str = "int96_text";
/// Begins a text of a time that is outside of the years 0001 to 9999.
const NO_YEAR: &str = "Julian day ";
/// Characters of a time with six digits of a second; a longer text has more digits.
const MICROSECONDS_LENGTH: usize = "2024-03-31 01:30:00.123456".len();
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
const JULIAN_DAY_OF_EPOCH: i64 = 2_440_588;
const SECONDS_OF_DAY: i64 = 86_400;
const NANOSECONDS: i64 = 1_000_000_000;

/// Returns SQL for the text of a time whose bytes are `value`.
pub(crate) fn text(value: &str) -> String {
    format!("{NAME}({value})")
}

/// Returns a condition: the time is outside of the years 0001 to 9999.
pub(crate) fn is_no_year(value: &str) -> String {
    format!("starts_with({}, '{NO_YEAR}')", text(value))
}

/// Returns a condition: the time is not in whole microseconds.
pub(crate) fn has_nanoseconds(value: &str) -> String {
    format!("length({}) > {MICROSECONDS_LENGTH}", text(value))
}

/// The function: nanoseconds of the day in 8 bytes, and the Julian day in 4, the lowest byte first.
pub(crate) struct Int96Text;

impl VArrowScalar for Int96Text {
    type State = ();

    fn invoke((): &(), input: RecordBatch) -> Result<Arc<dyn Array>, Box<dyn StdError>> {
        let values = input.column(0).as_any().downcast_ref::<BinaryArray>();
        let values = values.ok_or("the function takes bytes")?;
        let texts = values.iter().map(|value| value.map(time_text).transpose());
        Ok(Arc::new(texts.collect::<Result<StringArray, _>>()?))
    }

    fn signatures() -> Vec<ArrowFunctionSignature> {
        vec![ArrowFunctionSignature::exact(
            vec![DataType::Binary],
            DataType::Utf8,
        )]
    }
}

/// Fails for other bytes than 12.
fn time_text(bytes: &[u8]) -> Result<String, &'static str> {
    let parts = bytes.split_first_chunk().and_then(|(nanoseconds, day)| {
        let day = <[u8; 4]>::try_from(day).ok()?;
        Some((i64::from_le_bytes(*nanoseconds), i32::from_le_bytes(day)))
    });
    let (nanoseconds, day) = parts.ok_or("a time of 96 bits has another length")?;
    let seconds =
        (i64::from(day) - JULIAN_DAY_OF_EPOCH) * SECONDS_OF_DAY + nanoseconds.div_euclid(NANOSECONDS);
    let since_epoch =
        SignedDuration::from_secs(seconds) + SignedDuration::from_nanos(nanoseconds.rem_euclid(NANOSECONDS));
    let time = EPOCH.checked_add(since_epoch).ok();
    Ok(match time.filter(|time| time.year() >= 1) {
        Some(time) => DateTimePrinter::new().separator(b' ').datetime_to_string(&time),
        None => format!("{NO_YEAR}{day} and {nanoseconds} ns"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_their_time() {
        let day = 86_400_000_000_000_i64;
        for (nanoseconds, julian_day, expected) in [
            (0, 2_440_588, "1970-01-01 00:00:00"),
            (1_500_000_000, 2_440_588, "1970-01-01 00:00:01.5"),
            (80_000_123_456_789, 2_460_263, "2023-11-14 22:13:20.123456789"),
            (80_000_123_456_700, 2_460_263, "2023-11-14 22:13:20.1234567"),
            (-1, 2_440_588, "1969-12-31 23:59:59.999999999"),
            (day, 2_440_588, "1970-01-02 00:00:00"),
            (day - 1, 5_373_484, "9999-12-31 23:59:59.999999999"),
            (0, 1_721_426, "0001-01-01 00:00:00"),
            (0, 5_373_485, "Julian day 5373485 and 0 ns"),
            (-1, 1_721_426, "Julian day 1721426 and -1 ns"),
            (
                i64::MAX,
                i32::MAX,
                "Julian day 2147483647 and 9223372036854775807 ns",
            ),
            (
                i64::MIN,
                i32::MIN,
                "Julian day -2147483648 and -9223372036854775808 ns",
            ),
        ] {
            let bytes = [&nanoseconds.to_le_bytes()[..], &i32::to_le_bytes(julian_day)].concat();
            assert_eq!(time_text(&bytes).as_deref(), Ok(expected));
        }
        assert!(time_text(&[0; 8]).is_err());
        assert!(time_text(&[0; 13]).is_err());
    }
}
