//! Stores the states of the logs of events and audit records.
//!
//! A record is written with a place in the index `gsi1`, its **tail marker**, and leaves that index when it
//! is archived. A log has one item for its state, the **head**, which is always in the index `due`. The crate
//! `event-log` reads and archives the records.

mod head;
mod log_id;

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;

use crate::clock::UtcTime;
use crate::error::Result;
use crate::records::{Condition, Query, Table, keys};

pub use head::{DigestRef, FileRef, LogHead};
pub use log_id::{LogId, LogKind};

/// Field that is set when a record is archived.
pub const ARCHIVED: &str = "archived";
/// Time from the first record of a log to its first pass, in milliseconds.
const FIRST_PASS_MS: u64 = 60_000;
/// Maximum number of logs that a process remembers to have a head.
const MAX_KNOWN: usize = 10_000;

/// Logs whose heads this process has seen, so that each head is ensured once.
#[derive(Clone, Default)]
pub struct KnownLogs(Arc<Mutex<HashSet<LogId>>>);

impl KnownLogs {
    /// Ensures that a log has a head before a record is written to it, so that an archiver finds every log
    /// with records.
    pub async fn ensure(&self, table: &Table, log: &LogId, now: UtcTime) -> Result<()> {
        if self.lock().contains(log) {
            return Ok(());
        }
        let head = LogHead::new(now.plus_ms(FIRST_PASS_MS));
        let key = log.head_key().with_due(keys::DUE_LOGS, head.due_at);
        table
            .put(&key, &head, Condition::Absent)
            .await?
            .took_effect("the head of a log")?;
        let mut known = self.lock();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(log.clone());
        Ok(())
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, HashSet<LogId>> {
        self.0.lock()
    }
}

#[derive(Deserialize)]
struct DueRecord {
    pk: String,
    sk: String,
}

/// Lists the logs of a kind whose next pass is due, longest overdue first, up to `most`. `table` is that of
/// the kind's records.
pub async fn due(table: &Table, kind: LogKind, by: UtcTime, most: Option<usize>) -> Result<Vec<LogId>> {
    let query = Query::due(keys::DUE_LOGS, by);
    let due: Vec<DueRecord> = match most {
        Some(most) => table.page(&query, most, None).await?.0,
        None => table.all(&query).await?,
    };
    let logs = due.into_iter().filter_map(|record| {
        let (account, _, project) = keys::log_of(&record.pk, &record.sk)?;
        Some(LogId::new(account, project, kind))
    });
    Ok(logs.collect())
}
