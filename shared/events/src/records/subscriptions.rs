//! Stores event subscriptions as JSON texts, whose content `shared/events` defines.
//!
//! Each change of a subscription gives the project's set of subscriptions a new name in the same transaction.
//! A process that caches the set reads this name, so it never uses an outdated set.

use platform::error::{Error, Result};
use platform::records::{Condition, Guard, Outcome, Query, Rows, Table, Written, keys};
use platform::tenant::Tenant;
use serde::{Deserialize, Serialize};

use crate::records::entries::{Entries, SetState};

/// Label of the step that takes the place of a system subscription.
const REPLACED: &str = "replaced";

/// Stored form of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionRecord {
    pub id: String,
    /// Increases by one with every write; each write requires the revision that was read.
    pub revision: u64,
    /// Content of the subscription, as JSON.
    pub document: String,
}

#[derive(Serialize, Deserialize)]
struct OverrideRecord {
    subscription_id: String,
}

#[derive(Clone)]
pub struct Subscriptions {
    table: Table,
    entries: Entries,
}

impl Subscriptions {
    pub fn new(table: Table) -> Self {
        let entries = Entries {
            table: table.clone(),
            plural: "subscriptions",
            counter: keys::subscriptions_changed,
        };
        Self { table, entries }
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<SubscriptionRecord>> {
        self.table.find(&keys::subscription(tenant, id)).await
    }

    /// 404 for a missing subscription.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<SubscriptionRecord> {
        let found = self.find(tenant, id).await?;
        found.ok_or_else(|| missing(id))
    }

    /// Returns the subscriptions of a project after the one with the id `after`, oldest first, read lazily.
    pub fn rows(
        &self,
        tenant: &Tenant,
        after: Option<&str>,
        read_at_once: usize,
    ) -> Rows<SubscriptionRecord> {
        let query = Query::partition(keys::subscriptions(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Lists the subscriptions of a project, oldest first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<SubscriptionRecord>> {
        self.table
            .all(&Query::partition(keys::subscriptions(tenant)))
            .await
    }

    /// Requires that a subscription is unchanged since a revision.
    pub fn unchanged(&self, tenant: &Tenant, id: &str, revision: u64) -> Guard {
        Guard {
            table: self.table.clone(),
            key: keys::subscription(tenant, id),
            condition: Condition::NumberIs("revision", revision),
        }
    }

    /// Returns the name of the last change of the project's subscriptions; None if there was none.
    pub async fn last_change(&self, tenant: &Tenant) -> Result<Option<String>> {
        self.entries.last_change(tenant).await
    }

    /// Returns the name of the last change, and the number of runs that listen for events, with one read.
    pub async fn state(&self, tenant: &Tenant) -> Result<SetState> {
        self.entries.state(tenant).await
    }

    /// Adds a subscription; 409 if the project already has [`MAX_ENTRIES`]. `replaces` is the system
    /// subscription that it replaces; 409 if another subscription already replaces it.
    ///
    /// [`MAX_ENTRIES`]: crate::records::entries::MAX_ENTRIES
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

    /// Writes a subscription whose revision is one more than the one that was read.
    pub async fn save(&self, tenant: &Tenant, record: &SubscriptionRecord) -> Result<Written> {
        let key = keys::subscription(tenant, &record.id);
        let expected = Condition::NumberIs("revision", record.revision.saturating_sub(1));
        let transaction = self.entries.changed(tenant)?;
        transaction.put(&key, record, expected)?.commit().await
    }

    /// Removes a subscription, and ends the replacement of its system subscription. 404 for a missing one.
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
