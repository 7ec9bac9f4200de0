//! Computes when a log is due again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use platform::UtcTime;
use platform::records::logs::{LogHead, LogId};

/// Pause after a pass that archived records, in milliseconds. Each idle pass doubles it.
const FIRST_PAUSE_MS: u64 = 60_000;
/// Maximum pause between two passes, in milliseconds.
const LONGEST_PAUSE_MS: u64 = 6 * 3_600_000;
/// Period after the end of an hour over which the digests of all logs are spread, in milliseconds.
const SPREAD_MS: u64 = 300_000;
const HOUR_MS: u64 = 3_600_000;

/// Returns the due time of the next pass after one that ended at `now`. `more`: the tail holds more than the
/// pass had time for.
pub(super) fn due_at(log: &LogId, head: &LogHead, now: UtcTime, more: bool) -> UtcTime {
    if more {
        return now;
    }
    let pause = FIRST_PAUSE_MS.saturating_mul(1 << head.idle_passes.min(20));
    let next = now.plus_ms(pause.min(LONGEST_PAUSE_MS));
    match head.waiting_since {
        Some(since) => next.min(end_of_hour(since).plus_ms(spread(log))).max(now),
        None => next,
    }
}

pub(super) fn is_hour_over(time: UtcTime, now: UtcTime) -> bool {
    now >= end_of_hour(time)
}

fn end_of_hour(time: UtcTime) -> UtcTime {
    let hour = i64::try_from(HOUR_MS).unwrap_or(i64::MAX);
    let into = time.as_millis().rem_euclid(hour).unsigned_abs();
    time.plus_ms(HOUR_MS - into)
}

fn spread(log: &LogId) -> u64 {
    let mut hasher = DefaultHasher::new();
    log.hash(&mut hasher);
    hasher.finish() % SPREAD_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::events_of;

    fn at(text: &str) -> UtcTime {
        text.parse().unwrap()
    }

    fn head(idle_passes: u32, waiting_since: Option<&str>) -> LogHead {
        let head = serde_json::json!({ "revision": 1, "due_at": "2026-11-24T10:00:00Z" });
        LogHead {
            idle_passes,
            waiting_since: waiting_since.map(at),
            ..serde_json::from_value(head).unwrap()
        }
    }

    #[test]
    fn an_idle_log_is_due_ever_later() {
        let log = events_of("acme", "demo");
        let now = at("2026-11-24T10:10:00Z");
        let minutes = |idle| due_at(&log, &head(idle, None), now, false).millis_since(now) / 60_000;
        let pauses: Vec<_> = [0, 1, 2, 8, 9, 40, u32::MAX].into_iter().map(minutes).collect();
        assert_eq!(pauses, [1, 2, 4, 256, 360, 360, 360]);
        assert_eq!(due_at(&log, &head(3, None), now, true), now);
    }

    #[test]
    fn a_log_with_files_is_due_soon_after_their_hour() {
        let log = events_of("acme", "demo");
        let now = at("2026-11-24T10:10:00Z");
        let due = due_at(&log, &head(9, Some("2026-11-24T10:05:00Z")), now, false);
        assert!(
            (at("2026-11-24T11:00:00Z")..at("2026-11-24T11:05:00Z")).contains(&due),
            "{due}"
        );
        let late = due_at(&log, &head(9, Some("2026-11-24T07:05:00Z")), now, false);
        assert_eq!(late, now);
        assert!(!is_hour_over(
            at("2026-11-24T10:59:59.999Z"),
            at("2026-11-24T10:59:59.999Z")
        ));
        assert!(is_hour_over(
            at("2026-11-24T10:59:59.999Z"),
            at("2026-11-24T11:00:00Z")
        ));
        assert!(is_hour_over(
            at("1969-12-31T23:30:00Z"),
            at("1970-01-01T00:00:00Z")
        ));
    }
}
