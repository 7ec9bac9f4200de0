//! Sends a hint for each log whose next pass is due, because a hint was lost or the log had no new record.

use std::collections::HashMap;

use parking_lot::Mutex;
use platform::archive_hints::ArchiveHints;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::records::Table;
use platform::records::logs::{self, LogId, LogKind};
use platform::{Clock, Result, UtcTime, metrics};

/// Time that a hint has to take effect before the sweeper sends another, in milliseconds. It is long, so that
/// repeats do not fill the queue while the archiver is down.
const PATIENCE_MS: u64 = 300_000;
/// Maximum number of logs of one kind that a sweep reads.
const MOST_AT_ONCE: usize = 500;

/// Finds due logs in repeated sweeps.
pub struct LogSweeper {
    events: Table,
    audit: Table,
    hints: ArchiveHints,
    clock: Clock,
    sent: Mutex<HashMap<LogId, UtcTime>>,
}

impl LogSweeper {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        Ok(Self {
            events: deployment.table(variables::EVENTS_TABLE)?,
            audit: deployment.table(variables::AUDIT_TABLE)?,
            hints: ArchiveHints::from_deployment(deployment)?,
            clock: deployment.clock(),
            sent: Mutex::default(),
        })
    }

    /// Sends a hint for every due log, unless one was sent recently. Returns the number of due logs.
    pub async fn sweep(&self) -> Result<usize> {
        let now = self.clock.now();
        let mut count = 0;
        for (table, kind) in [(&self.events, LogKind::Events), (&self.audit, LogKind::Audit)] {
            for log in logs::due(table, kind, now, Some(MOST_AT_ONCE)).await? {
                count += 1;
                if self.is_new(&log, now) {
                    self.hints.due(&log).await;
                }
            }
        }
        metrics::due("logs", count);
        Ok(count)
    }

    fn is_new(&self, log: &LogId, now: UtcTime) -> bool {
        let mut sent = self.sent.lock();
        sent.retain(|_, at| now < at.plus_ms(PATIENCE_MS));
        if sent.contains_key(log) {
            return false;
        }
        sent.insert(log.clone(), now);
        true
    }
}
