//! Stores runs that wait for events of the platform.
//!
//! A project's count of listeners is stored beside the name of the last change of its subscriptions, which
//! the matcher reads for each event anyway. So events of a project without listeners cost no further read. A
//! listener and the count are written in one transaction.

use async_trait::async_trait;
use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::{Condition, Query, Table, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::records::entries::{count_listener, listeners};

/// Approximate maximum number of listeners of a project; each event reads all of them.
pub const MAX_LISTENERS: u64 = 1_000;
/// Maximum size of a filter, in bytes.
pub const MAX_FILTER_BYTES: usize = 16_384;

/// A run that waits for events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    pub run_id: String,
    /// Id of the wait, unique in its run.
    pub listener_id: String,
    /// Attributes that an event must have, as JSON: a list of objects, one of which must match. An empty list
    /// matches every event.
    pub filter: String,
    pub created_at: UtcTime,
}

/// Operations with which a run's code waits for events.
#[async_trait]
pub trait Listening: Send + Sync {
    /// Starts signalling matching events to the run. Idempotent.
    async fn begin(&self, tenant: &Tenant, listener: &Listener) -> Result<()>;

    /// Stops signalling events. A missing listener is not an error.
    async fn end(&self, tenant: &Tenant, run_id: &str, listener_id: &str) -> Result<()>;
}

#[derive(Clone)]
pub struct Listeners {
    table: Table,
}

impl Listeners {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<Listener>> {
        self.table.all(&Query::partition(keys::listeners(tenant))).await
    }

    /// Adds a listener; an existing one is kept. 409 if the project has [`MAX_LISTENERS`], 400 for a filter
    /// that is too large.
    pub async fn insert(&self, tenant: &Tenant, listener: &Listener) -> Result<()> {
        if listener.filter.len() > MAX_FILTER_BYTES {
            return Err(Error::invalid(format!(
                "The filter of a listener has {} bytes; {MAX_FILTER_BYTES} is the most.",
                listener.filter.len()
            )));
        }
        let key = keys::listener(tenant, &listener.run_id, &listener.listener_id);
        if self.table.find::<Listener>(&key).await?.is_some() {
            return Ok(());
        }
        let counted = keys::subscriptions_changed(tenant);
        if listeners(&self.table, &counted).await? >= MAX_LISTENERS {
            return Err(Error::conflict(format!(
                "The project has {MAX_LISTENERS} runs that listen for events, which is the most; try again when one has ended."
            )));
        }
        let transaction = self.table.transaction();
        let transaction = transaction.put(&key, listener, Condition::Absent)?;
        let transaction = count_listener(transaction, &counted, 1)?;
        transaction.commit().await?.took_effect("a listener").map(drop)
    }

    /// Removes a listener. A missing one is not an error.
    pub async fn remove(&self, tenant: &Tenant, run_id: &str, listener_id: &str) -> Result<()> {
        let key = keys::listener(tenant, run_id, listener_id);
        let transaction = self.table.transaction();
        let transaction = transaction.delete(&key, Condition::Present)?;
        let transaction = count_listener(transaction, &keys::subscriptions_changed(tenant), -1)?;
        transaction.commit().await?.took_effect("a listener").map(drop)
    }
}

#[async_trait]
impl Listening for Listeners {
    async fn begin(&self, tenant: &Tenant, listener: &Listener) -> Result<()> {
        self.insert(tenant, listener).await
    }

    async fn end(&self, tenant: &Tenant, run_id: &str, listener_id: &str) -> Result<()> {
        self.remove(tenant, run_id, listener_id).await
    }
}
