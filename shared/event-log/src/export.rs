//! Exports records into one file, sorted by time and id. It reads the files of a stretch of time, and sorts a
//! bounded number of records at a time, so that memory does not limit the size of the log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lake::{sql_path, sql_paths, sql_text};
use platform::records::logs::{LogId, LogKind};
use platform::{Error, Result, UtcTime};
use serde_json::Value;
use tempfile::TempDir;

use crate::columns::{self, Column, PRIVATE_TO};
use crate::logs::LogFile;
use crate::store::LogStore;

/// Number of records at which the next hour begins another slice, which keeps each sort small.
const MANY: u64 = 200_000;
const HOUR_MS: i64 = 3_600_000;
/// Start of the year 1, a full hour: from here on, hours have positive numbers.
const FIRST_MS: i64 = -62_135_596_800_000;
const ALLOWED: Duration = Duration::from_secs(600);

/// Format of an export; independent of the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header and a line per record; lists and objects as JSON. A text that a spreadsheet would run as a
    /// formula begins with `'`.
    Csv,
    /// A JSON object per record; an event in the form of its envelope.
    Ndjson,
    /// The columns of the log's own files.
    Parquet,
}

/// Records of some logs of one kind, between two times.
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    /// Logs of one kind and one account, at least one.
    pub logs: &'a [LogId],
    /// Earliest time of a record.
    pub from: UtcTime,
    /// Latest time of a record.
    pub to: UtcTime,
    /// Format of the file.
    pub format: ExportFormat,
    /// Whether records of private runs are part of it.
    pub private: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of records written so far, of all logs.
    pub written: u64,
    /// Number of records in the files of the time range: an estimate of the total.
    pub expected: u64,
}

impl LogStore {
    /// Writes the records of a time range into `output`, each once, and returns their number. It may leave
    /// out a record that arrives meanwhile.
    pub async fn export(
        &self,
        export: &Export<'_>,
        output: &Path,
        mut progress: impl FnMut(Progress),
    ) -> Result<u64> {
        let first = export.logs.first();
        let first = first.ok_or_else(|| Error::internal("an export of no log"))?;
        let mut parts = Parts::new(self, first, export)?;
        parts.add_empty().await?;
        let files = self.files_of(export).await?;
        let expected = files.iter().map(|file| file.records).sum();
        progress(Progress { written: 0, expected });
        let mut written = 0;
        for (from, until) in segments(export, &files, self.cache_bytes() / 2) {
            let snapshot = self.snapshot(export.logs, from, before(until)).await?;
            for (from, until) in slices(&snapshot, from, until).await? {
                let private = match export.private {
                    true => String::new(),
                    false => format!(" AND {PRIVATE_TO} IS NULL"),
                };
                let relation = format!(
                    "{} WHERE \"timestamp\" >= {} AND \"timestamp\" {}{private}",
                    snapshot.source(),
                    literal(from),
                    is_before(until)
                );
                written += parts.add(&relation).await?;
                progress(Progress { written, expected });
            }
        }
        parts.finish(output).await?;
        Ok(written)
    }

    /// Returns the files with records of the time range.
    async fn files_of(&self, export: &Export<'_>) -> Result<Vec<LogFile>> {
        let mut found = Vec::new();
        for log in export.logs {
            let files = self.logs().files(log, export.from, export.to).await?;
            found.extend(files.into_iter().filter(|file| file.replaced_by.is_none()));
        }
        Ok(found)
    }
}

