//! Stores the files of logs, and reads the records that are not archived yet.

mod file;
mod tail;

use events::records::listing_shards::ListingShards;
use futures::future::try_join;
use platform::records::logs::{self, LogHead, LogId, LogKind};
use platform::records::{Condition, Key, Query, Table, keys};
use platform::{Error, Result, UtcTime};
use serde::Deserialize;

pub use file::{LogFile, is_near};
pub use tail::{RecordKey, TailRecord};

/// Maximum number of added and replaced files in a commit: a transaction of DynamoDB has at most 100 actions,
/// one of which is the head.
pub const MAX_FILES_OF_COMMIT: usize = 99;

#[derive(Deserialize)]
struct HeadRecord {
    pk: String,
    sk: String,
    #[serde(flatten)]
    head: LogHead,
}

/// Logs, each in the table of its records.
#[derive(Clone)]
pub struct Logs {
    events: Table,
    shards: ListingShards,
    audit: Table,
}

impl Logs {
    pub fn new(events: Table, audit: Table) -> Self {
        Self {
            shards: ListingShards::new(events.clone()),
            events,
            audit,
        }
    }

    /// The table of the events, which also has their log.
    pub const fn events(&self) -> &Table {
        &self.events
    }

    const fn table(&self, kind: LogKind) -> &Table {
        match kind {
            LogKind::Events => &self.events,
            LogKind::Audit => &self.audit,
        }
    }

    /// Returns the head of a log; None if no record was ever written.
    pub async fn head(&self, log: &LogId) -> Result<Option<LogHead>> {
        self.table(log.kind).find(&log.head_key()).await
    }

    /// Lists the logs of one kind of an account, by project.
    pub async fn of_account(&self, account: &str, kind: LogKind) -> Result<Vec<(LogId, LogHead)>> {
        let query = Query::partition(keys::log_heads(account, kind.heads()));
        let heads: Vec<HeadRecord> = self.table(kind).all(&query).await?;
        let logs = heads.into_iter().filter_map(|record| {
            let (account, _, project) = keys::log_of(&record.pk, &record.sk)?;
            Some((LogId::new(account, project, kind), record.head))
        });
        Ok(logs.collect())
    }

    /// Lists the files that may have records of the time from `from` to `to`, both included, and also the
    /// replaced ones.
    pub async fn files(&self, log: &LogId, from: UtcTime, to: UtcTime) -> Result<Vec<LogFile>> {
        if from > to {
            return Ok(Vec::new());
        }
        let (first, last) = file::days_beside(from, to);
        let mut files = self
            .files_of_days(log, &first, &last, keys::LATE_LOG_FILES)
            .await?;
        files.retain(|file| file.overlaps(from, to));
        Ok(files)
    }

    /// Lists the files of a day, and also the replaced ones.
    pub async fn files_of_day(&self, log: &LogId, day: &str) -> Result<Vec<LogFile>> {
        let late = keys::late_log_file_sort(day, "");
        self.files_of_days(log, day, day, &late).await
    }

    /// Lists the files of these days, and then those of late records whose sort keys start with `late`.
    async fn files_of_days(&self, log: &LogId, first: &str, last: &str, late: &str) -> Result<Vec<LogFile>> {
        let table = self.table(log.kind);
        // `~` sorts after the `#` that follows the day.
        let near = Query::partition(log.files()).between(first, format!("{last}~"));
        let late = Query::partition(log.files()).prefix(late);
        let (mut files, late) = try_join(table.all(&near), table.all(&late)).await?;
        files.extend(late);
        Ok(files)
    }

    /// Lists all files, and also the replaced ones.
    pub async fn all_files(&self, log: &LogId) -> Result<Vec<LogFile>> {
        self.table(log.kind).all(&Query::partition(log.files())).await
    }

    /// Adds files, marks others as replaced, and writes the next head with the next revision. False, with
    /// nothing written, if the head has changed since it was read.
    pub async fn commit(
        &self,
        log: &LogId,
        read: &LogHead,
        added: &[LogFile],
        replaced: &[LogFile],
        next: LogHead,
    ) -> Result<bool> {
        if added.len() + replaced.len() > MAX_FILES_OF_COMMIT {
            return Err(Error::internal("a commit of a log has too many files"));
        }
        let next = LogHead {
            revision: read.revision + 1,
            ..next
        };
        let mut transaction = self.table(log.kind).transaction();
        let key = log.head_key().with_due(keys::DUE_LOGS, next.due_at);
        transaction = transaction.put(&key, &next, Condition::NumberIs("revision", read.revision))?;
        for file in added {
            transaction = transaction.put(&file_key(log, file), file, Condition::Absent)?;
        }
        for file in replaced {
            transaction = transaction.put(&file_key(log, file), file, Condition::Lacks("replaced_by"))?;
        }
        transaction.commit().await?.took_effect("the head of a log")
    }

    /// Writes only the next head; see [`commit`](Self::commit).
    pub async fn save_head(&self, log: &LogId, read: &LogHead, next: LogHead) -> Result<bool> {
        self.commit(log, read, &[], &[], next).await
    }

    pub async fn remove_file(&self, log: &LogId, file: &LogFile) -> Result<()> {
        let key = file_key(log, file);
        self.table(log.kind)
            .delete(&key, Condition::Has("replaced_by"))
            .await?
            .took_effect("a file of a log")
            .map(drop)
    }

    /// Lists all logs of a kind, of all accounts.
    pub async fn all(&self, kind: LogKind) -> Result<Vec<LogId>> {
        let ever = UtcTime::EPOCH.plus_ms(u64::MAX);
        logs::due(self.table(kind), kind, ever, None).await
    }
}

fn file_key(log: &LogId, file: &LogFile) -> Key {
    let sort = match file.is_late() {
        true => keys::late_log_file_sort(&file.day, &file.id),
        false => keys::log_file_sort(&file.day, &file.id),
    };
    Key::new(log.files(), sort)
}
