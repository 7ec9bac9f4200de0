//! Reads the records of a log that are in no file.
//!
//! An account chooses how many and how large they are. So they are counted while they are read, and parsed
//! and written to a file a piece at a time, at a low priority.

use std::collections::HashSet;
use std::io::{BufRead as _, Write as _};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use events::payload;
use events::records::events::EventRecord;
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use platform::objects::Objects;
use platform::records::audit::AuditEvent;
use platform::records::logs::{LogId, LogKind};
use platform::{Error, Result, UtcTime, low_priority};
use serde::de::DeserializeOwned;

use crate::logs::{Logs, RecordKey, TailRecord};
use crate::row;

/// Maximum number of records of a log read from the tail. A working archiver leaves fewer: a minute of the
/// 500 events per second that one project can send.
const MAX_TAIL: usize = 100_000;
/// Maximum size of the records of some logs' tails, and of the rows of each, which are on the temporary disk
/// beside the cache.
pub(crate) const MAX_TAIL_BYTES: u64 = 512 * 1_024 * 1_024;
/// Number of records read and parsed at a time: a few megabytes, so that other reads come in between.
const PIECE: usize = 50;
/// Number of pieces read at a time.
const READS_AT_ONCE: usize = 4;
/// Number of large details read at a time, each of up to a few megabytes.
const MAX_DETAILS: usize = 8;

/// A record of the tail.
pub(crate) struct TailRow {
    id: String,
    content: Content,
}

enum Content {
    Row(String),
    /// An event with details in the bucket.
    Large(Box<EventRecord>),
}

/// A stored record of a tail.
trait Tailed: Send {
    /// Returns the size of what a client chose.
    fn bytes(&self) -> u64;

    /// Returns None where the record is outside of the times.
    fn row(self, times: &RangeInclusive<UtcTime>) -> Result<Option<TailRow>>;
}

impl Tailed for EventRecord {
    fn bytes(&self) -> u64 {
        self.envelope.len() as u64
    }

    fn row(self, times: &RangeInclusive<UtcTime>) -> Result<Option<TailRow>> {
        let envelope = payload::restored(&self, None)?;
        if !times.contains(&envelope.timestamp) {
            return Ok(None);
        }
        Ok(Some(TailRow {
            id: self.id.clone(),
            content: match self.details_key {
                Some(_) => Content::Large(Box::new(self)),
                None => Content::Row(row::event_row(&self, &envelope)?),
            },
        }))
    }
}

impl Tailed for AuditEvent {
    /// Nothing: the number of records limits a log of small ones.
    fn bytes(&self) -> u64 {
        0
    }

    fn row(self, times: &RangeInclusive<UtcTime>) -> Result<Option<TailRow>> {
        if !times.contains(&self.timestamp) {
            return Ok(None);
        }
        Ok(Some(TailRow {
            content: Content::Row(row::audit_row(&self)?),
            id: self.id,
        }))
    }
}

/// Returns the row of an event with details in the bucket.
async fn large_row(record: Box<EventRecord>, objects: &Objects) -> Result<(String, String)> {
    let details = payload::details(objects, &record).await?;
    let row = row::event_row(&record, &payload::restored(&record, details.as_deref())?)?;
    Ok((record.id, row))
}

/// Counts the bytes of the tails of one snapshot.
#[derive(Default)]
pub(crate) struct TailBytes(AtomicU64);

impl TailBytes {
    /// Fails with 503 where the tails exceed [`MAX_TAIL_BYTES`].
    fn add(&self, bytes: u64) -> Result<()> {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        match before + bytes > MAX_TAIL_BYTES {
            true => Err(behind()),
            false => Ok(()),
        }
    }
}

/// Bytes of the tail of one log.
pub(crate) struct LogBytes<'a> {
    all: &'a TailBytes,
    own: AtomicU64,
}

impl<'a> LogBytes<'a> {
    pub(crate) const fn new(all: &'a TailBytes) -> Self {
        Self {
            all,
            own: AtomicU64::new(0),
        }
    }

    /// Forgets what an earlier attempt read.
    fn restart(&self) {
        let own = self.own.swap(0, Ordering::Relaxed);
        self.all.0.fetch_sub(own, Ordering::Relaxed);
    }

    fn add(&self, bytes: u64) -> Result<()> {
        self.own.fetch_add(bytes, Ordering::Relaxed);
        self.all.add(bytes)
    }
}

/// Rows of a tail in a file, a line each, in the order of their ids.
#[derive(Debug, Default)]
pub(crate) struct TailFile {
    pub(crate) path: PathBuf,
    pub(crate) ids: Vec<String>,
}

