//! Reads each record of some logs exactly once, whether it is in a file or in the tail.
//!
//! Files and tail of a log are read between two reads of its head. An equal revision proves that no file was
//! committed meanwhile, so every record is in a file of that revision or still in the tail. A record can be
//! in both only if the head names its file as unsettled: then the reader takes it from the file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use futures::future::{BoxFuture, FutureExt as _, try_join};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use lake::Pin;
use platform::records::logs::{LogHead, LogId, LogKind};
use platform::{Error, Result, UtcTime, low_priority};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::columns;
use crate::logs::LogFile;
use crate::store::LogStore;
use crate::tail::{LogBytes, TailBytes, TailFile, tail};

/// Attempts to read a log while archivers commit.
const MAX_ATTEMPTS: usize = 3;
/// Number of logs read at a time.
const MAX_LOGS: usize = 16;

/// Records of some logs of an account at one moment. Keeps its files on disk while it exists.
pub struct Snapshot {
    store: LogStore,
    account: String,
    files: Vec<SnapshotFile>,
    tail: Option<Tail>,
    source: String,
}

/// A file of a snapshot. It stays on disk while the snapshot exists.
pub struct SnapshotFile {
    pub log: LogId,
    /// Item of the file when the snapshot was taken.
    pub file: LogFile,
    pin: Pin,
}

impl SnapshotFile {
    /// Returns the path of the local copy.
    pub fn path(&self) -> &Path {
        self.pin.path()
    }
}

/// Records that are in no file of the log, as files of rows.
struct Tail {
    records: usize,
    relation: String,
    _folder: TempDir,
}

/// State of a log between two reads of its head.
struct LogView {
    log: LogId,
    files: Vec<LogFile>,
    /// Ids in `files` whose records may be in the tail too.
    unsettled: HashSet<String>,
    tail: TailFile,
}

impl Snapshot {
    /// Returns the SQL of a relation with the columns of the logs' kind, which has each record once. It
    /// contains all records between the times of the snapshot, and may contain others.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the files that may have records between the times of the snapshot, by log.
    pub fn files(&self) -> &[SnapshotFile] {
        &self.files
    }

    /// Returns the number of records between the times of the snapshot that are in no file.
    pub fn tail_records(&self) -> usize {
        self.tail.as_ref().map_or(0, |tail| tail.records)
    }

    /// Returns the SQL of a relation of the records that are in no file; None where there are none.
    pub fn tail(&self) -> Option<&str> {
        self.tail.as_ref().map(|tail| tail.relation.as_str())
    }

    /// Runs one statement over [`source`](Self::source), with the values of its `?`; see
    /// [`lake::FolderSession::rows`].
    pub async fn rows(&self, sql: &str, params: &[Value]) -> Result<Vec<Vec<Value>>> {
        let allowed = self.store.engine().limits().deadline;
        let mut session = self.store.session(&self.account, allowed).await?;
        session.rows(sql, params).await
    }
}

impl LogStore {
    /// Takes a snapshot of the records of logs of one kind and one account from `from` to `to`, both
    /// included. Fails with 503 while archivers commit too often, and with 422 where the files exceed what
    /// the process can hold.
    pub async fn snapshot(&self, logs: &[LogId], from: UtcTime, to: UtcTime) -> Result<Snapshot> {
        let first = logs
            .first()
            .ok_or_else(|| Error::internal("a snapshot of no log"))?;
        let (account, kind) = (first.account.clone(), first.kind);
        if logs.iter().any(|log| log.account != account || log.kind != kind) {
            return Err(Error::internal("a snapshot of logs of several accounts or kinds"));
        }
        let _permit = self.tail_permit(&account).await?;
        let folder = self.temporary_folder(&account)?;
        let (store, logs, path) = (self.clone(), logs.to_vec(), folder.path().to_owned());
        let views = low_priority::run(
            &account,
            async move { store.views(&logs, (from, to), &path).await },
        );
        let mut views = views.await??;
        self.check_size(&views)?;
        let files = self.pin(&views).await?;
        self.leave_out_archived(&account, &mut views, &files).await?;
        let tail = tail_of(kind, views, folder)?;
        Ok(Snapshot {
            source: source(kind, &files, tail.as_ref())?,
            store: self.clone(),
            account,
            files,
            tail,
        })
    }

