//! Provides the time as a value that is passed in.
//!
//! Nothing outside this module reads the machine's clock: `main` passes a [`Clock`] down, and a test passes
//! one that it moves. [`UtcTime`] is the only timestamp format of the service: ISO 8601 in UTC with
//! milliseconds, so that the order of the texts is the order of the times.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tokio::time::Instant;

/// Point in time in UTC, in milliseconds since the Unix epoch. Text form: `2026-01-02T03:04:05.678Z`.
///
/// `jiff::Timestamp` ends a day before the year 9999 does, so that it has a local time in each time zone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(i64);

/// First and last millisecond with a text form: of the years -9999 and 9999.
const FIRST_MS: i64 = -377_705_116_800_000;
const LAST_MS: i64 = 253_402_300_799_999;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const UNIX_EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// Start of the year 1, in milliseconds since the Unix epoch.
const COMMON_ERA_MS: i64 = -62_135_596_800_000;

impl UtcTime {
    pub const EPOCH: Self = Self(0);

    /// Converts milliseconds since the Unix epoch; None for years that have no text form.
    pub fn from_millis(millis: i64) -> Option<Self> {
        (FIRST_MS..=LAST_MS).contains(&millis).then_some(Self(millis))
    }

    /// Adds milliseconds; returns the latest possible time on overflow.
    #[must_use]
    pub fn plus_ms(self, millis: u64) -> Self {
        let later = i64::try_from(millis)
            .ok()
            .and_then(|millis| self.as_millis().checked_add(millis));
        later.and_then(Self::from_millis).unwrap_or(Self(LAST_MS))
    }

    /// Returns the milliseconds since an earlier time; 0 where `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.as_millis().saturating_sub(earlier.as_millis())).unwrap_or(0)
    }

    /// Parses a time of RFC 2822, or an HTTP date, such as `Sun, 06 Nov 1994 08:49:37 GMT`; None for any
    /// other text.
    pub fn from_rfc2822(text: &str) -> Option<Self> {
        let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
        Self::from_millis(zoned.timestamp().as_millisecond())
    }

    /// Returns the day in UTC as `YYYY-MM-DD`.
    pub fn day(self) -> String {
        let mut text = self.to_string();
        text.truncate(text.find('T').unwrap_or(text.len()));
        text
    }

    /// Whether the year has four digits and is at least 1. The text order of such times is their time order,
    /// and every database can read them.
    pub fn is_in_common_era(self) -> bool {
        self.as_millis() >= COMMON_ERA_MS
    }

    /// Milliseconds since the Unix epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub fn as_seconds(self) -> i64 {
        self.0 / 1_000
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = UNIX_EPOCH.checked_add(SignedDuration::from_millis(self.0));
        write!(f, "{:.3}Z", local.map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Maximum length of a quoted invalid timestamp, in bytes.
const MAX_SHOWN_BYTES: usize = 100;

/// Parses any ISO 8601 timestamp. One without an offset is in UTC; a plain date is midnight in UTC.
impl FromStr for UtcTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| {
            let shown = text
                .get(..text.floor_char_boundary(MAX_SHOWN_BYTES))
                .unwrap_or_default();
            format!("'{shown}' is not an ISO 8601 time such as 2026-01-02T03:04:05Z")
        })
    }
}

