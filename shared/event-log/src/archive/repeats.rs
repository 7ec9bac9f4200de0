//! Leaves out records that were sent again after they expired in DynamoDB.
//!
//! While a record is in DynamoDB, the table refuses a second one with its id. A record that is repeated after
//! the expiry is in a file written at least that long ago, and in one that spans its time if the sender
//! repeats the event unchanged. Events of today are in no such file, so this reads nothing for them.

use std::collections::HashSet;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use lake::{sql_path, sql_paths};
use platform::{Error, Result};
use serde_json::Value;
use tracing::warn;

use super::merging::first_written_at;
use super::records::{Pending, write_rows};
use super::{Pass, discard};
use crate::columns;
use crate::logs::LogFile;

/// Maximum total size of the files that a batch is compared with. A sender with events of all times has files
/// that span all times, and must not keep the archiver at reading them.
const MAX_BYTES: u64 = 4 * 1_024 * 1_024 * 1_024;
/// Maximum total size of the files of one query, which are on the disk together; a larger file is alone.
const QUERY_BYTES: u64 = 256 * 1_024 * 1_024;
/// Maximum number of files of one query.
const QUERY_FILES: usize = 90;
/// Number of concurrent downloads.
const FETCHES: usize = 8;

impl Pass<'_> {
    /// Returns the records whose ids are in no older file of their time.
    pub(super) async fn without_repeats(&self, pending: Vec<Pending>) -> Result<Vec<Pending>> {
        let files = self.old_files(&pending).await?;
        if files.is_empty() {
            return Ok(pending);
        }
        let ids = self.path("ids.ndjson");
        let rows = pending
            .iter()
            .map(|record| serde_json::json!({ "id": record.id }).to_string());
        let rows: Vec<_> = rows.collect();
        write_rows(&self.log.account, ids, rows).await?;
        let mut known = HashSet::new();
        for part in parts(files) {
            known.extend(self.known_ids(&part).await?);
        }
        Ok(pending
            .into_iter()
            .filter(|record| !known.contains(&record.id))
            .collect())
    }

    /// Returns the files that span the time of a record, and whose records may have expired: those of the
    /// shortest times first, up to [`MAX_BYTES`].
    async fn old_files(&self, pending: &[Pending]) -> Result<Vec<LogFile>> {
        let mut times: Vec<_> = pending.iter().map(|record| record.time).collect();
        times.sort_unstable();
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Ok(Vec::new());
        };
        let now = self.now();
        let mut files = self.archiver.logs.files(self.log, *first, *last).await?;
        files.retain(|file| {
            let at = times.partition_point(|time| *time < file.from);
            file.replaced_by.is_none()
                && self.until(first_written_at(file)) <= now
                && times.get(at).is_some_and(|time| *time <= file.to)
        });
        files.sort_by_key(|file| file.to.millis_since(file.from));
        let all = files.len();
        let mut bytes = 0;
        files.retain(|file| {
            bytes += file.bytes;
            bytes <= MAX_BYTES
        });
        if files.len() < all {
            warn!(
                account = self.log.account,
                project = self.log.project,
                files = all - files.len(),
                "old records are not compared with all files of their times; a repeated event may count twice"
            );
        }
        Ok(files)
    }

    /// Returns the ids in the file of ids that files have.
    async fn known_ids(&self, files: &[LogFile]) -> Result<HashSet<String>> {
        let paths = files.iter().map(|file| self.fetch(&file.day, &file.id).boxed());
        let paths: Vec<BoxFuture<'_, Result<std::path::PathBuf>>> = paths.collect();
        let paths: Vec<_> = stream::iter(paths).buffered(FETCHES).try_collect().await?;
        let sql = format!(
            "SELECT DISTINCT {id} FROM read_parquet({files}) WHERE {id} IN \
             (SELECT id FROM read_json({ids}, format = 'newline_delimited', columns = {{id: 'VARCHAR'}}))",
            id = columns::id(self.log.kind),
            files = sql_paths(paths.iter().map(std::path::PathBuf::as_path))?,
            ids = sql_path(&self.path("ids.ndjson"))?,
        );
        let rows = self.session().await?.rows(&sql, &[]).await?;
        paths.iter().for_each(|path| discard(path));
        let known = rows.into_iter().map(|row| match row.into_iter().next() {
            Some(Value::String(id)) => Ok(id),
            _ => Err(Error::internal("a file of a log has a record without an id")),
        });
        known.collect()
    }
}

/// Splits files into those of one query each.
fn parts(files: Vec<LogFile>) -> Vec<Vec<LogFile>> {
    let mut parts: Vec<Vec<LogFile>> = Vec::new();
    let mut bytes = 0;
    for file in files {
        bytes += file.bytes;
        match parts.last_mut() {
            Some(part) if bytes <= QUERY_BYTES && part.len() < QUERY_FILES => part.push(file),
            _ => {
                bytes = file.bytes;
                parts.push(vec![file]);
            }
        }
    }
    parts
}