impl TailFile {
    /// Removes the rows with these ids.
    pub(crate) fn leave_out(&mut self, ids: &HashSet<String>) -> Result<()> {
        let before = std::mem::take(self);
        let lines = std::fs::File::open(&before.path).map_err(Error::internal)?;
        let lines = std::io::BufReader::new(lines).lines();
        let path = before.path.with_extension("rest");
        let mut rest = Rows::create(&path)?;
        for (id, line) in before.ids.into_iter().zip(lines) {
            if !ids.contains(&id) {
                rest.add(id, &line.map_err(Error::internal)?)?;
            }
        }
        std::fs::remove_file(&before.path).map_err(Error::internal)?;
        *self = rest.finish(path)?;
        Ok(())
    }
}

/// Writes rows.
struct Rows {
    file: std::io::BufWriter<std::fs::File>,
    bytes: u64,
    ids: Vec<String>,
    seen: HashSet<String>,
}

impl Rows {
    fn create(path: &Path) -> Result<Self> {
        let file = std::fs::File::create(path).map_err(Error::internal)?;
        Ok(Self {
            file: std::io::BufWriter::with_capacity(256 * 1_024, file),
            bytes: 0,
            ids: Vec::new(),
            seen: HashSet::new(),
        })
    }

    /// Adds a row, unless it is there: an index may return an item twice while it changes. Fails with 503
    /// where the file would exceed [`MAX_TAIL_BYTES`].
    fn add(&mut self, id: String, row: &str) -> Result<()> {
        if !self.seen.insert(id.clone()) {
            return Ok(());
        }
        self.ids.push(id);
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

    fn finish(mut self, path: PathBuf) -> Result<TailFile> {
        self.file.flush().map_err(Error::internal)?;
        Ok(TailFile { path, ids: self.ids })
    }
}

/// Reads a small part `R` of each record of a tail. Fails with 503 where it has too many.
pub(crate) async fn bounded_tail<R: DeserializeOwned + Send + 'static>(
    logs: &Logs,
    log: &LogId,
) -> Result<Vec<TailRecord<R>>> {
    let (logs, of_log) = (logs.clone(), log.clone());
    let read = low_priority::run(&log.account, async move {
        let keys = bounded_keys(&logs, &of_log).await?;
        logs.tail_records(&of_log, &keys).await
    });
    read.await?
}

async fn bounded_keys(logs: &Logs, log: &LogId) -> Result<Vec<RecordKey>> {
    let keys = logs.tail_keys(log, Some(MAX_TAIL + 1)).await?;
    match keys.len() > MAX_TAIL {
        true => Err(behind()),
        false => Ok(keys),
    }
}

fn behind() -> Error {
    Error::unavailable("the archiver is behind: too many records of a log are in no file yet")
}

/// Writes the records of the tail within the times to a new file. Fails with 503 where it exceeds what a
/// request should read.
pub(crate) async fn tail(
    (logs, objects): (&Logs, &Objects),
    log: &LogId,
    times: RangeInclusive<UtcTime>,
    bytes: &LogBytes<'_>,
    path: &Path,
) -> Result<TailFile> {
    let keys = bounded_keys(logs, log).await?;
    bytes.restart();
    let large = |record| large_row(record, objects).boxed();
    match log.kind {
        LogKind::Events => write(pieces::<EventRecord>(logs, log, &keys), large, times, bytes, path).await,
        LogKind::Audit => write(pieces::<AuditEvent>(logs, log, &keys), large, times, bytes, path).await,
    }
}

/// Reads records a piece at a time, as the stream is polled.
fn pieces<'a, R: DeserializeOwned + Send + 'a>(
    logs: &'a Logs,
    log: &'a LogId,
    keys: &'a [RecordKey],
) -> impl Stream<Item = Result<Vec<TailRecord<R>>>> + Send + 'a {
    let pieces = keys.chunks(PIECE);
    let pieces = pieces.map(|piece| logs.tail_records(log, piece).boxed());
    // Boxed, because the compiler cannot prove that the futures of a closure over borrowed pieces are Send.
    let pieces: Vec<BoxFuture<'a, Result<Vec<TailRecord<R>>>>> = pieces.collect();
    stream::iter(pieces).buffered(READS_AT_ONCE)
}

