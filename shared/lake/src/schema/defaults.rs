//! Parses column defaults with a strict grammar, so that text of a caller never runs as SQL.
//!
//! A default is a literal (`'text'`, `12.5`, `true`, `NULL`, `DATE '2026-01-02'`, `TIMESTAMP '2026-01-02
//! 03:04:05'`) or one of `current_timestamp`, `current_date` and `uuid()`. DuckDB receives only text that is
//! written anew from the parsed value.

use jiff::civil;
use platform::clock::UtcTime;

use crate::schema::exact::is_exact;
use crate::schema::types::ColumnType;

/// A parsed default that fits its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    Null,
    /// A constant, as text that converts to the column's type.
    Constant(String),
    /// The time of the import.
    CurrentTimestamp,
    /// The day of the import, in UTC.
    CurrentDate,
    /// A new UUID for each row.
    Uuid,
}

impl DefaultValue {
    /// Parses `text` and checks that it fits `column_type`, and that an import keeps it exactly, by
    /// `docs/values.md`. The error completes a sentence that starts with the field's path.
    pub fn parse(text: &str, column_type: ColumnType) -> Result<Self, String> {
        let trimmed = text.trim();
        let parsed = match trimmed.to_ascii_lowercase().as_str() {
            "null" => return Ok(Self::Null),
            "current_timestamp" | "current_timestamp()" => Self::CurrentTimestamp,
            "current_date" | "current_date()" => Self::CurrentDate,
            "uuid()" => Self::Uuid,
            "true" | "false" => Self::Constant(trimmed.to_ascii_lowercase()),
            lower if is_number(lower) => Self::Constant(lower.to_owned()),
            lower => {
                let quoted = lower
                    .strip_prefix("timestamp")
                    .or_else(|| lower.strip_prefix("date"))
                    .map_or(trimmed, |rest| {
                        trimmed.get(trimmed.len() - rest.len()..).unwrap_or(trimmed)
                    })
                    .trim_start();
                Self::Constant(string_literal(quoted).ok_or_else(|| {
                    format!(
                        "must be a literal ('text', 12.5, true, NULL, DATE '2026-01-02', TIMESTAMP '2026-01-02 03:04:05') \
                         or one of current_timestamp, current_date and uuid(), not {trimmed}"
                    )
                })?)
            }
        };
        if !parsed.fits(column_type) {
            return Err(format!(
                "({trimmed}) does not convert to the column's type, {column_type}"
            ));
        }
        match parsed {
            Self::Constant(text) if !is_exact(&text, column_type) => Err(format!(
                "({text}) does not convert to the column's type, {column_type}, without loss"
            )),
            parsed => Ok(parsed),
        }
    }

    /// Returns the value at `now` as text that converts to the column's type; None for NULL and for
    /// [`Self::Uuid`], which has another value in each row.
    pub fn text_at(&self, now: UtcTime) -> Option<String> {
        match self {
            Self::Null | Self::Uuid => None,
            Self::Constant(text) => Some(text.clone()),
            Self::CurrentTimestamp => Some(now.to_string()),
            Self::CurrentDate => Some(now.to_string().chars().take("2026-01-02".len()).collect()),
        }
    }

    /// Returns the value that existing rows get in a column added at `now`, as text that DuckDB casts to
    /// `column_type` without loss; None as for [`Self::text_at`].
    pub fn initial_text(&self, now: UtcTime, column_type: ColumnType) -> Option<String> {
        let text = self.text_at(now)?;
        match column_type {
            // The cast would drop the time's UTC offset.
            ColumnType::Timestamp => Some(match text.parse::<jiff::Timestamp>() {
                Ok(time) => time.to_zoned(jiff::tz::TimeZone::UTC).datetime().to_string(),
                Err(_) => text,
            }),
            _ => Some(text),
        }
    }

