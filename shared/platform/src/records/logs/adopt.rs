//! Adds records to their logs that were written before logs existed.

use serde_json::Value;

use super::{KnownLogs, LogId, LogKind, Logs};
use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::records::schema::GSI1;
use crate::records::{Changes, Condition, Key, Written, keys};

/// Set when a record is archived, so that it is not adopted again.
pub const ARCHIVED: &str = "archived";

/// Readers of a tail read this shard with every schedule.
const FIRST_SHARD: u16 = 0;

impl Logs {
    /// Sets the tail marker of each record of a kind that has none and is not archived, and counts these
    /// records. Reads the whole table; a repetition continues an interrupted one.
    pub async fn adopt(&self, kind: LogKind, now: UtcTime) -> Result<u64> {
        let table = self.table(kind);
        let known = KnownLogs::default();
        let mut adopted = 0;
        let mut start = None;
        loop {
            let (records, next) = table.scan(start).await?;
            for (key, record) in records {
                let Some((log, time, id)) = unmarked(kind, &key, &record) else {
                    continue;
                };
                known.ensure(table, &log, now).await?;
                let (pk, sk) = log.tail_place(time, &id, FIRST_SHARD);
                let changes = Changes::default().place(GSI1, pk, sk);
                match table.update(&key, &changes, Condition::Lacks(ARCHIVED)).await? {
                    Written::Done => adopted += 1,
                    Written::Refused { .. } => {}
                    Written::Contended => return Err(Error::unavailable("a record is being written")),
                }
            }
            match next {
                Some(_) => start = next,
                None => return Ok(adopted),
            }
        }
    }
}

/// Returns the log, the time and the id of a record that has no tail marker and is not archived; None for
/// every other item.
fn unmarked(kind: LogKind, key: &Key, record: &Value) -> Option<(LogId, UtcTime, String)> {
    let text = |name: &str| record.get(name).and_then(Value::as_str);
    let (log, time) = match kind {
        LogKind::Events => {
            let (tenant, _) = keys::event_of(&key.pk)?;
            let log = LogId::new(tenant.account(), Some(tenant.project()), kind);
            (log, text("received_at")?)
        }
        LogKind::Audit => {
            let (account, project) = keys::audit_of(&key.pk)?;
            (LogId::new(account, project, kind), text("timestamp")?)
        }
    };
    let is_marked = text("gsi1pk").is_some_and(|pk| log.is_tail(pk)) || record.get(ARCHIVED).is_some();
    let time = time.parse().ok().filter(|_| !is_marked)?;
    Some((log, time, text("id")?.to_owned()))
}
