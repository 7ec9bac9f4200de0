//! The records of a log that are not archived yet.

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::adopt::ARCHIVED;
use super::{LogId, LogKind, Logs};
use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::records::schema::{EXPIRES_AT, GSI1};
use crate::records::{Changes, Condition, Key, Query, Written, keys};
use crate::tenant::Tenant;

/// Records that are read at a time, each time up to 100.
const READS_AT_ONCE: usize = 8;
/// Most keys of one read (BatchGetItem).
const KEYS_OF_READ: usize = 100;
/// Records that are settled at a time.
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
    /// The record's time and id.
    #[serde(rename = "gsi1sk")]
    time: String,
}

/// A record that is not archived.
#[derive(Clone, Debug)]
pub struct TailRecord<R> {
    /// For [`Logs::settle`].
    pub key: RecordKey,
    /// Read consistently.
    pub record: R,
}

impl Logs {
    /// The records that carry the tail marker, the oldest first; at most `most`. The index that finds them
    /// follows the table with a short delay; the records themselves are read consistently, so one that was
    /// settled meanwhile is left out.
    pub async fn tail<R: DeserializeOwned + Send>(
        &self,
        log: &LogId,
        most: Option<usize>,
    ) -> Result<Vec<TailRecord<R>>> {
        let keys = self.tail_keys(log, most).await?;
        self.tail_records(log, &keys).await
    }

    /// Those of the records that still carry the tail marker.
    pub async fn tail_records<R: DeserializeOwned + Send>(
        &self,
        log: &LogId,
        keys: &[RecordKey],
    ) -> Result<Vec<TailRecord<R>>> {
        let parts = keys.chunks(KEYS_OF_READ);
        let parts = parts.map(|part| self.tail_part(log, part).boxed());
        // Boxed, as the futures of a closure over borrowed parts are not known to be Send.
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

    /// Where the records of the tail are, the oldest first; at most `most`. Of the index alone, which
    /// follows the table.
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

    /// Where a record is that a file holds. `time` is the record's timestamp.
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

    /// Takes archived records out of the tail, and lets them expire at `expires_at`, in Unix seconds. Only
    /// for records of a committed file. An event that is not matched, or has details in the bucket, has a
    /// place in the index `due` and does not expire by this.
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
        match self
            .table(log.kind)
            .update(&record.key(), changes, condition)
            .await?
        {
            Written::Done => Ok(true),
            Written::Refused { .. } => Ok(false),
            Written::Contended => Err(Error::unavailable("an archived record is being written")),
        }
    }
}
