//! Writes files of a log, from rows or from other files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use lake::{FolderSession, sql_path};
use platform::records::logs::LogKind;
use platform::{Error, Result, UtcTime};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::columns::{self, PRIVATE_TO};
use crate::logs::LogFile;

/// Maximum number of rows of a row group.
const MAX_GROUP_ROWS: u64 = 122_880;
/// Minimum number of rows of a row group: DuckDB processes this many at a time.
const MIN_GROUP_ROWS: u64 = 2_048;
/// Approximate size of a row group before compression: DuckDB holds a few row groups while it writes.
const GROUP_BYTES: u64 = 64 * 1_024 * 1_024;
/// Upper estimate of the size of an audit record, and of an event without its JSON, in bytes.
const RECORD_BYTES: u64 = 400;

/// Properties of a written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Number of records, without repeated ids.
    pub records: u64,
    /// Number of them that are private to someone.
    pub private: u64,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Earliest time of a record.
    pub from: UtcTime,
    /// Latest time of a record.
    pub to: UtcTime,
}

impl WrittenFile {
    /// Returns the item of the file. `day` is the day of its records, and `digest` the sequence of the digest
    /// that will list it.
    pub fn into_file(self, id: String, day: &str, written_at: UtcTime, digest: u64) -> LogFile {
        LogFile {
            id,
            day: day.to_owned(),
            records: self.records,
            private: self.private,
            bytes: self.bytes,
            sha256: self.sha256,
            from: self.from,
            to: self.to,
            written_at,
            first_written_at: None,
            digest,
            replaces: Vec::new(),
            replaced_by: None,
            replaced_at: None,
        }
    }
}

/// Writes the records of files of rows into a new file, sorted by time and id, each id once. All files must
/// be in the folder of `session`, with at least one row.
pub async fn write(
    session: &mut FolderSession<'_>,
    kind: LogKind,
    rows: &[PathBuf],
    output: &Path,
) -> Result<WrittenFile> {
    let relation = columns::from_rows(kind, rows.iter().map(PathBuf::as_path))?;
    copy(session, kind, &relation, output).await
}

/// Writes the records of files into one new file, sorted by time and id. All files must be in the folder of
/// `session`.
pub async fn merge(
    session: &mut FolderSession<'_>,
    kind: LogKind,
    files: &[PathBuf],
    output: &Path,
) -> Result<WrittenFile> {
    let relation = columns::from_parquet(kind, files.iter().map(PathBuf::as_path))?;
    copy(session, kind, &relation, output).await
}

async fn copy(
    session: &mut FolderSession<'_>,
    kind: LogKind,
    relation: &str,
    output: &Path,
) -> Result<WrittenFile> {
    let (id, list) = (columns::id(kind), columns::list(kind));
    let group_rows = group_rows(session, kind, relation).await?;
    let copy = format!(
        "COPY (SELECT DISTINCT ON (\"{id}\") {list} FROM {relation} ORDER BY \"timestamp\", \"{id}\") TO {} \
         (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, ROW_GROUP_SIZE {group_rows})",
        sql_path(output)?
    );
    session.execute(&copy).await?;
    describe(session, output).await
}

/// Returns the number of rows of a row group: fewer where records are large.
async fn group_rows(session: &mut FolderSession<'_>, kind: LogKind, relation: &str) -> Result<u64> {
    let json_bytes = match kind {
        LogKind::Events => "sum(strlen(details) + strlen(resource_data))::BIGINT",
        LogKind::Audit => "0",
    };
    let sums = format!("SELECT count(*), {json_bytes} FROM {relation}");
    let sums = session.rows(&sums, &[]).await?;
    let number = |at: usize| sums.first()?.get(at)?.as_u64();
    let rows = number(0).filter(|rows| *rows > 0);
    let rows = rows.ok_or_else(|| Error::internal("a file of a log would have no records"))?;
    Ok(fitting_rows(number(1).unwrap_or(0) / rows))
}

/// Returns the number of rows of a row group for records with this much JSON each, in bytes.
fn fitting_rows(json_bytes: u64) -> u64 {
    (GROUP_BYTES / (json_bytes + RECORD_BYTES)).clamp(MIN_GROUP_ROWS, MAX_GROUP_ROWS)
}

async fn describe(session: &mut FolderSession<'_>, file: &Path) -> Result<WrittenFile> {
    let figures = format!(
        "SELECT count(*), min(\"timestamp\"), max(\"timestamp\"), count({PRIVATE_TO}) FROM read_parquet({})",
        sql_path(file)?
    );
    let figures = session.rows(&figures, &[]).await?;
    let figure = |at: usize| figures.first().and_then(|row| row.get(at));
    let time = |at| {
        figure(at)
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok())
    };
    let number = |at| figure(at).and_then(Value::as_u64);
    let (Some(records), Some(from), Some(to), Some(private)) = (number(0), time(1), time(2), number(3))
    else {
        return Err(Error::internal("a file of a log cannot be described"));
    };
    let path = file.to_owned();
    let summed = tokio::task::spawn_blocking(move || sum(&path)).await;
    let (bytes, sha256) = summed.map_err(Error::internal)?.map_err(Error::internal)?;
    Ok(WrittenFile {
        records,
        private,
        bytes,
        sha256,
        from,
        to,
    })
}

/// Returns the size of a file in bytes, and its SHA-256 in hexadecimal.
pub fn sum(path: &Path) -> std::io::Result<(u64, String)> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1_024 * 1_024];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((bytes, hex::encode(hasher.finalize()))),
            count => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_records_make_small_row_groups() {
        assert_eq!(fitting_rows(100), MAX_GROUP_ROWS);
        assert_eq!(fitting_rows(10_000), 6_452);
        assert_eq!(fitting_rows(6_000_000), MIN_GROUP_ROWS);
    }
}