/// Splits the time range into stretches, each with its start and its exclusive end, whose files have at most
/// `most_bytes` together. Where files span the same time, no split parts them.
fn segments(export: &Export<'_>, files: &[LogFile], most_bytes: u64) -> Vec<(UtcTime, UtcTime)> {
    let end = export.to.plus_ms(1);
    let mut bounds = BTreeSet::from([export.from, end]);
    bounds.extend(files.iter().flat_map(|file| [file.from, file.to.plus_ms(1)]));
    let bounds: Vec<UtcTime> = bounds.range(export.from..=end).copied().collect();
    let bytes = |from: UtcTime, until: UtcTime| -> u64 {
        let files = files.iter().filter(|file| file.overlaps(from, before(until)));
        files.map(|file| file.bytes).sum()
    };
    let mut segments: Vec<(UtcTime, UtcTime)> = Vec::new();
    for (from, until) in bounds.iter().zip(bounds.iter().skip(1)) {
        match segments.last_mut() {
            Some((begin, last)) if bytes(*begin, *until) <= most_bytes => *last = *until,
            _ => segments.push((*from, *until)),
        }
    }
    segments
}

/// Splits a stretch of time at full hours into slices of about [`MANY`] records.
async fn slices(
    snapshot: &crate::Snapshot,
    from: UtcTime,
    until: UtcTime,
) -> Result<Vec<(UtcTime, UtcTime)>> {
    let sql = format!(
        "WITH hours AS (SELECT (epoch_ms(\"timestamp\") - {FIRST_MS}) // {HOUR_MS} AS hour, count(*) AS records \
         FROM {} WHERE \"timestamp\" >= {} AND \"timestamp\" {} GROUP BY 1), \
         running AS (SELECT hour, sum(records) OVER (ORDER BY hour) // {MANY} AS slice FROM hours) \
         SELECT CAST(max(hour) + 1 AS BIGINT) FROM running GROUP BY slice ORDER BY 1",
        snapshot.source(),
        literal(from),
        is_before(until)
    );
    let mut slices = Vec::new();
    let mut begin = from;
    for row in snapshot.rows(&sql, &[]).await? {
        let hour = row.first().and_then(Value::as_i64);
        let end = hour.and_then(|hour| start_of(hour, until));
        let end = end.ok_or_else(|| Error::internal("the hours of an export cannot be read"))?;
        slices.push((begin, end));
        begin = end;
    }
    Ok(slices)
}

/// Returns the start of an hour, counted from the year 1, or the end of the stretch where that is earlier:
/// the hour after the latest possible time has no start.
fn start_of(hour: i64, until: UtcTime) -> Option<UtcTime> {
    let millis = hour.checked_mul(HOUR_MS)?.checked_add(FIRST_MS)?;
    Some(UtcTime::from_millis(millis).map_or(until, |start| start.min(until)))
}

/// Returns the condition of SQL for times of a stretch that ends before `until`.
fn is_before(until: UtcTime) -> String {
    let sign = if is_latest(until) { "<=" } else { "<" };
    format!("{sign} {}", literal(until))
}

/// Whether an exclusive end is the latest possible time, which no end comes after: it belongs to the stretch.
fn is_latest(time: UtcTime) -> bool {
    time.plus_ms(1) == time
}

/// Returns the last millisecond of a stretch that ends before a time.
fn before(time: UtcTime) -> UtcTime {
    match is_latest(time) {
        true => time,
        false => UtcTime::from_millis(time.as_millis() - 1).unwrap_or(time),
    }
}

fn literal(time: UtcTime) -> String {
    format!("TIMESTAMPTZ {}", sql_text(&time.to_string()))
}

/// Files that are concatenated at the end.
struct Parts<'a> {
    store: &'a LogStore,
    account: &'a str,
    kind: LogKind,
    format: ExportFormat,
    private: bool,
    folder: TempDir,
    paths: Vec<PathBuf>,
}

impl<'a> Parts<'a> {
    fn new(store: &'a LogStore, log: &'a LogId, export: &Export<'_>) -> Result<Self> {
        Ok(Self {
            store,
            account: &log.account,
            kind: log.kind,
            format: export.format,
            private: export.private,
            folder: store.temporary_folder(&log.account)?,
            paths: Vec::new(),
        })
    }

