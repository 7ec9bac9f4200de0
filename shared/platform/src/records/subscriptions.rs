//! Event subscriptions. What one says is `shared/events`' affair; here it is a JSON text.
//!
//! Each change of any subscription of a project gives the project's set of them a new name in the same
//! transaction. A process that keeps the set in memory asks for the name, and so never works with a set that
//! is out of date.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::records::entries::{Entries, Last};
use crate::records::{Condition, Guard, Outcome, Query, Rows, Table, Written, keys};
use crate::tenant::Tenant;

/// Label of the step that takes the place of a system subscription.
const REPLACED: &str = "replaced";

/// A subscription as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRecord {
    /// Its id.
    pub id: String,
    /// Rises by one with every write: the condition of the next one.
    pub revision: u64,
    /// What it says, as JSON.
    pub document: String,
}

#[derive(Serialize, Deserialize)]
struct OverrideRecord {
    subscription_id: String,
}

/// The event subscriptions.
#[derive(Clone)]
pub struct Subscriptions {
    table: Table,
    entries: Entries,
}

impl Subscriptions {
    /// In the table of records.
    pub fn new(table: Table) -> Self {
        let entries = Entries {
            table: table.clone(),
            plural: "subscriptions",
            partition: keys::subscriptions,
            counted: keys::subscriptions_changed,
        };
        Self { table, entries }
    }

    /// A subscription; None where there is none.
    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<SubscriptionRecord>> {
        self.table.find(&keys::subscription(tenant, id)).await
    }

    /// A subscription; a missing one is a 404.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<SubscriptionRecord> {
        let found = self.find(tenant, id).await?;
        found.ok_or_else(|| missing(id))
    }

    /// The subscriptions of a project behind the one with the id `after`, oldest first, read as they are
    /// asked for.
    pub fn rows(
        &self,
        tenant: &Tenant,
        after: Option<&str>,
        read_at_once: usize,
    ) -> Rows<SubscriptionRecord> {
        let query = Query::partition(keys::subscriptions(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// The subscriptions of a project, oldest first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<SubscriptionRecord>> {
        self.table
            .all(&Query::partition(keys::subscriptions(tenant)))
            .await
    }

    /// That a subscription is as it was at a revision.
    pub fn unchanged(&self, tenant: &Tenant, id: &str, revision: u64) -> Guard {
        Guard {
            table: self.table.clone(),
            key: keys::subscription(tenant, id),
            condition: Condition::NumberIs("revision", revision),
        }
    }

    /// What the last change of the project's subscriptions is called; None where there never was one.
    pub async fn last_change(&self, tenant: &Tenant) -> Result<Option<String>> {
        self.entries.last_change(tenant).await
    }

    /// The same, and how many runs of the project listen for events: one read.
    pub async fn last(&self, tenant: &Tenant) -> Result<Last> {
        self.entries.last(tenant).await
    }

    /// Adds a subscription: 409 where the project has [`MAX_ENTRIES`] already. `replaces` is the system
    /// subscription that it takes the place of: 409 where another one does already.
    ///
    /// [`MAX_ENTRIES`]: crate::records::MAX_ENTRIES
    pub async fn insert(
        &self,
        tenant: &Tenant,
        record: &SubscriptionRecord,
        replaces: Option<&str>,
    ) -> Result<()> {
        let key = keys::subscription(tenant, &record.id);
        let place = OverrideRecord {
            subscription_id: record.id.clone(),
        };
        let added = self.entries.add(tenant, |transaction| {
            let transaction = transaction.put(&key, record, Condition::Absent)?;
            let Some(system) = replaces else {
                return Ok(transaction);
            };
            let key = keys::subscription_override(tenant, system);
            Ok(transaction
                .put(&key, &place, Condition::Absent)?
                .labelled(REPLACED))
        });
        match added.await? {
            Outcome::Done => Ok(()),
            Outcome::Refused(Some(REPLACED)) => Err(Error::conflict(
                "The system subscription is replaced already; change or delete the subscription that replaces it.",
            )),
            Outcome::Refused(_) => Err(Error::conflict(format!(
                "The subscription '{}' exists already.",
                record.id
            ))),
            Outcome::Contended => Err(busy()),
        }
    }

    /// Writes a subscription whose revision is one more than that which was read.
    pub async fn save(&self, tenant: &Tenant, record: &SubscriptionRecord) -> Result<Written> {
        let key = keys::subscription(tenant, &record.id);
        let expected = Condition::NumberIs("revision", record.revision.saturating_sub(1));
        let transaction = self.entries.changed(tenant)?;
        transaction.put(&key, record, expected)?.commit().await
    }

    /// Removes a subscription, and with it that it took the place of a system subscription. A missing one is a 404.
    pub async fn remove(&self, tenant: &Tenant, id: &str, replaces: Option<&str>) -> Result<()> {
        let key = keys::subscription(tenant, id);
        let removed = self.entries.remove(tenant, |transaction| {
            let transaction = transaction.delete(&key, Condition::Present)?;
            let Some(system) = replaces else {
                return Ok(transaction);
            };
            let key = keys::subscription_override(tenant, system);
            transaction.delete(&key, Condition::TextIs("subscription_id", id.to_owned()))
        });
        match removed.await? {
            Outcome::Done => Ok(()),
            Outcome::Refused(_) => Err(missing(id)),
            Outcome::Contended => Err(busy()),
        }
    }
}

fn missing(id: &str) -> Error {
    Error::not_found("subscription", id)
}

fn busy() -> Error {
    Error::unavailable("the subscriptions of the project are changed by too many at once")
}