    fn fits(&self, column_type: ColumnType) -> bool {
        match self {
            Self::Null => true,
            Self::Uuid => column_type == ColumnType::String,
            Self::CurrentTimestamp => matches!(column_type, ColumnType::Timestamp | ColumnType::String),
            Self::CurrentDate => matches!(
                column_type,
                ColumnType::Date | ColumnType::Timestamp | ColumnType::String
            ),
            Self::Constant(text) => constant_fits(text, column_type),
        }
    }
}

/// Returns whether a text converts to a type without loss.
pub(crate) fn constant_fits(text: &str, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::String => true,
        ColumnType::Integer => text.parse::<i32>().is_ok(),
        ColumnType::Bigint => text.parse::<i64>().is_ok(),
        ColumnType::Float => text.parse::<f32>().is_ok_and(f32::is_finite),
        ColumnType::Double => text.parse::<f64>().is_ok_and(f64::is_finite),
        ColumnType::Decimal { precision, scale } => decimal_fits(text, precision, scale),
        ColumnType::Boolean => matches!(text.to_ascii_lowercase().as_str(), "true" | "false"),
        ColumnType::Date => text.parse::<civil::Date>().is_ok() && text.len() == "2026-01-02".len(),
        ColumnType::Timestamp => {
            // The last hours of the year 9999 are beyond the type of an instant.
            let local = text.strip_suffix('Z').unwrap_or(text);
            text.parse::<jiff::Timestamp>().is_ok()
                || local.replacen(' ', "T", 1).parse::<civil::DateTime>().is_ok()
        }
        ColumnType::Json => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
    }
}

/// Returns whether `text` is a plain decimal number that loses no digit in `DECIMAL(precision, scale)`.
fn decimal_fits(text: &str, precision: u8, scale: u8) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    is_number(text)
        && !digits.contains('e')
        && whole.trim_start_matches('0').len() <= usize::from(precision - scale)
        && fraction.trim_end_matches('0').len() <= usize::from(scale)
}

/// Returns whether `lower` is a number: a sign, digits, a point and digits, an exponent.
fn is_number(lower: &str) -> bool {
    let unsigned = lower.strip_prefix(['-', '+']).unwrap_or(lower);
    let (mantissa, exponent) = unsigned
        .split_once('e')
        .map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent_is_good = exponent.is_none_or(|text| {
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        !text.is_empty() && digits(text)
    });
    !whole.is_empty() && !fraction.is_empty() && digits(whole) && digits(fraction) && exponent_is_good
}