fn parse(text: &str) -> Option<UtcTime> {
    let (day, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let (text, days) = match end_of_day(time) {
        Some(rest) => (Cow::Owned(format!("{day}T00{rest}")), 1),
        None => (Cow::Borrowed(text), 0),
    };
    let pieces = DateTimeParser::new().parse_pieces(text.as_ref()).ok()?;
    let local = DateTime::from_parts(pieces.date(), pieces.time().unwrap_or(Time::midnight()));
    let offset = match pieces.time_zone_annotation() {
        // The name of a zone does not tell its offset.
        Some(_) => pieces.to_numeric_offset()?,
        None => pieces.to_numeric_offset().unwrap_or(Offset::UTC),
    };
    let since = local.duration_since(UNIX_EPOCH) - SignedDuration::from_secs(offset.seconds().into());
    let millis = i64::try_from(since.as_millis()).ok()?;
    UtcTime::from_millis(millis.checked_add(days * DAY_MS)?)
}

/// Returns what follows the 24 of a midnight at the end of a day: minutes and seconds, all zero, and an
/// offset.
fn end_of_day(time: &str) -> Option<&str> {
    let rest = time.strip_prefix("24")?;
    let zone = rest.trim_start_matches(['0', ':', '.', ',']);
    (zone.is_empty() || zone.starts_with(['Z', 'z', '+', '-', '['])).then_some(rest)
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl JsonSchema for UtcTime {
    fn schema_name() -> Cow<'static, str> {
        "UtcTime".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Source of the time.
#[derive(Clone, Debug)]
pub enum Clock {
    System,
    /// Stands still until it is moved; milliseconds since the Unix epoch.
    Manual(Arc<AtomicI64>),
    /// The machine's clock plus an offset in milliseconds.
    Shifted(Arc<AtomicI64>),
}

impl Clock {
    /// Creates a clock that stands at `start` until [`advance_ms`](Self::advance_ms) moves it.
    pub fn manual(start: UtcTime) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.as_millis())))
    }

    /// Creates a clock that follows the machine's, shifted by the sum of all
    /// [`advance_ms`](Self::advance_ms).
    pub fn shifted() -> Self {
        Self::Shifted(Arc::default())
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    pub fn now(&self) -> UtcTime {
        match self {
            Self::System => Some(Timestamp::now().as_millisecond()),
            Self::Manual(millis) => Some(millis.load(Ordering::SeqCst)),
            Self::Shifted(millis) => Timestamp::now()
                .as_millisecond()
                .checked_add(millis.load(Ordering::SeqCst)),
        }
        .and_then(UtcTime::from_millis)
        .unwrap_or(UtcTime::EPOCH)
    }

    /// Waits for this time; a clock that stands still does not wait.
    pub async fn pause(&self, duration: Duration) {
        if !matches!(self, Self::Manual(_)) {
            tokio::time::sleep(duration).await;
        }
    }

    /// Returns the machine's time in nanoseconds since the Unix epoch, for durations that are only shown.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    pub fn system_ns() -> u64 {
        u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default()
    }

    /// Converts a Unix time in milliseconds for timers. A past time becomes now.
    pub fn instant_of(&self, unix_ms: u64) -> Instant {
        let now_ms = u64::try_from(self.now().as_millis()).unwrap_or_default();
        Instant::now() + Duration::from_millis(unix_ms.saturating_sub(now_ms))
    }

    /// Moves a manual or shifted clock by `millis`, which may be negative; has no effect on the machine's
    /// clock.
    pub fn advance_ms(&self, millis: i64) {
        if let Self::Manual(now) | Self::Shifted(now) = self {
            now.fetch_add(millis, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_their_texts() {
        let earlier: UtcTime = "2026-01-02T03:04:05.009Z".parse().unwrap();
        let later: UtcTime = "2026-01-02T03:04:05.010Z".parse().unwrap();
        assert!(earlier < later && earlier.to_string() < later.to_string());
    }

    #[test]
    fn offsets_and_plain_dates_are_read() {
        let offset: UtcTime = "2026-01-02T03:04:05+02:00".parse().unwrap();
        assert_eq!(offset.to_string(), "2026-01-02T01:04:05.000Z");
        let date: UtcTime = "2026-01-02".parse().unwrap();
        assert_eq!(date.to_string(), "2026-01-02T00:00:00.000Z");
        let without_offset: UtcTime = "2026-01-02T03:04:05.006".parse().unwrap();
        assert_eq!(without_offset.to_string(), "2026-01-02T03:04:05.006Z");
    }

    #[test]
    fn every_time_of_iso_8601_is_read_to_the_end_of_the_year_9999() {
        for (text, expected) in [
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"),
            ("9999-12-31", "9999-12-31T00:00:00.000Z"),
            ("9999-12-31T12:00:00-02:00", "9999-12-31T14:00:00.000Z"),
            ("2026-02-28T24:00:00Z", "2026-03-01T00:00:00.000Z"),
            ("2026-12-31T24:00", "2027-01-01T00:00:00.000Z"),
            ("2026-01-02 24:00:00.000+02:00", "2026-01-02T22:00:00.000Z"),
            ("20260102T240000Z", "2026-01-03T00:00:00.000Z"),
            ("2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("-009999-01-01T00:00:00Z", "-009999-01-01T00:00:00.000Z"),
            (
                "2026-01-02T03:04:05+01:00[Europe/Paris]",
                "2026-01-02T02:04:05.000Z",
            ),
        ] {
            let time: UtcTime = text.parse().unwrap();
            assert_eq!(time.to_string(), expected, "{text}");
            assert_eq!(UtcTime::from_millis(time.as_millis()), Some(time), "{text}");
        }
        for text in [
            "2026-13-01",
            "9999-12-31T24:00:00Z",
            "9999-12-31T23:59:59-00:01",
            "2026-01-02T24:00:01Z",
            "2026-01-02T24:01Z",
            "2026-01-02T25:00:00Z",
            "2026-01-02T03:04:05[Europe/Paris]",
            "24:00",
            "",
        ] {
            assert!(text.parse::<UtcTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_end_with_the_year_9999() {
        let last: UtcTime = "9999-12-31T23:59:59.999Z".parse().unwrap();
        assert_eq!(last.plus_ms(1), last);
        assert_eq!(UtcTime::EPOCH.plus_ms(u64::MAX), last);
        assert_eq!(UtcTime::from_millis(last.as_millis() + 1), None);
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = Clock::manual("2026-01-02T00:00:00Z".parse().unwrap());
        let before = clock.now();
        assert_eq!(before, clock.now());
        clock.advance_ms(1_500);
        assert_eq!(clock.now().as_millis() - before.as_millis(), 1_500);
    }

    #[test]
    fn a_shifted_clock_is_as_far_from_the_machines_as_it_was_moved() {
        let clock = Clock::shifted();
        let machine = Clock::System.now();
        assert!(clock.now() >= machine);
        for moved in [60_000, -120_000] {
            let before = Clock::System.now().as_millis();
            clock.advance_ms(moved);
            let shift = if moved > 0 { 60_000 } else { -60_000 };
            let (now, after) = (clock.now().as_millis(), Clock::System.now().as_millis());
            assert!((before + shift..=after + shift).contains(&now), "{moved}");
        }
    }
}
