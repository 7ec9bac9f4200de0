//! Reads the records of the tail as rows of files.

use std::path::{Path, PathBuf};

use events::payload;
use events::records::events::EventRecord;
use futures::stream::{self, StreamExt as _};
use platform::objects::Objects;
use platform::records::audit::AuditEvent;
use platform::records::logs::{LogId, LogKind};
use platform::{Error, ErrorKind, Result, UtcTime, low_priority};
use tracing::error;

use super::Pass;
use crate::logs::{Logs, RecordKey, TailRecord};
use crate::row;

/// Maximum number of records of a batch.
const MAX_RECORDS: usize = 20_000;
/// Maximum size of the rows of a batch, in bytes.
const MAX_BYTES: usize = 32 * 1_024 * 1_024;
/// Number of records read and parsed between two checks of the size: a few megabytes.
const PIECE: usize = 100;
/// Number of large details read at a time.
const DETAILS_AT_ONCE: usize = 16;

/// A record of the tail with its row.
pub(super) struct Pending {
    pub key: RecordKey,
    pub id: String,
    /// Day on which the record came.
    pub day: String,
    /// The record's own time.
    pub time: UtcTime,
    pub row: String,
}

/// A batch of records of the tail.
#[derive(Default)]
pub(super) struct Batch {
    pub records: Vec<Pending>,
    /// Size of the rows.
    bytes: usize,
    /// Whether the tail has more records.
    pub more: bool,
    pub unreadable: u64,
    /// Time at which the oldest record was received.
    pub oldest: Option<UtcTime>,
}

impl Batch {
    fn add(&mut self, came_at: UtcTime, pending: Result<Pending>, key: &RecordKey) {
        self.oldest = Some(self.oldest.map_or(came_at, |oldest| oldest.min(came_at)));
        match pending {
            Ok(pending) => {
                self.bytes += pending.row.len();
                self.records.push(pending);
            }
            Err(cause) => {
                self.unreadable += 1;
                error!(?key, %cause, "a record cannot be archived; it stays in the tail");
            }
        }
    }

    async fn read(logs: &Logs, objects: &Objects, log: &LogId) -> Result<Self> {
        let keys = logs.tail_keys(log, Some(MAX_RECORDS)).await?;
        let mut batch = Batch {
            more: keys.len() >= MAX_RECORDS,
            ..Self::default()
        };
        for piece in keys.chunks(PIECE) {
            if batch.bytes >= MAX_BYTES {
                batch.more = true;
                break;
            }
            match log.kind {
                LogKind::Events => batch.add_events(logs, objects, log, piece).await?,
                LogKind::Audit => {
                    for TailRecord { key, record } in logs.tail_records::<AuditEvent>(log, piece).await? {
                        batch.add(record.timestamp, audit_record(&key, &record), &key);
                    }
                }
            }
        }
        Ok(batch)
    }

    async fn add_events(
        &mut self,
        logs: &Logs,
        objects: &Objects,
        log: &LogId,
        keys: &[RecordKey],
    ) -> Result<()> {
        let found = logs.tail_records::<EventRecord>(log, keys).await?;
        let mut read = stream::iter(found)
            .map(|TailRecord { key, record }| async move {
                let came_at = record.received_at;
                let pending = event_record(objects, key.clone(), record).await;
                (key, came_at, pending)
            })
            .buffered(DETAILS_AT_ONCE);
        while let Some((key, came_at, pending)) = read.next().await {
            // The rest stays in the tail for the next round.
            if self.bytes >= MAX_BYTES {
                self.more = true;
                break;
            }
            match pending {
                // Not every transient error: an internal one is of the record, and would return in each round
                // and hold up the log.
                Err(cause) if cause.kind() == ErrorKind::Unavailable => return Err(cause),
                pending => self.add(came_at, pending, &key),
            }
        }
        Ok(())
    }
}

impl Pass<'_> {
    /// Reads the oldest records of the tail.
    pub(super) async fn read_tail(&self) -> Result<Batch> {
        let (logs, objects) = (self.archiver.logs.clone(), self.archiver.objects.clone());
        let log = self.log.clone();
        low_priority::run(&self.log.account, async move {
            Batch::read(&logs, &objects, &log).await
        })
        .await?
    }
}

async fn event_record(objects: &Objects, key: RecordKey, record: EventRecord) -> Result<Pending> {
    let details = payload::details(objects, &record).await?;
    event_row(key, &record, details.as_deref())
}

fn event_row(key: RecordKey, record: &EventRecord, details: Option<&[u8]>) -> Result<Pending> {
    let envelope = payload::restored(record, details)?;
    // A single such time would make the file of the whole batch fail.
    if !envelope.timestamp.is_in_common_era() {
        return Err(Error::invalid("the time of an event is before the year 1"));
    }
    Ok(Pending {
        key,
        id: record.id.clone(),
        day: record.received_at.day(),
        time: envelope.timestamp,
        row: row::event_row(record, &envelope)?,
    })
}

fn audit_record(key: &RecordKey, record: &AuditEvent) -> Result<Pending> {
    Ok(Pending {
        key: key.clone(),
        id: record.id.clone(),
        day: record.timestamp.day(),
        time: record.timestamp,
        row: row::audit_row(record)?,
    })
}

/// Writes rows as NDJSON, the input of the log's files.
pub(super) async fn write_rows(account: &str, path: PathBuf, rows: Vec<String>) -> Result<()> {
    low_priority::run(account, async move { write_lines(&path, &rows) }).await?
}

fn write_lines(path: &Path, rows: &[String]) -> Result<()> {
    use std::io::Write as _;
    let file = std::fs::File::create(path).map_err(Error::internal)?;
    let mut file = std::io::BufWriter::new(file);
    for row in rows {
        file.write_all(row.as_bytes())
            .and_then(|()| file.write_all(b"\n"))
            .map_err(Error::internal)?;
    }
    file.flush().map_err(Error::internal)
}
