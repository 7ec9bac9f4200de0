//! Ingest channels. What one says is `shared/events`' affair; here it is a JSON text.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::records::entries::Entries;
use crate::records::{Condition, Outcome, Query, Rows, Table, Written, keys};
use crate::tenant::Tenant;

/// A channel as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRecord {
    /// Its id.
    pub id: String,
    /// Rises by one with every write: the condition of the next one.
    pub revision: u64,
    /// What it says, as JSON.
    pub document: String,
}

/// The ingest channels.
#[derive(Clone)]
pub struct Channels {
    table: Table,
    entries: Entries,
}

impl Channels {
    /// In the table of records.
    pub fn new(table: Table) -> Self {
        let entries = Entries {
            table: table.clone(),
            plural: "channels",
            partition: keys::channels,
            counted: keys::channels_changed,
        };
        Self { table, entries }
    }

    /// A channel; None where there is none.
    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<ChannelRecord>> {
        self.table.find(&keys::channel(tenant, id)).await
    }

    /// A channel; a missing one is a 404.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<ChannelRecord> {
        let found = self.find(tenant, id).await?;
        found.ok_or_else(|| missing(id))
    }

    /// The channels of a project behind the one with the id `after`, oldest first, read as they are asked
    /// for.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<ChannelRecord> {
        let query = Query::partition(keys::channels(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Adds a channel: 409 where the project has [`MAX_ENTRIES`] already.
    ///
    /// [`MAX_ENTRIES`]: crate::records::MAX_ENTRIES
    pub async fn insert(&self, tenant: &Tenant, record: &ChannelRecord) -> Result<()> {
        let key = keys::channel(tenant, &record.id);
        let added = self.entries.add(tenant, |transaction| {
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

    /// Writes a channel whose revision is one more than that which was read.
    pub async fn save(&self, tenant: &Tenant, record: &ChannelRecord) -> Result<Written> {
        let key = keys::channel(tenant, &record.id);
        let expected = Condition::NumberIs("revision", record.revision.saturating_sub(1));
        let transaction = self.table.transaction().put(&key, record, expected)?;
        transaction.commit().await
    }

    /// Removes a channel: from then on nothing sent to it is taken. A missing one is a 404.
    pub async fn remove(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let key = keys::channel(tenant, id);
        let removed = self
            .entries
            .remove(tenant, |transaction| transaction.delete(&key, Condition::Present));
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
