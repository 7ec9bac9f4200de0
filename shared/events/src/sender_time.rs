//! Reads times in the forms that senders have.

use platform::UtcTime;
use serde_json::Value;

/// Least number of seconds that is a time, of the year 1973: smaller ones are rather a year or a day.
const FIRST_SECONDS: i128 = 100_000_000;
/// Numbers from this one on are milliseconds since the Unix epoch, not seconds: seconds reach it in the year
/// 5138. So it is with the next ones.
const FIRST_MILLIS: i128 = 100_000_000_000;
const FIRST_MICROS: i128 = 1_000 * FIRST_MILLIS;
const FIRST_NANOS: i128 = 1_000 * FIRST_MICROS;
const END_OF_NANOS: i128 = 1_000 * FIRST_NANOS;

/// Returns the time that a value means; None where it is no time of the years 1 to 9999.
pub(crate) fn as_time(value: &Value) -> Option<UtcTime> {
    let time = match value {
        Value::String(text) => {
            let text = text.trim();
            let time = iso(text).or_else(|| UtcTime::from_rfc2822(text));
            time.or_else(|| of_epoch(text))
        }
        Value::Number(number) => of_epoch(&number.to_string()),
        _ => None,
    };
    time.filter(|time| time.is_in_common_era())
}

/// Reads ISO 8601, and its forms with a blank before the offset or with `UTC` for `Z`.
fn iso(text: &str) -> Option<UtcTime> {
    // An offset has 14 hours at most; a day is none.
    let offset = text
        .len()
        .checked_sub("+24:00".len())
        .and_then(|at| text.get(at..));
    let hours = offset.filter(|offset| offset.starts_with(['+', '-']) && offset.get(3..4) == Some(":"));
    let hours: Option<u8> = hours.and_then(|offset| offset.get(1..3)?.parse().ok());
    if hours.is_some_and(|hours| hours > 14) {
        return None;
    }
    let parsed = text.parse().ok();
    parsed.or_else(|| {
        let (time, offset) = text.rsplit_once(' ')?;
        match offset {
            "UTC" => format!("{time}Z").parse().ok(),
            offset if offset.starts_with(['+', '-']) => format!("{time}{offset}").parse().ok(),
            _ => None,
        }
    })
}

/// Returns the time of a decimal number of seconds, milliseconds, microseconds or nanoseconds since the Unix
/// epoch. None for digits that are rather a day of the calendar, as `20240310` or `20240310123000`.
fn of_epoch(text: &str) -> Option<UtcTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let is_plain = fraction.bytes().all(|digit| digit.is_ascii_digit());
    let number: i128 = whole.parse().ok().filter(|_| is_plain)?;
    let fraction: i128 = thousandths.parse().ok()?;
    // Whole seconds before 1970 have no fraction in practice.
    let fraction = if whole.starts_with('-') {
        -fraction
    } else {
        fraction
    };
    let millis = match number.abs() {
        size if size < FIRST_SECONDS => return None,
        _ if is_calendar(whole) => return None,
        size if size < FIRST_MILLIS => number * 1_000 + fraction,
        size if size < FIRST_MICROS => number,
        size if size < FIRST_NANOS => number.div_euclid(1_000),
        size if size < END_OF_NANOS => number.div_euclid(1_000_000),
        _ => return None,
    };
    UtcTime::from_millis(i64::try_from(millis).ok()?)
}

/// Whether digits are a day of 1900 to 2100 with hours and minutes, and perhaps seconds. Eight digits are no
/// time anyway.
fn is_calendar(digits: &str) -> bool {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("00");
    let is_within = |part: &str, least: u32, most: u32| {
        part.parse()
            .is_ok_and(|number: u32| (least..=most).contains(&number))
    };
    matches!(digits.len(), 12 | 14)
        && is_within(part(0, 4), 1_900, 2_100)
        && is_within(part(4, 6), 1, 12)
        && is_within(part(6, 8), 1, 31)
        && is_within(part(8, 10), 0, 23)
        && is_within(part(10, 12), 0, 59)
        && is_within(part(12, 14), 0, 60)
}
