//! Stores ingest channels as JSON texts, whose content `shared/events` defines.

use platform::error::{Error, Result};
use platform::records::{Condition, Outcome, Query, Rows, Table, Written, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::records::entries::{Entries, Growth, Limits, MAX_ENTRIES};

/// Stored form of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRecord {
    pub id: String,
    /// Increases by one with every write; each write requires the revision that was read.
    pub revision: u64,
    /// Content of the channel, as JSON.
    pub document: String,
}

#[derive(Clone)]
pub struct Channels {
    table: Table,
    entries: Entries,
}

impl Channels {
    pub fn new(table: Table) -> Self {
        let entries = Entries {
            table: table.clone(),
            plural: "channels",
            counter: keys::channels_changed,
            limits: Limits {
                entries: MAX_ENTRIES,
                bytes: u64::MAX,
            },
        };
        Self { table, entries }
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<ChannelRecord>> {
        self.table.find(&keys::channel(tenant, id)).await
    }

    /// 404 for a missing channel.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<ChannelRecord> {
        let found = self.find(tenant, id).await?;
        found.ok_or_else(|| missing(id))
    }

    /// Returns the channels of a project after the one with the id `after`, oldest first, read lazily.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<ChannelRecord> {
        let query = Query::partition(keys::channels(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Adds a channel; 409 if the project already has [`MAX_ENTRIES`].
    pub async fn insert(&self, tenant: &Tenant, record: &ChannelRecord) -> Result<()> {
        let key = keys::channel(tenant, &record.id);
        let growth = Growth { entries: 1, bytes: 0 };
        let added = self.entries.change(tenant, growth, |transaction, _| {
            transaction.put(&key, record, Condition::Absent)
        });
        match added.await? {
            Outcome::Done => Ok(()),
            Outcome::Contended => Err(busy()),
            Outcome::Refused(_) => Err(Error::conflict(format!(
                "The channel '{}' exists already.",
                record.id
            ))),
        }
    }

    /// Writes a channel whose revision is one more than the one that was read.
    pub async fn save(&self, tenant: &Tenant, record: &ChannelRecord) -> Result<Written> {
        let key = keys::channel(tenant, &record.id);
        let expected = Condition::NumberIs("revision", record.revision.saturating_sub(1));
        let transaction = self.table.transaction().put(&key, record, expected)?;
        transaction.commit().await
    }

    /// Removes a channel, which then accepts nothing. 404 for a missing channel.
    pub async fn remove(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let key = keys::channel(tenant, id);
        let growth = Growth {
            entries: -1,
            bytes: 0,
        };
        let removed = self.entries.change(tenant, growth, |transaction, _| {
            transaction.delete(&key, Condition::Present)
        });
        match removed.await? {
            Outcome::Done => Ok(()),
            Outcome::Refused(_) => Err(missing(id)),
            Outcome::Contended => Err(busy()),
        }
    }
}

fn busy() -> Error {
    Error::unavailable("the channels of the project are changed by too many at once")
}

fn missing(id: &str) -> Error {
    Error::not_found("channel", id)
}
