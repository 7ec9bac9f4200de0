//! Merges small files of a day, and all files of a finished day; those with late records apart.
//!
//! The replaced files stay for running readers; the collection removes them once a digest covers the merged
//! file.

use std::collections::BTreeMap;

use platform::{Error, Result, UtcTime, ids};

use super::{Pass, Step, discard};
use crate::logs::LogFile;
use crate::write::merge;

/// Minimum number of files of similar size to merge.
const MIN_SIMILAR: usize = 16;
/// Maximum number of files of one merge, which are replaced in one transaction.
const MAX_MERGED: usize = 90;
/// Maximum total size of the files of one merge.
const MAX_BYTES: u64 = 256 * 1_024 * 1_024;
/// Files below this size count as similar.
const SMALL_BYTES: u64 = 64 * 1_024;
/// Time after the end of a day until the day is closed, in milliseconds.
const CLOSED_AFTER_MS: u64 = 2 * 3_600_000;
/// Time after the last write to a day until the day is closed, in milliseconds.
const QUIET_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * 3_600_000;

impl Pass<'_> {
    /// Merges the files of the days that the pass changed and, with `all_days`, of every closed day.
    pub(super) async fn merge_days(&mut self, all_days: bool) -> Result<bool> {
        let mut days: BTreeMap<String, Vec<LogFile>> = BTreeMap::new();
        if all_days {
            for file in self.archiver.logs.all_files(self.log).await? {
                days.entry(file.day.clone()).or_default().push(file);
            }
        } else {
            for day in &self.touched {
                let files = self.archiver.logs.files_of_day(self.log, day).await?;
                days.insert(day.clone(), files);
            }
        }
        for (day, mut files) in days {
            files.retain(|file| file.replaced_by.is_none());
            for group in groups(&day, files, self.now()) {
                if !self.has_time() {
                    return Ok(true);
                }
                if !self.merge_files(&day, group).await? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn merge_files(&mut self, day: &str, group: Vec<LogFile>) -> Result<bool> {
        let mut paths = Vec::new();
        for file in &group {
            paths.push(self.fetch(day, &file.id).await?);
        }
        let id = ids::new_id(self.now());
        let path = self.path(&format!("{id}.parquet"));
        let written = merge(&mut self.session().await?, self.log.kind, &paths, &path).await?;
        paths.iter().for_each(|path| discard(path));
        let records: u64 = group.iter().map(|file| file.records).sum();
        if written.records != records {
            return Err(Error::internal(format!(
                "a merge of {records} records of a log has {}",
                written.records
            )));
        }
        let merged = LogFile {
            first_written_at: group.iter().map(first_written_at).min(),
            replaces: group.iter().map(|file| file.id.clone()).collect(),
            ..self.file(day, id, written)
        };
        self.archiver
            .objects
            .put_file(&self.log.file_key(day, &merged.id), &path)
            .await?;
        discard(&path);
        self.reached(Step::MergeWritten)?;
        let replaced: Vec<_> = group
            .into_iter()
            .map(|file| LogFile {
                replaced_by: Some(merged.id.clone()),
                replaced_at: Some(merged.written_at),
                ..file
            })
            .collect();
        let next = self.with_waiting(1);
        if !self.land(&[merged], &replaced, next).await? {
            return Ok(false);
        }
        self.passed.files += 1;
        self.passed.merged += replaced.len() as u64;
        self.reached(Step::MergeCommitted)?;
        Ok(true)
    }
}

/// Returns when the first record of a file was committed; the epoch where that is unknown.
pub(super) fn first_written_at(file: &LogFile) -> UtcTime {
    match file.first_written_at {
        Some(at) => at,
        None if file.replaces.is_empty() => file.written_at,
        None => UtcTime::EPOCH,
    }
}

/// Groups the files of a day; each group becomes one file.
fn groups(day: &str, files: Vec<LogFile>, now: UtcTime) -> Vec<Vec<LogFile>> {
    let is_closed = is_closed(day, &files, now);
    let (late, near): (Vec<_>, Vec<_>) = files.into_iter().partition(LogFile::is_late);
    let groups = [near, late].into_iter().flat_map(|files| match is_closed {
        true => fitting(files, 2),
        false => similar(files),
    });
    groups.collect()
}

/// Groups files of about the same size.
fn similar(files: Vec<LogFile>) -> Vec<Vec<LogFile>> {
    let mut similar: BTreeMap<u32, Vec<LogFile>> = BTreeMap::new();
    for file in files {
        let size = file.bytes.max(SMALL_BYTES) / SMALL_BYTES;
        similar.entry(size.ilog(4)).or_default().push(file);
    }
    similar
        .into_values()
        .flat_map(|files| fitting(files, MIN_SIMILAR))
        .collect()
}

/// Groups files up to the maximum size, small files first; each group has at least `least` files.
fn fitting(mut files: Vec<LogFile>, least: usize) -> Vec<Vec<LogFile>> {
    files.sort_by(|one, other| (one.bytes, &one.id).cmp(&(other.bytes, &other.id)));
    let mut groups: Vec<Vec<LogFile>> = Vec::new();
    let mut bytes = 0;
    for file in files {
        let fits = bytes + file.bytes <= MAX_BYTES;
        bytes += file.bytes;
        match groups.last_mut().filter(|group| fits && group.len() < MAX_MERGED) {
            Some(group) => group.push(file),
            None => {
                bytes = file.bytes;
                groups.push(vec![file]);
            }
        }
    }
    groups.retain(|group| group.len() >= least);
    groups
}

/// Returns whether a day is over and no file of it was written recently.
fn is_closed(day: &str, files: &[LogFile], now: UtcTime) -> bool {
    let Ok(begins) = day.parse::<UtcTime>() else {
        return false;
    };
    let is_quiet = |file: &LogFile| file.written_at.plus_ms(QUIET_MS) <= now;
    begins.plus_ms(DAY_MS + CLOSED_AFTER_MS) <= now && files.iter().all(is_quiet)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sizes: &[u64], written_at: &str) -> Vec<LogFile> {
        let file = |(index, bytes): (usize, &u64)| LogFile {
            id: format!("f{index:03}"),
            day: "2026-11-24".to_owned(),
            records: 1,
            private: 0,
            bytes: *bytes,
            sha256: String::new(),
            from: "2026-11-24T10:00:00Z".parse().unwrap(),
            to: "2026-11-24T11:00:00Z".parse().unwrap(),
            written_at: written_at.parse().unwrap(),
            first_written_at: None,
            digest: 0,
            replaces: Vec::new(),
            replaced_by: None,
            replaced_at: None,
        };
        sizes.iter().enumerate().map(file).collect()
    }

    fn sizes(now: &str, files: Vec<LogFile>) -> Vec<usize> {
        groups("2026-11-24", files, now.parse().unwrap())
            .iter()
            .map(Vec::len)
            .collect()
    }

    #[test]
    fn sixteen_files_of_similar_size_are_merged() {
        let during = "2026-11-24T12:00:00Z";
        assert_eq!(sizes(during, files(&[1_000; 15], during)), [0; 0]);
        assert_eq!(sizes(during, files(&[1_000; 16], during)), [16]);
        assert_eq!(sizes(during, files(&[1_000; 200], during)), [90, 90, 20]);
        let mut mixed = vec![1_000; 16];
        mixed.extend([1_000_000; 15]);
        assert_eq!(sizes(during, files(&mixed, during)), [16]);
        assert_eq!(sizes(during, files(&[100_000_000; 16], during)), [0; 0]);
    }

    #[test]
    fn a_day_that_is_over_becomes_one_file() {
        let written = "2026-11-24T23:59:00Z";
        assert_eq!(sizes("2026-11-25T01:59:59Z", files(&[1_000; 3], written)), [0; 0]);
        assert_eq!(
            sizes("2026-11-25T02:00:00Z", files(&[1_000, 9_000_000, 50], written)),
            [3]
        );
        assert_eq!(sizes("2026-11-25T02:00:00Z", files(&[1_000], written)), [0; 0]);
        // A late record waits for further late records.
        let late = files(&[1_000; 2], "2026-11-27T10:00:00Z");
        assert_eq!(sizes("2026-11-27T10:59:00Z", late.clone()), [0; 0]);
        assert_eq!(sizes("2026-11-27T11:00:00Z", late), [2]);
        let large = files(&[200_000_000, 100_000_000, 60_000_000, 1_000], written);
        assert_eq!(sizes("2026-11-25T02:00:00Z", large), [3]);
    }

    #[test]
    fn late_records_stay_apart() {
        let mut mixed = files(&[1_000; 20], "2026-11-24T12:00:00Z");
        for file in &mut mixed[..17] {
            file.from = UtcTime::EPOCH;
        }
        assert_eq!(sizes("2026-11-24T12:00:00Z", mixed.clone()), [17]);
        assert_eq!(sizes("2026-11-25T02:00:00Z", mixed), [3, 17]);
    }
}