    /// Reads logs, and writes their tails to files in a folder.
    async fn views(&self, logs: &[LogId], times: (UtcTime, UtcTime), folder: &Path) -> Result<Vec<LogView>> {
        let bytes = TailBytes::default();
        let views = logs.iter().enumerate().map(|(number, log)| {
            let path = folder.join(format!("{number}.ndjson"));
            self.view(log, times, &bytes, path).boxed()
        });
        let views: Vec<BoxFuture<'_, Result<LogView>>> = views.collect();
        stream::iter(views).buffered(MAX_LOGS).try_collect().await
    }

    fn check_size(&self, views: &[LogView]) -> Result<()> {
        let bytes: u64 = views
            .iter()
            .flat_map(|view| &view.files)
            .map(|file| file.bytes)
            .sum();
        let most = self.cache_bytes();
        if bytes > most {
            return Err(Error::unprocessable(format!(
                "The log has {} MB of files for this time, and a request can read {} MB. Ask for a shorter time, or for \
                 one project.",
                bytes / 1_000_000,
                most / 1_000_000
            )));
        }
        Ok(())
    }

    async fn pin(&self, views: &[LogView]) -> Result<Vec<SnapshotFile>> {
        let mut files = Vec::new();
        for view in views {
            let pins = self.local_files(&view.log, &view.files).await?;
            let pinned = view.files.iter().zip(pins);
            files.extend(pinned.map(|(file, pin)| SnapshotFile {
                log: view.log.clone(),
                file: file.clone(),
                pin,
            }));
        }
        Ok(files)
    }

    /// Removes the records from the tails that an unsettled file holds.
    async fn leave_out_archived(
        &self,
        account: &str,
        views: &mut [LogView],
        files: &[SnapshotFile],
    ) -> Result<()> {
        for view in views {
            if view.tail.ids.is_empty() || view.unsettled.is_empty() {
                continue;
            }
            let unsettled = files.iter().filter(|file| view.unsettled.contains(&file.file.id));
            let relation = columns::from_parquet(view.log.kind, unsettled.map(SnapshotFile::path))?;
            let id = columns::id(view.log.kind);
            let sql = format!(
                "SELECT \"{id}\" FROM {relation} WHERE \"{id}\" IN (SELECT unnest(?::JSON::VARCHAR[]))"
            );
            let ids = &view.tail.ids;
            let allowed = self.engine().limits().deadline;
            let mut session = self.session(account, allowed).await?;
            let archived = session.rows(&sql, &[json!(ids)]).await?;
            let archived = archived.iter().flatten().filter_map(Value::as_str);
            let archived: HashSet<String> = archived.map(str::to_owned).collect();
            if !archived.is_empty() {
                view.tail.leave_out(&archived)?;
            }
        }
        Ok(())
    }

    async fn view(
        &self,
        log: &LogId,
        (from, to): (UtcTime, UtcTime),
        bytes: &TailBytes,
        path: PathBuf,
    ) -> Result<LogView> {
        let mut view = LogView {
            log: log.clone(),
            files: Vec::new(),
            unsettled: HashSet::new(),
            tail: TailFile::default(),
        };
        if from > to {
            return Ok(view);
        }
        let (logs, bytes) = (self.logs(), LogBytes::new(bytes));
        let read = || {
            let tail = tail((logs, self.objects()), log, from..=to, &bytes, &path);
            try_join(logs.files(log, from, to), tail).boxed()
        };
        let Some((head, (files, tail))) = between_heads(|| logs.head(log).boxed(), read).await? else {
            return Ok(view);
        };
        view.unsettled = unsettled(&head, &files);
        view.files = files;
        view.files.retain(|file| file.replaced_by.is_none());
        view.unsettled
            .retain(|id| view.files.iter().any(|file| file.id == *id));
        view.tail = tail;
        Ok(view)
    }
}

fn tail_of(kind: LogKind, views: Vec<LogView>, folder: TempDir) -> Result<Option<Tail>> {
    let mut tails = views.into_iter().map(|view| view.tail).collect::<Vec<_>>();
    tails.retain(|tail| !tail.ids.is_empty());
    if tails.is_empty() {
        return Ok(None);
    }
    Ok(Some(Tail {
        records: tails.iter().map(|tail| tail.ids.len()).sum(),
        relation: columns::from_rows(kind, tails.iter().map(|tail| tail.path.as_path()))?,
        _folder: folder,
    }))
}

