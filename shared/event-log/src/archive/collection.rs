//! Removes replaced files, and objects that no commit names.

use std::collections::HashSet;

use platform::{Result, ids};

use super::{Pass, Step};
use crate::digest::UNLISTED_MARGIN_MS;
use crate::logs::LogFile;

/// Time for running readers to finish, in milliseconds.
const GRACE_MS: u64 = 3_600_000;

impl Pass<'_> {
    pub(super) async fn collect(&mut self) -> Result<bool> {
        // The objects are listed first: an object committed later is not in this list.
        let objects = self.unlisted_objects().await?;
        let files = self.archiver.logs.all_files(self.log).await?;
        self.remove_unlisted(objects, &files).await?;
        for file in &files {
            if self.is_replaced_for_long(file, &files) {
                self.archiver.logs.remove_file(self.log, file).await?;
                self.reached(Step::ItemRemoved)?;
                let key = self.log.file_key(&file.day, &file.id);
                self.archiver.objects.remove(&key).await?;
                self.passed.removed += 1;
            }
        }
        self.reached(Step::Collected)?;
        Ok(true)
    }

    /// Returns whether a digest covers the replacing file, and the grace period of readers is over.
    fn is_replaced_for_long(&self, file: &LogFile, files: &[LogFile]) -> bool {
        let (Some(by), Some(at)) = (&file.replaced_by, file.replaced_at) else {
            return false;
        };
        // A replacing file that no longer exists was itself replaced, and covered before.
        let by = files.iter().find(|other| other.id == *by);
        let is_covered = by.is_none_or(|by| by.digest < self.head.next_digest);
        is_covered && at.plus_ms(GRACE_MS) <= self.now()
    }

    /// Lists the keys of the log's objects that are old enough to be committed by now, if ever.
    ///
    /// A commit is refused if a digest was signed after the archiver read the head. So an object older than
    /// the last digest is already committed, or never will be.
    async fn unlisted_objects(&self) -> Result<Vec<String>> {
        let Some(digest) = &self.head.last_digest else {
            return Ok(Vec::new());
        };
        let folder = format!("{}/", self.log.folder());
        let kind = self.log.kind.as_str();
        let objects = self.archiver.objects.list(&folder).await?;
        let keys = objects.into_iter().map(|object| object.key).filter(|key| {
            let mut parts = key.get(folder.len()..).unwrap_or_default().split('/');
            let (_, of_kind, name, end) = (parts.next(), parts.next(), parts.next(), parts.next());
            let id = name.and_then(|name| name.strip_suffix(".parquet"));
            let made = id.and_then(ids::time_of);
            let is_old = made.is_some_and(|made| made.plus_ms(UNLISTED_MARGIN_MS) < digest.created_at);
            of_kind == Some(kind) && end.is_none() && is_old
        });
        Ok(keys.collect())
    }

    async fn remove_unlisted(&mut self, objects: Vec<String>, files: &[LogFile]) -> Result<()> {
        let known: HashSet<_> = files
            .iter()
            .map(|file| self.log.file_key(&file.day, &file.id))
            .collect();
        for key in objects {
            if !known.contains(&key) {
                self.archiver.objects.remove(&key).await?;
                self.passed.removed += 1;
            }
        }
        Ok(())
    }
}