/// Writes rows to a new file. `large_row` returns the id and row of an event with details in the bucket.
async fn write<'a, R: Tailed>(
    mut pieces: impl Stream<Item = Result<Vec<TailRecord<R>>>> + Send + Unpin,
    large_row: impl Fn(Box<EventRecord>) -> BoxFuture<'a, Result<(String, String)>> + Send,
    times: RangeInclusive<UtcTime>,
    bytes: &LogBytes<'_>,
    path: &Path,
) -> Result<TailFile> {
    let mut rows = Rows::create(path)?;
    while let Some(piece) = pieces.try_next().await? {
        bytes.add(piece.iter().map(|tail| tail.record.bytes()).sum())?;
        let mut large: Vec<BoxFuture<'a, Result<(String, String)>>> = Vec::new();
        for tail in piece {
            let Some(row) = tail.record.row(&times)? else {
                continue;
            };
            match row.content {
                Content::Row(text) => rows.add(row.id, &text)?,
                Content::Large(record) => large.push(large_row(record)),
            }
        }
        let mut large = stream::iter(large).buffered(MAX_DETAILS);
        while let Some((id, row)) = large.try_next().await? {
            bytes.add(row.len() as u64)?;
            rows.add(id, &row)?;
        }
    }
    rows.finish(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1_024 * 1_024;

    /// Counts the rows that are made.
    struct Sized<'a> {
        id: u32,
        bytes: u64,
        parsed: &'a AtomicU64,
    }

    impl Tailed for Sized<'_> {
        fn bytes(&self) -> u64 {
            self.bytes
        }

        fn row(self, _: &RangeInclusive<UtcTime>) -> Result<Option<TailRow>> {
            self.parsed.fetch_add(1, Ordering::Relaxed);
            Ok(Some(TailRow {
                id: self.id.to_string(),
                content: Content::Row("{}".to_owned()),
            }))
        }
    }

    /// Reads ten pieces of one record each. Returns the number of rows, of read pieces and of parsed records.
    async fn read(bytes: u64, log: &LogBytes<'_>) -> (Result<usize>, u64, u64) {
        let (reads, parsed) = (AtomicU64::new(0), AtomicU64::new(0));
        let key: RecordKey = serde_json::from_str(r#"{"pk": "p", "sk": "s"}"#).unwrap();
        let pieces = stream::iter(0..10).map(|id| {
            reads.fetch_add(1, Ordering::Relaxed);
            let record = Sized {
                id,
                bytes,
                parsed: &parsed,
            };
            Ok(vec![TailRecord {
                key: key.clone(),
                record,
            }])
        });
        let folder = tempfile::tempdir().unwrap();
        let (path, times) = (folder.path().join("rows"), UtcTime::EPOCH..=UtcTime::EPOCH);
        let written = write(pieces, |_| std::future::pending().boxed(), times, log, &path).await;
        let rows = written.map(|rows| rows.ids.len());
        (rows, reads.into_inner(), parsed.load(Ordering::Relaxed))
    }

    #[test]
    fn rows_are_written_once_and_can_be_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut rows = Rows::create(&path).unwrap();
        for id in ["a", "b", "a", "c"] {
            rows.add(id.to_owned(), &format!("{{\"id\":\"{id}\"}}")).unwrap();
        }
        let mut tail = rows.finish(path).unwrap();
        assert_eq!(tail.ids, ["a", "b", "c"]);
        tail.leave_out(&HashSet::from(["b".to_owned(), "x".to_owned()]))
            .unwrap();
        let text = std::fs::read_to_string(&tail.path).unwrap();
        assert_eq!(text, "{\"id\":\"a\"}\n{\"id\":\"c\"}\n");
        assert_eq!(tail.ids, ["a", "c"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn a_tail_above_the_limit_is_read_and_parsed_no_further() {
        let all = TailBytes::default();
        let (found, reads, parsed) = read(200 * MIB, &LogBytes::new(&all)).await;
        assert_eq!((found.unwrap_err().status(), reads, parsed), (503, 3, 2));
    }

    #[tokio::test]
    async fn the_tails_of_a_snapshot_share_the_limit_and_an_attempt_counts_once() {
        let all = TailBytes::default();
        let (first, second) = (LogBytes::new(&all), LogBytes::new(&all));
        for _ in 0..3 {
            first.restart();
            let (found, reads, parsed) = read(30 * MIB, &first).await;
            assert_eq!((found.unwrap(), reads, parsed), (10, 10, 10));
        }
        let (found, reads, parsed) = read(30 * MIB, &second).await;
        assert_eq!((found.unwrap_err().status(), reads, parsed), (503, 8, 7));
    }
}