    /// Adds an empty part for an export without records: a header, or columns.
    async fn add_empty(&mut self) -> Result<()> {
        let nothing = columns::nothing(self.kind);
        self.add(&nothing).await.map(drop)
    }

    /// Adds the records of a relation, sorted by time and id; returns their number.
    async fn add(&mut self, relation: &str) -> Result<u64> {
        let path = self.folder.path().join(self.paths.len().to_string());
        let sql = format!(
            "COPY (SELECT {} FROM {relation} ORDER BY \"timestamp\", \"{}\") TO {} ({})",
            self.list(),
            columns::id(self.kind),
            sql_path(&path)?,
            self.options()
        );
        let written = self.execute(&sql).await?;
        self.paths.push(path);
        Ok(written)
    }

    async fn execute(&self, sql: &str) -> Result<u64> {
        let mut session = self.store.session(self.account, ALLOWED).await?;
        session.execute(sql).await
    }

    fn options(&self) -> String {
        match self.format {
            // The first part is the header alone. Texts are quoted, also those that need it only for another
            // separator.
            ExportFormat::Csv if self.paths.is_empty() => "FORMAT csv, HEADER".to_owned(),
            ExportFormat::Csv => format!(
                "FORMAT csv, HEADER false, FORCE_QUOTE ({})",
                self.texts().join(", ")
            ),
            ExportFormat::Ndjson => "FORMAT json".to_owned(),
            ExportFormat::Parquet => PARQUET.to_owned(),
        }
    }

    /// Returns the columns of the file.
    fn columns(&self) -> impl Iterator<Item = Column> {
        let is_flat = |column: &Column| columns::FLAT_METERS.iter().any(|flat| flat.column == column.name);
        let columns = columns::all(self.kind).into_iter();
        columns
            .filter(move |column| self.format != ExportFormat::Ndjson || !is_flat(column))
            .filter(|column| self.private || column.name != PRIVATE_TO)
    }

    fn list(&self) -> String {
        let list: Vec<_> = self.columns().map(|column| self.shown(column)).collect();
        list.join(", ")
    }

    /// Returns the columns that are texts in CSV, quoted.
    fn texts(&self) -> Vec<String> {
        let texts = self.columns().filter(is_text);
        texts.map(|column| format!("\"{}\"", column.name)).collect()
    }

    fn shown(&self, column: Column) -> String {
        let name = column.name;
        match (self.format, column.sql_type) {
            (ExportFormat::Parquet, _) => format!("\"{name}\""),
            (_, "TIMESTAMPTZ") => {
                format!("strftime(\"{name}\"::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%gZ') AS \"{name}\"")
            }
            (ExportFormat::Ndjson, _) if ["details", "resource_data"].contains(&name) => {
                format!("\"{name}\"::JSON AS \"{name}\"")
            }
            (ExportFormat::Csv, list) if list.ends_with("[]") => {
                format!("to_json(\"{name}\")::VARCHAR AS \"{name}\"")
            }
            (ExportFormat::Csv, "VARCHAR") => format!("{} AS \"{name}\"", guarded(name)),
            _ => format!("\"{name}\""),
        }
    }

    /// Concatenates the parts into one file.
    async fn finish(self, output: &Path) -> Result<()> {
        let unwritable =
            |error: io::Error| Error::invalid(format!("{} cannot be written: {error}.", output.display()));
        if self.format == ExportFormat::Parquet {
            let whole = self.folder.path().join("whole");
            let parts = sql_paths(self.paths.iter().map(PathBuf::as_path))?;
            let sql = format!(
                "COPY (SELECT * FROM read_parquet({parts})) TO {} ({PARQUET})",
                sql_path(&whole)?
            );
            self.execute(&sql).await?;
            return std::fs::copy(whole, output).map(drop).map_err(unwritable);
        }
        let mut file = File::create(output).map_err(unwritable)?;
        for path in &self.paths {
            let mut part = File::open(path).map_err(Error::internal)?;
            io::copy(&mut part, &mut file).map_err(unwritable)?;
        }
        Ok(())
    }
}

