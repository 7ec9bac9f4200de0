//! Reads the unarchived records of a log.

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::records::logs::{ARCHIVED, LogId, LogKind};
use platform::records::schema::{EXPIRES_AT, GSI1};
use platform::records::{Changes, Condition, Key, Query, keys};
use platform::{Result, Tenant, UtcTime};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Logs;

/// Concurrent reads, each of up to 100 records.
const READS_AT_ONCE: usize = 8;
/// Maximum number of keys of a read (BatchGetItem).
const KEYS_OF_READ: usize = 100;
/// Number of records settled concurrently.
const SETTLED_AT_ONCE: usize = 16;

/// Partition and sort key of a record of a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct RecordKey {
    pk: String,
    sk: String,
}

impl RecordKey {
    fn key(&self) -> Key {
        Key::new(&self.pk, &self.sk)
    }
}

#[derive(Deserialize)]
struct TailPlace {
    #[serde(flatten)]
    key: RecordKey,
    #[serde(rename = "listed_at")]
    time: String,
}

/// An unarchived record.
#[derive(Clone, Debug)]
pub struct TailRecord<R> {
    /// For [`Logs::settle`].
    pub key: RecordKey,
    /// Read consistently.
    pub record: R,
}

impl Logs {
    /// Reads up to `most` records that have the tail marker, oldest first. The index lags slightly behind the
    /// table, but the records themselves are read consistently, so one that was settled meanwhile is left
    /// out.
    pub async fn tail<R: DeserializeOwned + Send>(
        &self,
        log: &LogId,
        most: Option<usize>,
    ) -> Result<Vec<TailRecord<R>>> {
        let keys = self.tail_keys(log, most).await?;
        self.tail_records(log, &keys).await
    }

    /// Returns those of the records that still have the tail marker.
    pub async fn tail_records<R: DeserializeOwned + Send>(
        &self,
        log: &LogId,
        keys: &[RecordKey],
    ) -> Result<Vec<TailRecord<R>>> {
        let parts = keys.chunks(KEYS_OF_READ);
        let parts = parts.map(|part| self.tail_part(log, part).boxed());
        // Boxed, because the compiler cannot prove that the futures of a closure over borrowed parts are
        // Send.
        let parts: Vec<BoxFuture<'_, Result<Vec<TailRecord<R>>>>> = parts.collect();
        let parts = stream::iter(parts).buffered(READS_AT_ONCE);
        let parts: Vec<_> = parts.try_collect().await?;
        Ok(parts.into_iter().flatten().collect())
    }

    async fn tail_part<R: DeserializeOwned + Send>(
        &self,
        log: &LogId,
        keys: &[RecordKey],
    ) -> Result<Vec<TailRecord<R>>> {
        let wanted: Vec<Key> = keys.iter().map(RecordKey::key).collect();
        let found = self.table(log.kind).find_in_index(&wanted, GSI1).await?;
        let found = keys.iter().zip(found).filter_map(|(key, record)| {
            let key = key.clone();
            record.map(|record| TailRecord { key, record })
        });
        Ok(found.collect())
    }

    /// Returns the keys of up to `most` records of the tail, oldest first. Reads only the index, which lags
    /// behind the table.
    pub async fn tail_keys(&self, log: &LogId, most: Option<usize>) -> Result<Vec<RecordKey>> {
        let shards = match (log.kind, &log.project) {
            (LogKind::Events, Some(project)) => {
                let tenant = Tenant::new(&log.account, project)?;
                self.shards.current(&tenant).await?.all_shards()
            }
            _ => 0..1,
        };
        let most = most.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for shard in shards {
            found.extend(self.tail_shard(log, shard, most).await?);
        }
        found.sort_by(|one, other| one.time.cmp(&other.time));
        found.truncate(most);
        Ok(found.into_iter().map(|place| place.key).collect())
    }

    async fn tail_shard(&self, log: &LogId, shard: u16, most: usize) -> Result<Vec<TailPlace>> {
        let query = Query::partition(log.tail(shard)).gsi1();
        let mut found = Vec::new();
        let mut start = None;
        while found.len() < most {
            let size = (most - found.len()).min(1_000);
            let (page, next) = self.table(log.kind).page(&query, size, start).await?;
            found.extend(page);
            match next {
                Some(_) => start = next,
                None => break,
            }
        }
        Ok(found)
    }

    /// Returns the key of a record in a file. `time` is the record's timestamp.
    pub fn record_key(&self, log: &LogId, id: &str, time: UtcTime) -> Result<RecordKey> {
        let Key { pk, sk, .. } = match log.kind {
            LogKind::Events => {
                let project = log.project.as_deref().unwrap_or_default();
                keys::event(&Tenant::new(&log.account, project)?, id)
            }
            LogKind::Audit => Key::new(
                keys::audit(&log.account, log.project.as_deref()),
                keys::audit_time(time, id),
            ),
        };
        Ok(RecordKey { pk, sk })
    }

    /// Removes archived records from the tail, and sets their expiry to `expires_at`, in Unix seconds. Only
    /// for records of a committed file. An event that is not matched, or has details in the bucket, is in the
    /// index `due` and does not expire by this.
    pub async fn settle(&self, log: &LogId, records: &[RecordKey], expires_at: i64) -> Result<()> {
        let archived = Changes::default().leave(GSI1).set(ARCHIVED, &true)?;
        let expiring = archived.clone().set(EXPIRES_AT, &expires_at)?;
        let settled = records.iter().map(|record| {
            let settled = async {
                let is_over = Condition::Lacks("due_shard");
                if !self.settle_one(log, record, &expiring, is_over).await? {
                    self.settle_one(log, record, &archived, Condition::Present)
                        .await?;
                }
                Ok(())
            };
            settled.boxed()
        });
        let settled: Vec<BoxFuture<'_, Result<()>>> = settled.collect();
        let settled = stream::iter(settled);
        settled.buffer_unordered(SETTLED_AT_ONCE).try_collect().await
    }

    async fn settle_one(
        &self,
        log: &LogId,
        record: &RecordKey,
        changes: &Changes,
        condition: Condition,
    ) -> Result<bool> {
        self.table(log.kind)
            .update(&record.key(), changes, condition)
            .await?
            .took_effect("an archived record")
    }
}
