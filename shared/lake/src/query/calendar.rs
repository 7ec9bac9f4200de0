//! Formats DuckDB's days and microseconds as ISO 8601, over DuckDB's whole range of years.
//!
//! It writes directly into the answer, because a result has many such values.

/// Days from March 1st of year 0 to the Unix epoch.
const EPOCH_DAYS: i64 = 719_468;
/// Days of 400 years.
const DAYS_PER_ERA: u64 = 146_097;
/// Eras before year 0 that are added to make days positive.
const ERAS_BEFORE: u64 = 15_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Writes the day `days` after the Unix epoch. Returns false, and writes nothing, for DuckDB's infinities.
pub(crate) fn date(days: i32, out: &mut Vec<u8>) -> bool {
    if days == i32::MAX || days == -i32::MAX {
        return false;
    }
    day(i64::from(days), out);
    true
}

/// Computes the civil date with years that start in March, so that the leap day is a year's last day.
fn day(days: i64, out: &mut Vec<u8>) {
    // Unsigned, because a processor divides unsigned numbers faster.
    let shifted = (days + EPOCH_DAYS).saturating_add_unsigned(DAYS_PER_ERA * ERAS_BEFORE);
    let shifted = shifted.unsigned_abs();
    let era = shifted / DAYS_PER_ERA;
    let day_of_era = shifted % DAYS_PER_ERA;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let before = 400 * ERAS_BEFORE;
    if year < before {
        out.push(b'-');
    }
    match year.abs_diff(before) {
        year @ 0..10_000 => {
            let [century, year] = [pair(year / 100), pair(year % 100)];
            out.extend_from_slice(&[century[0], century[1], year[0], year[1]]);
        }
        year => out.extend_from_slice(itoa::Buffer::new().format(year).as_bytes()),
    }
    let [month, day] = [pair(month), pair(day)];
    out.extend_from_slice(&[b'-', month[0], month[1], b'-', day[0], day[1]]);
}

/// Returns the two digits of a number below 100.
const fn pair(number: u64) -> [u8; 2] {
    [b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]
}

/// Writes the time of day `micros` after midnight, with six decimals if it has microseconds, else with three.
pub(crate) fn time(micros: i64, out: &mut Vec<u8>) {
    let micros = micros.unsigned_abs();
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let [hour, minute, second] = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map(pair);
    let [a, b, c] = [fraction / 10_000, fraction / 100 % 100, fraction % 100].map(pair);
    let text = [
        hour[0], hour[1], b':', minute[0], minute[1], b':', second[0], second[1], b'.', a[0], a[1], b[0],
        b[1], c[0], c[1],
    ];
    let (short, _) = text.split_at(12);
    out.extend_from_slice(if fraction.is_multiple_of(1_000) {
        short
    } else {
        &text
    });
}

/// Writes the time `micros` after the Unix epoch, in UTC. Returns false, and writes nothing, for DuckDB's
/// infinities.
pub(crate) fn timestamp(micros: i64, out: &mut Vec<u8>) -> bool {
    if micros == i64::MAX || micros == -i64::MAX {
        return false;
    }
    day(micros.div_euclid(MICROS_PER_DAY), out);
    out.push(b'T');
    time(micros.rem_euclid(MICROS_PER_DAY), out);
    out.push(b'Z');
    true
}

/// Writes an ISO 8601 duration.
pub(crate) fn interval(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let micros = nanos / 1_000;
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, fraction) = (
        micros.unsigned_abs() / 1_000_000,
        micros.unsigned_abs() % 1_000_000,
    );
    let fraction = format!(".{fraction:06}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    out.extend_from_slice(format!("P{months}M{days}DT{sign}{seconds}{fraction}S").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>) -> bool) -> Option<String> {
        let mut out = Vec::new();
        write(&mut out).then(|| String::from_utf8(out).unwrap())
    }

    fn time_of(micros: i64) -> Option<String> {
        text(|out| {
            time(micros, out);
            true
        })
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_844, "2024-05-01"),
            (19_782, "2024-02-29"),
            (11_016, "2000-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "10000-01-01"),
            // The limits of DuckDB's days.
            (-2_147_483_646, "-5877641-06-25"),
            (2_147_483_646, "5881580-07-10"),
        ] {
            assert_eq!(text(|out| date(days, out)).as_deref(), Some(expected));
        }
        assert_eq!(text(|out| date(i32::MAX, out)), None);
    }

    #[test]
    fn times_are_in_utc_with_as_many_decimals_as_needed() {
        assert_eq!(
            text(|out| timestamp(0, out)).as_deref(),
            Some("1970-01-01T00:00:00.000Z")
        );
        assert_eq!(
            text(|out| timestamp(-1, out)).as_deref(),
            Some("1969-12-31T23:59:59.999999Z")
        );
        assert_eq!(
            text(|out| timestamp(1_500, out)).as_deref(),
            Some("1970-01-01T00:00:00.001500Z")
        );
        assert_eq!(text(|out| timestamp(i64::MAX, out)), None);
        assert_eq!(time_of(45_296_789_000).as_deref(), Some("12:34:56.789"));
        let mut duration = Vec::new();
        interval(1, -2, 1_500_000_000, &mut duration);
        assert_eq!(duration, b"P1M-2DT1.5S");
    }
}