fn source(kind: LogKind, files: &[SnapshotFile], tail: Option<&Tail>) -> Result<String> {
    let tail = tail.map(|tail| tail.relation.as_str());
    if files.is_empty() {
        return Ok(tail.map_or_else(|| columns::nothing(kind), str::to_owned));
    }
    let files = columns::from_parquet(kind, files.iter().map(SnapshotFile::path))?;
    Ok(match tail {
        Some(tail) => format!("({files} UNION ALL {tail})"),
        None => files,
    })
}

/// Returns the result of `read` between two reads of the same revision of a log, with its head. None where
/// the log has no head and therefore no records.
async fn between_heads<'a, T>(
    head: impl Fn() -> BoxFuture<'a, Result<Option<LogHead>>>,
    read: impl Fn() -> BoxFuture<'a, Result<T>>,
) -> Result<Option<(LogHead, T)>> {
    let Some(mut before) = head().await? else {
        return Ok(None);
    };
    for _ in 0..MAX_ATTEMPTS {
        let found = read().await?;
        let after = head().await?;
        let after = after.ok_or_else(|| Error::internal("the head of a log is gone"))?;
        if after.revision == before.revision {
            return Ok(Some((after, found)));
        }
        before = after;
    }
    Err(Error::unavailable("the log changes too often to be read"))
}

/// Returns the ids of files whose records may be in the tail too. A merged file stands for the files that it
/// replaces.
fn unsettled(head: &LogHead, files: &[LogFile]) -> HashSet<String> {
    let replaced: HashMap<&str, &str> = files
        .iter()
        .filter_map(|file| Some((file.id.as_str(), file.replaced_by.as_deref()?)))
        .collect();
    let mut ids = HashSet::new();
    for file in &head.unsettled {
        let mut id = file.id.as_str();
        while let Some(by) = replaced.get(id) {
            id = by;
        }
        ids.insert(id.to_owned());
    }
    ids
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::ready;
    use platform::records::logs::FileRef;

    use super::*;

    fn head(revision: u64) -> LogHead {
        let head = json!({ "revision": revision, "due_at": "2026-11-24T00:00:00Z" });
        serde_json::from_value(head).unwrap()
    }

    async fn revisions(read: &[u64]) -> (Result<Option<(LogHead, usize)>>, usize) {
        let (heads, reads) = (Mutex::new(read.iter()), Mutex::new(0));
        let found = between_heads(
            || {
                let revision = heads.lock().unwrap().next();
                ready(Ok(revision.map(|revision| head(*revision)))).boxed()
            },
            || {
                *reads.lock().unwrap() += 1;
                ready(Ok(*reads.lock().unwrap())).boxed()
            },
        );
        let found = found.await;
        let reads = *reads.lock().unwrap();
        (found, reads)
    }

    #[tokio::test]
    async fn a_log_that_changes_meanwhile_is_read_again() {
        let (found, reads) = revisions(&[4, 4]).await;
        assert_eq!((found.unwrap(), reads), (Some((head(4), 1)), 1));
        let (found, reads) = revisions(&[4, 5, 7, 7]).await;
        assert_eq!((found.unwrap(), reads), (Some((head(7), 3)), 3));
        let (found, reads) = revisions(&[4, 5, 6, 7]).await;
        assert_eq!((found.unwrap_err().status(), reads), (503, 3));
        let (found, reads) = revisions(&[]).await;
        assert_eq!((found.unwrap(), reads), (None, 0));
    }

    #[test]
    fn a_merged_file_stands_for_an_unsettled_one() {
        let file = |id: &str, by: Option<&str>| -> LogFile {
            serde_json::from_value(json!({
                "id": id, "day": "2026-11-24", "records": 1, "bytes": 1, "sha256": "", "digest": 0,
                "from": "2026-11-24T00:00:00Z", "to": "2026-11-24T00:00:00Z", "written_at": "2026-11-24T00:00:00Z",
                "replaced_by": by
            }))
            .unwrap()
        };
        let files = [
            file("a", Some("c")),
            file("b", None),
            file("c", Some("d")),
            file("d", None),
        ];
        let reference = |id: &str| FileRef {
            day: "2026-11-24".to_owned(),
            id: id.to_owned(),
        };
        let head = LogHead {
            unsettled: vec![reference("a"), reference("x")],
            ..head(1)
        };
        assert_eq!(
            unsettled(&head, &files),
            HashSet::from(["d".to_owned(), "x".to_owned()])
        );
    }
}
