//! Provides the time as a value that is passed in.
//!
//! Nothing outside this module reads the machine's clock: `main` passes a [`Clock`] down, and a test passes
//! one that it moves. [`UtcTime`] is the only timestamp format of the service: ISO 8601 in UTC with
//! milliseconds, so that the order of the texts is the order of the times.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tokio::time::Instant;

/// Point in time in UTC, truncated to milliseconds. Text form: `2026-01-02T03:04:05.678Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(Timestamp);

/// Start of the year 1, in milliseconds since the Unix epoch.
const COMMON_ERA_MS: i64 = -62_135_596_800_000;

impl UtcTime {
    pub const EPOCH: Self = Self(Timestamp::UNIX_EPOCH);

    /// Converts milliseconds since the Unix epoch; None for years that have no text form.
    pub fn from_millis(millis: i64) -> Option<Self> {
        Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Adds milliseconds; returns the latest possible time on overflow.
    #[must_use]
    pub fn plus_ms(self, millis: u64) -> Self {
        let later = i64::try_from(millis)
            .ok()
            .and_then(|millis| self.as_millis().checked_add(millis));
        later.and_then(Self::from_millis).unwrap_or(Self(Timestamp::MAX))
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
        self.0.as_millisecond()
    }

    /// Whole seconds since the Unix epoch.
    pub fn as_seconds(self) -> i64 {
        self.0.as_second()
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
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
        let parsed = text.parse::<Timestamp>().or_else(|_| {
            let time: DateTime = text.parse()?;
            Ok::<_, jiff::Error>(time.to_zoned(TimeZone::UTC)?.timestamp())
        });
        parsed
            .ok()
            .and_then(|timestamp| Self::from_millis(timestamp.as_millisecond()))
            .ok_or_else(|| {
                let shown = text
                    .get(..text.floor_char_boundary(MAX_SHOWN_BYTES))
                    .unwrap_or_default();
                format!("'{shown}' is not an ISO 8601 time such as 2026-01-02T03:04:05Z")
            })
    }
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
    fn schema_name() -> std::borrow::Cow<'static, str> {
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
        assert!("2026-13-01".parse::<UtcTime>().is_err());
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
