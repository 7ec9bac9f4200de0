//! Events of the platform: what happened, in the envelope that subscriptions match and audits count.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::records::{Condition, Table, Transaction, keys};
use crate::tenant::Tenant;

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Its id.
    pub id: String,
    /// Its envelope, as the JSON text that goes on the bus.
    pub envelope: String,
}

/// The events of the platform.
#[derive(Clone)]
pub struct Events {
    table: Table,
}

impl Events {
    /// In the table of records.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Adds an event with the other writes of a transaction. Refused where there is an event of its id.
    pub fn insert_with<'a>(
        &self,
        transaction: Transaction<'a>,
        tenant: &Tenant,
        event: &EventRecord,
    ) -> Result<Transaction<'a>> {
        let key = keys::event(tenant, &event.id);
        transaction.put_into(&self.table, &key, event, Condition::Absent)
    }

    /// An event; None where there is none.
    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<EventRecord>> {
        self.table.find(&keys::event(tenant, id)).await
    }
}
