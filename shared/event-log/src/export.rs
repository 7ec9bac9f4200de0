//! Exports records into one file, sorted by time and id. It works day by day, so that memory does not limit
//! the size of the log.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lake::{sql_path, sql_paths, sql_text};
use platform::records::logs::{LogFile, LogId, LogKind};
use platform::{Error, Result, UtcTime};
use tempfile::TempDir;

use crate::columns::{self, Column, PRIVATE_TO};
use crate::store::LogStore;

/// Number of records of a day from which it is written hour by hour, which keeps each sort small.
const MANY: u64 = 200_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const HOUR_MS: u64 = 3_600_000;
const ALLOWED: Duration = Duration::from_secs(600);

/// Format of an export; independent of the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header and a line per record; lists and objects as JSON.
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
        for (from, until) in segments(export, &files) {
            let snapshot = self.snapshot(export.logs, from, before(until)).await?;
            for (from, until) in slices(from, until, &snapshot_files(&snapshot)) {
                let private = match export.private {
                    true => String::new(),
                    false => format!(" AND {PRIVATE_TO} IS NULL"),
                };
                let relation = format!(
                    "{} WHERE \"timestamp\" >= {} AND \"timestamp\" < {}{private}",
                    snapshot.source(),
                    literal(from),
                    literal(until)
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
            let files = self
                .logs()
                .files(log, &export.from.day(), &export.to.day())
                .await?;
            let overlaps = |file: &LogFile| {
                file.replaced_by.is_none() && file.from <= export.to && export.from <= file.to
            };
            found.extend(files.into_iter().filter(overlaps));
        }
        Ok(found)
    }
}

fn snapshot_files(snapshot: &crate::Snapshot) -> Vec<&LogFile> {
    snapshot.files().iter().map(|file| &file.file).collect()
}

/// Splits the time range into parts, each with its start and its exclusive end: the days with files, and the
/// time between those days, whose records are all in the tail.
fn segments(export: &Export<'_>, files: &[LogFile]) -> Vec<(UtcTime, UtcTime)> {
    let end = export.to.plus_ms(1);
    let days: BTreeSet<&str> = files.iter().map(|file| file.day.as_str()).collect();
    let mut bounds = BTreeSet::from([export.from, end]);
    for day in days {
        if let Ok(begin) = format!("{day}T00:00:00Z").parse::<UtcTime>() {
            bounds.extend([begin, begin.plus_ms(DAY_MS)]);
        }
    }
    let bounds: Vec<UtcTime> = bounds.range(export.from..=end).copied().collect();
    let pairs = bounds.iter().zip(bounds.iter().skip(1));
    pairs.map(|(from, until)| (*from, *until)).collect()
}

/// Splits a part of the time range into hours where it has many records.
fn slices(from: UtcTime, until: UtcTime, files: &[&LogFile]) -> Vec<(UtcTime, UtcTime)> {
    let records: u64 = files.iter().map(|file| file.records).sum();
    let mut slices = Vec::new();
    let mut begin = from;
    while records > MANY && begin.plus_ms(HOUR_MS) < until {
        slices.push((begin, begin.plus_ms(HOUR_MS)));
        begin = begin.plus_ms(HOUR_MS);
    }
    slices.push((begin, until));
    slices
}

/// Returns the last millisecond before a time.
fn before(time: UtcTime) -> UtcTime {
    UtcTime::from_millis(time.as_millis() - 1).unwrap_or(time)
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
            // The first part has the header.
            ExportFormat::Csv => format!("FORMAT csv, HEADER {}", self.paths.is_empty()),
            ExportFormat::Ndjson => "FORMAT json".to_owned(),
            ExportFormat::Parquet => PARQUET.to_owned(),
        }
    }

    fn list(&self) -> String {
        let is_flat = |column: &Column| columns::FLAT_METERS.iter().any(|flat| flat.column == column.name);
        let shown = columns::all(self.kind);
        let shown = shown
            .iter()
            .filter(|column| self.format != ExportFormat::Ndjson || !is_flat(column))
            .filter(|column| self.private || column.name != PRIVATE_TO);
        let list: Vec<_> = shown.map(|column| self.shown(*column)).collect();
        list.join(", ")
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

const PARQUET: &str = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> UtcTime {
        text.parse().unwrap()
    }

    fn file(day: &str, records: u64) -> LogFile {
        serde_json::from_value(json!({
            "id": "f", "day": day, "records": records, "bytes": 1, "sha256": "", "digest": 0,
            "from": "2026-11-24T00:00:00Z", "to": "2026-11-24T00:00:00Z", "written_at": "2026-11-24T00:00:00Z",
        }))
        .unwrap()
    }

    fn texts(times: &[(UtcTime, UtcTime)]) -> Vec<String> {
        times
            .iter()
            .map(|(from, until)| format!("{from} {until}"))
            .collect()
    }

    #[test]
    fn a_time_is_cut_at_the_days_that_have_files() {
        let export = Export {
            logs: &[],
            from: at("2026-11-01T12:00:00Z"),
            to: at("2026-11-24T11:59:59.999Z"),
            format: ExportFormat::Csv,
            private: false,
        };
        let files = [
            file("2026-11-01", 1),
            file("2026-11-23", 1),
            file("2026-11-24", 1),
        ];
        insta::assert_snapshot!(texts(&segments(&export, &files)).join("\n"), @r"
        2026-11-01T12:00:00.000Z 2026-11-02T00:00:00.000Z
        2026-11-02T00:00:00.000Z 2026-11-23T00:00:00.000Z
        2026-11-23T00:00:00.000Z 2026-11-24T00:00:00.000Z
        2026-11-24T00:00:00.000Z 2026-11-24T12:00:00.000Z
        ");
        assert_eq!(segments(&export, &[]).len(), 1);
    }

    #[test]
    fn a_day_of_many_records_is_cut_into_hours() {
        let (from, until) = (at("2026-11-23T00:30:00Z"), at("2026-11-24T00:00:00Z"));
        assert_eq!(slices(from, until, &[&file("2026-11-23", MANY)]), [(from, until)]);
        let hours = slices(from, until, &[&file("2026-11-23", MANY + 1)]);
        assert_eq!((hours.len(), hours[0].0, hours[23].1), (24, from, until));
        assert!(hours.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }
}
