//! Parses and prints the values of conditions.

use std::fmt::{self, Display, Formatter};

use platform::UtcTime;

use crate::status::RunStatus;

pub const STATUSES: [&str; 7] = [
    RunStatus::Running.as_str(),
    RunStatus::Completed.as_str(),
    RunStatus::Failed.as_str(),
    RunStatus::Canceled.as_str(),
    RunStatus::Terminated.as_str(),
    RunStatus::ContinuedAsNew.as_str(),
    RunStatus::TimedOut.as_str(),
];

/// Value that a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Status(&'static str),
    /// Milliseconds since 1970.
    Time(i64),
    /// Milliseconds.
    Duration(i64),
}

impl Display for Value {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(&quoted(text)),
            Self::Status(status) => write!(formatter, "'{status}'"),
            Self::Time(milliseconds) => {
                // The number comes from a parsed time, so the conversion cannot fail.
                let time = UtcTime::from_millis(*milliseconds).unwrap_or(UtcTime::EPOCH);
                write!(formatter, "'{time}'")
            }
            Self::Duration(milliseconds) => {
                let sign = if *milliseconds < 0 { "-" } else { "" };
                let (seconds, fraction) = (
                    milliseconds.unsigned_abs() / 1_000,
                    milliseconds.unsigned_abs() % 1_000,
                );
                write!(formatter, "{sign}{seconds}")?;
                if fraction > 0 {
                    write!(formatter, ".{fraction:03}")?;
                }
                Ok(())
            }
        }
    }
}

/// Returns the text as a quoted literal.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the status with this name, in any case, also in Temporal's spelling without underscores.
pub(super) fn status(name: &str) -> Option<&'static str> {
    STATUSES.into_iter().find(|status| {
        status.eq_ignore_ascii_case(name) || status.replace('_', "").eq_ignore_ascii_case(name)
    })
}

/// Returns milliseconds since 1970.
pub(super) fn time(text: &str) -> Option<i64> {
    text.parse::<UtcTime>().ok().map(UtcTime::as_millis)
}

const SECOND: i128 = 1_000_000_000;

/// Returns milliseconds from a number of seconds.
pub(super) fn seconds(number: &str) -> Option<i64> {
    let (sign, number) = signed(number);
    milliseconds(sign, nanoseconds(number, SECOND)?)
}

/// Returns milliseconds from a duration in Go's format: numbers with units, like `1h30m` or `1.5s`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = signed(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let is_number = |char: char| char.is_ascii_digit() || char == '.';
    let mut total = 0_i128;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|char| !is_number(char))?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let unit = match unit {
            "h" => 3_600 * SECOND,
            "m" => 60 * SECOND,
            "s" => SECOND,
            "ms" => 1_000_000,
            // The micro sign and the Greek letter mu look alike.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        total = total.checked_add(nanoseconds(number, unit)?)?;
        rest = after;
    }
    milliseconds(sign, total)
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Multiplies a number without sign and exponent by the unit. Exact, unlike floating-point arithmetic.
fn nanoseconds(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = whole.chars().chain(fraction.chars()).peekable();
    digits.peek()?;
    if !digits.all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit)?;
    let mut share = unit;
    for digit in fraction.chars().filter_map(|digit| digit.to_digit(10)) {
        share /= 10;
        total = total.checked_add(i128::from(digit) * share)?;
    }
    Some(total)
}

fn milliseconds(sign: i128, nanoseconds: i128) -> Option<i64> {
    i64::try_from(sign * (nanoseconds / 1_000_000)).ok()
}
