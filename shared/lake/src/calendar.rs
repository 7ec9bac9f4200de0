//! DuckDB's days and microseconds as ISO 8601, over DuckDB's whole range of years.

/// Days from year 0, March 1st, to the Unix epoch.
const EPOCH_DAYS: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The day that is `days` after the Unix epoch; None for DuckDB's infinities.
pub(crate) fn date(days: i32) -> Option<String> {
    if days == i32::MAX || days == -i32::MAX {
        return None;
    }
    Some(day(i64::from(days)))
}

/// The civil date by counting years from March, so that the leap day is a year's last.
fn day(days: i64) -> String {
    let shifted = days + EPOCH_DAYS;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// The time of day that is `micros` after midnight: with six decimals where there are microseconds, else
/// three.
pub(crate) fn time(micros: i64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if fraction % 1_000 == 0 {
        format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", fraction / 1_000)
    } else {
        format!("{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}")
    }
}

/// The time that is `micros` after the Unix epoch, in UTC; None for DuckDB's infinities.
pub(crate) fn timestamp(micros: i64) -> Option<String> {
    if micros == i64::MAX || micros == -i64::MAX {
        return None;
    }
    Some(format!(
        "{}T{}Z",
        day(micros.div_euclid(MICROS_PER_DAY)),
        time(micros.rem_euclid(MICROS_PER_DAY))
    ))
}

/// An ISO 8601 duration.
pub(crate) fn interval(months: i32, days: i32, nanos: i64) -> String {
    let micros = nanos / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, fraction) = (
        micros.unsigned_abs() / 1_000_000,
        micros.unsigned_abs() % 1_000_000,
    );
    let fraction = format!(".{fraction:06}");
    format!(
        "P{months}M{days}DT{sign}{seconds}{}S",
        fraction.trim_end_matches('0').trim_end_matches('.')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_844, "2024-05-01"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (-719_528, "0000-01-01"),
            (2_932_896, "9999-12-31"),
        ] {
            assert_eq!(date(days).as_deref(), Some(expected));
        }
        assert_eq!(date(i32::MAX), None);
    }

    #[test]
    fn times_are_in_utc_with_as_many_decimals_as_needed() {
        assert_eq!(timestamp(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(timestamp(-1).as_deref(), Some("1969-12-31T23:59:59.999999Z"));
        assert_eq!(timestamp(1_500).as_deref(), Some("1970-01-01T00:00:00.001500Z"));
        assert_eq!(timestamp(i64::MAX), None);
        assert_eq!(time(45_296_789_000), "12:34:56.789");
        assert_eq!(interval(1, -2, 1_500_000_000), "P1M-2DT1.5S");
    }
}
