//! Finds the logs whose next pass is due, because a hint was lost or nothing was written, and sends a hint
//! at each.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use platform::archive_hints::ArchiveHints;
use platform::records::logs::{LogId, LogKind, Logs};
use platform::{Clock, Result, UtcTime, metrics};

/// How long a hint is left to have its effect before another is sent, in milliseconds. An archiver that is
/// away must not find a queue full of repeats.
const PATIENCE_MS: u64 = 300_000;
/// Most logs of a kind that one look finds.
const MOST_AT_ONCE: usize = 500;

/// Looks for logs that are due, again and again.
pub struct LogSweeper {
    logs: Logs,
    hints: ArchiveHints,
    clock: Clock,
    sent: Mutex<HashMap<LogId, UtcTime>>,
}

impl LogSweeper {
    /// Over logs and the hints at them.
    pub fn new(logs: Logs, hints: ArchiveHints, clock: Clock) -> Self {
        Self {
            logs,
            hints,
            clock,
            sent: Mutex::default(),
        }
    }

    /// Sends a hint at every log that is due, unless one was sent a moment ago. How many there are.
    pub async fn sweep(&self) -> Result<usize> {
        let now = self.clock.now();
        let mut found = 0;
        for kind in LogKind::ALL {
            for log in self.logs.due(kind, now, MOST_AT_ONCE).await? {
                found += 1;
                if self.is_new(&log, now) {
                    self.hints.due(&log).await;
                }
            }
        }
        metrics::due("logs", found);
        Ok(found)
    }

    fn is_new(&self, log: &LogId, now: UtcTime) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, at| now < at.plus_ms(PATIENCE_MS));
        if sent.contains_key(log) {
            return false;
        }
        sent.insert(log.clone(), now);
        true
    }
}