/// Whether a column is a text in CSV, where lists are JSON.
fn is_text(column: &Column) -> bool {
    column.sql_type == "VARCHAR" || column.sql_type.ends_with("[]")
}

/// Returns the SQL of a text column with a `'` before texts that a spreadsheet would run: also after white
/// space and characters that are not shown, which some remove, and in the full width of East Asian texts.
fn guarded(name: &str) -> String {
    format!(
        "CASE WHEN regexp_matches(\"{name}\", '^([\\pZ\\pC]*[=+\\-@\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}]|[\\t\\r\\n])') \
         THEN '''' || \"{name}\" ELSE \"{name}\" END"
    )
}

const PARQUET: &str = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> UtcTime {
        text.parse().unwrap()
    }

    fn file(from: &str, to: &str, bytes: u64) -> LogFile {
        serde_json::from_value(json!({
            "id": "f", "day": "2026-11-24", "records": 1, "bytes": bytes, "sha256": "", "digest": 0,
            "from": from, "to": to, "written_at": "2026-11-24T00:00:00Z",
        }))
        .unwrap()
    }

    fn texts(files: &[LogFile], most_bytes: u64) -> String {
        let export = Export {
            logs: &[],
            from: at("2026-11-01T12:00:00Z"),
            to: at("2026-11-24T11:59:59.999Z"),
            format: ExportFormat::Csv,
            private: false,
        };
        let segments = segments(&export, files, most_bytes).into_iter();
        let texts = segments.map(|(from, until)| format!("{from} {until}"));
        texts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_time_is_split_where_its_files_are_too_large_together() {
        let files = [
            file("2026-11-01T00:00:00Z", "2026-11-01T23:00:00Z", 50),
            file("2026-11-20T00:00:00Z", "2026-11-20T23:00:00Z", 50),
            file("2026-11-24T00:00:00Z", "2026-11-24T23:00:00Z", 150),
        ];
        let whole = "2026-11-01T12:00:00.000Z 2026-11-24T12:00:00.000Z";
        assert_eq!(texts(&files, 250), whole);
        assert_eq!(texts(&[], 0), whole);
        insta::assert_snapshot!(texts(&files, 100), @r"
        2026-11-01T12:00:00.000Z 2026-11-24T00:00:00.000Z
        2026-11-24T00:00:00.000Z 2026-11-24T12:00:00.000Z
        ");
        // A file of all times is in each part.
        let wide = file("1970-01-01T00:00:00Z", "2099-01-01T00:00:00Z", 60);
        insta::assert_snapshot!(texts(&[files[0].clone(), files[1].clone(), wide], 120), @r"
        2026-11-01T12:00:00.000Z 2026-11-20T00:00:00.000Z
        2026-11-20T00:00:00.000Z 2026-11-24T12:00:00.000Z
        ");
    }

    /// Hours from the year 1 to the one after that of `time`.
    fn hour_after(time: &str) -> i64 {
        (at(time).as_millis() - FIRST_MS).div_euclid(HOUR_MS) + 1
    }

    #[test]
    fn a_slice_ends_at_an_hour_or_with_its_stretch() {
        let until = at("2026-11-24T12:30:00Z");
        let start = |time: &str| start_of(hour_after(time), until);
        assert_eq!(
            start("2026-11-24T10:59:59.999Z"),
            Some(at("2026-11-24T11:00:00Z"))
        );
        assert_eq!(start("2026-11-24T12:10:00Z"), Some(until));
        assert_eq!(start("0001-01-01T00:00:00Z"), Some(at("0001-01-01T01:00:00Z")));
        // No time is an hour after the last one that a sender can give.
        let last = "9999-12-31T23:00:00Z";
        let end = at(last).plus_ms(1);
        assert_eq!(start_of(hour_after(last), end), Some(end));
    }
}
