//! Writes the tail into files, one bounded batch at a time.

use std::collections::BTreeMap;

use platform::records::logs::{FileRef, LogHead};
use platform::{Result, ids};

use super::records::{Batch, Pending, write_rows};
use super::{Pass, Step, discard};
use crate::logs::{LogFile, RecordKey, is_near};
use crate::write::{WrittenFile, write};

/// Maximum number of days of one commit, each with at most two files.
const MAX_DAYS: usize = 40;

impl Pass<'_> {
    /// Archives the tail while there is time. Returns whether there is more, or None where another archiver
    /// committed first.
    pub(super) async fn archive_tail(&mut self) -> Result<Option<bool>> {
        let mut is_first = true;
        loop {
            let batch = self.read_tail().await?;
            self.passed.unreadable = batch.unreadable;
            if let Some(oldest) = batch.oldest.filter(|_| is_first) {
                self.passed.lag_s = self.now().millis_since(oldest) / 1_000;
            }
            is_first = false;
            if batch.records.is_empty() {
                return Ok(Some(false));
            }
            let Some(more) = self.archive(batch).await? else {
                return Ok(None);
            };
            if !more || !self.has_time() {
                return Ok(Some(more));
            }
            if self.is_digest_due() && !self.sign_digest().await? {
                return Ok(None);
            }
        }
    }

    async fn archive(&mut self, batch: Batch) -> Result<Option<bool>> {
        let mut days: BTreeMap<String, Vec<Pending>> = BTreeMap::new();
        for record in batch.records {
            days.entry(record.day.clone()).or_default().push(record);
        }
        let more = batch.more || days.len() > MAX_DAYS;
        let pending: Vec<_> = days.into_values().take(MAX_DAYS).flatten().collect();
        let keys: Vec<_> = pending.iter().map(|record| record.key.clone()).collect();
        let pending = self.without_repeats(pending).await?;
        let records = pending.len() as u64;
        self.passed.repeats += keys.len() as u64 - records;
        let mut files = Vec::new();
        for (day, pending) in groups(pending) {
            files.push(self.write_group(&day, pending).await?);
        }
        self.reached(Step::FilesWritten)?;
        if !files.is_empty() && !self.land_batch(&files).await? {
            return Ok(None);
        }
        self.passed.records += records;
        self.passed.files += files.len() as u64;
        self.settle(&keys).await?;
        self.reached(Step::RecordsSettled)?;
        Ok(Some(more))
    }

    async fn land_batch(&mut self, files: &[LogFile]) -> Result<bool> {
        let refs = files.iter().map(|file| FileRef {
            day: file.day.clone(),
            id: file.id.clone(),
        });
        let next = LogHead {
            unsettled: refs.collect(),
            ..self.with_waiting(files.len())
        };
        if !self.land(files, &[], next).await? {
            return Ok(false);
        }
        self.touched.extend(files.iter().map(|file| file.day.clone()));
        self.reached(Step::FilesCommitted)?;
        Ok(true)
    }

    async fn write_group(&self, day: &str, pending: Vec<Pending>) -> Result<LogFile> {
        let rows = self.path("rows.ndjson");
        let texts = pending.into_iter().map(|record| record.row).collect();
        write_rows(&self.log.account, rows.clone(), texts).await?;
        let id = ids::new_id(self.now());
        let path = self.path(&format!("{id}.parquet"));
        let written = write(
            &mut self.session().await?,
            self.log.kind,
            std::slice::from_ref(&rows),
            &path,
        )
        .await?;
        discard(&rows);
        let file = self.file(day, id, written);
        let key = self.log.file_key(day, &file.id);
        self.archiver.objects.put_file(&key, &path).await?;
        discard(&path);
        Ok(file)
    }

    /// Builds the item of a file that the next digest covers.
    pub(super) fn file(&self, day: &str, id: String, written: WrittenFile) -> LogFile {
        written.into_file(id, day, self.now(), self.head.next_digest)
    }

    /// Takes records out of the tail and sets their expiry.
    pub(super) async fn settle(&self, keys: &[RecordKey]) -> Result<()> {
        let expires_at = self.until(self.now()).as_seconds();
        self.archiver.logs.settle(self.log, keys, expires_at).await
    }
}

/// Groups records into files: by the day on which they came, and late ones apart, so that few of them do not
/// widen the times of a file. Where most records of a day are late, one file has them all: a sender that
/// chooses its times makes as many files as others.
fn groups(pending: Vec<Pending>) -> Vec<(String, Vec<Pending>)> {
    let mut days: BTreeMap<String, [Vec<Pending>; 2]> = BTreeMap::new();
    for record in pending {
        let [near, late] = days.entry(record.day.clone()).or_default();
        match is_near(&record.day, record.time) {
            true => near.push(record),
            false => late.push(record),
        }
    }
    let mut groups = Vec::new();
    for (day, [mut near, mut late]) in days {
        if late.len() > near.len() {
            late.append(&mut near);
        }
        groups.push((day.clone(), near));
        groups.push((day, late));
    }
    groups.retain(|(_, records)| !records.is_empty());
    groups
}