/// Returns the text inside `'…'` with doubled quotes undone; None if `text` is not exactly one such literal.
fn string_literal(text: &str) -> Option<String> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let undoubled = inner.replace("''", "\u{0}");
    (!undoubled.contains('\'') && !inner.contains('\u{0}')).then(|| undoubled.replace('\u{0}', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, column_type: &str) -> Result<DefaultValue, String> {
        DefaultValue::parse(text, column_type.parse().unwrap())
    }

    #[test]
    fn literals_that_fit_are_taken() {
        for (text, column_type, expected) in [
            ("'it''s'", "STRING", "it's"),
            ("''", "STRING", ""),
            ("-12", "INTEGER", "-12"),
            ("12.5", "DECIMAL", "12.5"),
            ("'12.50'", "DECIMAL(4,1)", "12.50"),
            ("1E3", "DOUBLE", "1e3"),
            ("TRUE", "BOOLEAN", "true"),
            ("DATE '2026-01-02'", "DATE", "2026-01-02"),
            ("'2026-01-02'", "DATE", "2026-01-02"),
            ("'9999-12-31T23:59:59Z'", "TIMESTAMP", "9999-12-31T23:59:59Z"),
            (
                "timestamp '2026-01-02 03:04:05'",
                "TIMESTAMP",
                "2026-01-02 03:04:05",
            ),
            ("'{\"a\": 1}'", "JSON", "{\"a\": 1}"),
        ] {
            assert_eq!(
                parse(text, column_type),
                Ok(DefaultValue::Constant(expected.into())),
                "{text}"
            );
        }
        assert_eq!(
            parse("Current_Timestamp", "TIMESTAMP"),
            Ok(DefaultValue::CurrentTimestamp)
        );
        assert_eq!(parse("null", "JSON"), Ok(DefaultValue::Null));
    }

    #[test]
    fn everything_else_is_refused() {
        for (text, column_type) in [
            ("(select 1)", "INTEGER"),
            ("1; drop table x", "INTEGER"),
            ("1 + 1", "INTEGER"),
            ("'a' || 'b'", "STRING"),
            ("'a", "STRING"),
            ("random()", "DOUBLE"),
            ("", "STRING"),
            ("1.5", "INTEGER"),
            ("3000000000", "INTEGER"),
            ("0.12345", "DECIMAL"),
            ("uuid()", "BIGINT"),
            ("current_timestamp", "DATE"),
            ("'2026-02-30'", "DATE"),
            ("DATE '2026-01-02' + 1", "DATE"),
            ("nan", "DOUBLE"),
            ("'{'", "JSON"),
        ] {
            assert!(parse(text, column_type).is_err(), "{text} as {column_type}");
        }
    }

    #[test]
    fn a_default_is_kept_exactly_as_in_an_import() {
        for (text, column_type, expected) in [
            ("9007199254740992", "DOUBLE", true),
            ("9007199254740993", "DOUBLE", false),
            ("-9007199254740993.0", "DOUBLE", true),
            ("1e300", "DOUBLE", true),
            ("16777217", "FLOAT", false),
            ("16777218", "FLOAT", true),
            ("'2026-01-02T03:04:05.123456789Z'", "TIMESTAMP", false),
            ("'2026-01-02T03:04:05.123456000Z'", "TIMESTAMP", true),
            ("'2026-01-02 03:04:05.5'", "TIMESTAMP", true),
            ("'2026-01-02T03:04+02:00'", "TIMESTAMP", true),
            ("'2026-01-02T03:04:05+0200'", "TIMESTAMP", true),
            ("'2026-01-02'", "TIMESTAMP", true),
            ("'2026-01-02T23:59:60Z'", "TIMESTAMP", false),
            ("'2026-01-02T03:04:05,5Z'", "TIMESTAMP", false),
            ("'2026-01-02T03:04:05Z[UTC]'", "TIMESTAMP", false),
            ("'2026-01-02T03:04:05+02:00[Europe/Paris]'", "TIMESTAMP", false),
            ("'2026-01-02T03:04:05+20:00'", "TIMESTAMP", false),
            ("'2026-01-02'", "DATE", true),
            ("current_timestamp", "TIMESTAMP", true),
        ] {
            assert_eq!(
                parse(text, column_type).is_ok(),
                expected,
                "{text} as {column_type}"
            );
        }
    }

    #[test]
    fn an_initial_time_is_in_utc() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let initial = |text| {
            parse(text, "TIMESTAMP")
                .unwrap()
                .initial_text(now, ColumnType::Timestamp)
        };
        for (text, expected) in [
            ("current_timestamp", "2026-01-02T03:04:05.678"),
            ("'2026-01-02 03:04:05+02:00'", "2026-01-02T01:04:05"),
            ("TIMESTAMP '2026-01-02 03:04:05'", "2026-01-02 03:04:05"),
        ] {
            assert_eq!(initial(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(DefaultValue::Uuid.initial_text(now, ColumnType::String), None);
    }

    #[test]
    fn times_are_those_of_the_import() {
        let now = "2026-01-02T03:04:05.678Z".parse().unwrap();
        assert_eq!(
            DefaultValue::CurrentDate.text_at(now).as_deref(),
            Some("2026-01-02")
        );
        assert_eq!(
            DefaultValue::CurrentTimestamp.text_at(now).as_deref(),
            Some("2026-01-02T03:04:05.678Z")
        );
    }
}
