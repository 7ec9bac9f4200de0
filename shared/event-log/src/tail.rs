//! Reads the records of a log that are in no file.

use std::io::Write as _;
use std::path::Path;

use events::envelope::Envelope;
use events::payload;
use platform::objects::Objects;
use platform::records::audit::AuditEvent;
use platform::records::events::EventRecord;
use platform::records::logs::{LogId, LogKind, Logs, TailRecord};
use platform::{Error, Result, UtcTime};
use serde::de::DeserializeOwned;

use crate::row;

/// Maximum number of records of a log read from the tail. A working archiver leaves fewer: a minute of the
/// 500 events per second that one project can send.
const MAX_TAIL: usize = 100_000;
/// Maximum size of the rows of some logs' tails: they are on the temporary disk beside the cache.
pub(crate) const MAX_TAIL_BYTES: u64 = 512 * 1_024 * 1_024;

/// A record of the tail, not yet converted to a row.
pub(crate) enum TailRow {
    Event(EventRecord, Box<Envelope>),
    Audit(Box<AuditEvent>),
}

impl TailRow {
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Event(record, _) => &record.id,
            Self::Audit(record) => &record.id,
        }
    }

    pub(crate) fn time(&self) -> UtcTime {
        match self {
            Self::Event(_, envelope) => envelope.timestamp,
            Self::Audit(record) => record.timestamp,
        }
    }

    pub(crate) async fn row(&self, objects: &Objects) -> Result<String> {
        match self {
            Self::Event(record, _) if record.details_key.is_some() => {
                row::event_row(record, &payload::whole(objects, record).await?)
            }
            Self::Event(record, envelope) => row::event_row(record, envelope),
            Self::Audit(record) => row::audit_row(record),
        }
    }
}

/// A file of rows. Rows are usually few and short, so they are written synchronously.
pub(crate) struct TailFile {
    file: std::io::BufWriter<std::fs::File>,
    bytes: u64,
}

impl TailFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = std::fs::File::create(path).map_err(Error::internal)?;
        Ok(Self {
            file: std::io::BufWriter::with_capacity(256 * 1_024, file),
            bytes: 0,
        })
    }

    /// Fails with 503 where the file would exceed [`MAX_TAIL_BYTES`].
    pub(crate) fn add(&mut self, row: &str) -> Result<()> {
        self.bytes += row.len() as u64 + 1;
        if self.bytes > MAX_TAIL_BYTES {
            return Err(behind());
        }
        let written = self
            .file
            .write_all(row.as_bytes())
            .and_then(|()| self.file.write_all(b"\n"));
        written.map_err(Error::internal)
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(Error::internal)
    }
}

/// Reads the tail of a log. Fails with 503 where it exceeds what a request should hold in memory.
pub(crate) async fn bounded_tail<R: DeserializeOwned + Send>(
    logs: &Logs,
    log: &LogId,
) -> Result<Vec<TailRecord<R>>> {
    let keys = logs.tail_keys(log, Some(MAX_TAIL + 1)).await?;
    if keys.len() > MAX_TAIL {
        return Err(behind());
    }
    logs.tail_records(log, &keys).await
}

fn behind() -> Error {
    Error::unavailable("the archiver is behind: too many records of a log are in no file yet")
}

pub(crate) async fn tail(logs: &Logs, log: &LogId) -> Result<Vec<TailRow>> {
    match log.kind {
        LogKind::Events => {
            let records = bounded_tail::<EventRecord>(logs, log).await?.into_iter();
            let rows = records.map(|tail| {
                let envelope = serde_json::from_str(&tail.record.envelope).map_err(Error::internal)?;
                Ok(TailRow::Event(tail.record, Box::new(envelope)))
            });
            rows.collect()
        }
        LogKind::Audit => {
            let records = bounded_tail::<AuditEvent>(logs, log).await?.into_iter();
            Ok(records
                .map(|tail| TailRow::Audit(Box::new(tail.record)))
                .collect())
        }
    }
}
