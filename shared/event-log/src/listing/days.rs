//! Counts the records of each day of a listing, so that whole days can be skipped by their count. An audit
//! record comes at its own time, so a file of a day has the records of that day alone.

use std::collections::BTreeMap;

use platform::auth::Viewer;
use platform::records::logs::LogId;
use platform::{Error, Result, UtcTime};
use serde::Deserialize;

use crate::logs::Logs;
use crate::tail::bounded_tail;

const DAY_MS: u64 = 86_400_000;
/// Attempts to read the index of a log while its files change.
const READS: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Day {
    /// Maximum number of records.
    pub records: u64,
    /// Whether the number is inexact: a record may be both in a file and in the tail, outside of the range,
    /// or private to another.
    pub is_estimate: bool,
}

/// Days with records, keyed by `YYYY-MM-DD`, which sorts chronologically.
pub(super) type Days = BTreeMap<String, Day>;

#[derive(Deserialize)]
struct Timed {
    timestamp: UtcTime,
}

/// Returns the days of logs from one time to another, both included.
pub(super) async fn days(
    logs: &Logs,
    ids: &[LogId],
    (from, to): (UtcTime, UtcTime),
    viewer: &Viewer,
) -> Result<Days> {
    let mut days = Days::new();
    for log in ids {
        add(logs, log, &mut days, (from, to), viewer).await?;
    }
    for (day, records) in &mut days {
        let (begin, end) = bounds(day)?;
        records.is_estimate |= begin < from || end > to;
    }
    Ok(days)
}

/// Returns the first and the last millisecond of a day.
pub(super) fn bounds(day: &str) -> Result<(UtcTime, UtcTime)> {
    let begin: UtcTime = day.parse().map_err(Error::internal)?;
    Ok((begin, begin.plus_ms(DAY_MS - 1)))
}

async fn add(
    logs: &Logs,
    log: &LogId,
    days: &mut Days,
    (from, to): (UtcTime, UtcTime),
    viewer: &Viewer,
) -> Result<()> {
    for _ in 0..READS {
        let Some(head) = logs.head(log).await? else {
            return Ok(());
        };
        let files = logs.files(log, from, to).await?;
        let tail = bounded_tail::<Timed>(logs, log).await?;
        let is_current = logs
            .head(log)
            .await?
            .is_some_and(|now| now.revision == head.revision);
        if !is_current {
            continue;
        }
        for file in files.into_iter().filter(|file| file.replaced_by.is_none()) {
            let day = days.entry(file.day).or_default();
            day.records += file.records;
            day.is_estimate |= file.private > 0 && !viewer.sees_all;
        }
        let in_tail = tail.into_iter().map(|found| found.record.timestamp);
        for time in in_tail.filter(|time| (from..=to).contains(time)) {
            let day = days.entry(time.day()).or_default();
            day.records += 1;
            day.is_estimate = true;
        }
        for file in head.unsettled {
            if let Some(day) = days.get_mut(&file.day) {
                day.is_estimate = true;
            }
        }
        return Ok(());
    }
    Err(Error::unavailable(
        "the files of a log change too fast to be read",
    ))
}
