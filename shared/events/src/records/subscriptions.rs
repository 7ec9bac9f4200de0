//! Stores event subscriptions as JSON texts, whose content `shared/events` defines.
//!
//! Each change of a subscription gives the project's set of subscriptions the next number in the same
//! transaction, and names the subscription in a ring of the last changes. A process that caches the set reads
//! the number, so it never uses an outdated set, and reads what changed again instead of all.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use platform::config::variables::MAX_SUBSCRIPTIONS;
use platform::config::{ConfigError, Environment};
use platform::error::{Error, Result};
use platform::races::{RacePolicy, Races};
use platform::records::{Condition, Guard, Key, Outcome, Query, Rows, Table, Transaction, keys};
use platform::tenant::Tenant;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::records::entries::{Entries, Growth, Limits, MAX_ENTRIES, SetState};
use crate::records::events::EventInsertion;
use crate::subscription::StoredSubscription;

/// Label of the step that takes the place of a system subscription.
const REPLACED: &str = "replaced";
/// Number of the last changes of a project that are kept.
const CHANGES: u64 = 1_000;
/// Number of items that one read asks for.
const READ_AT_ONCE: usize = 100;
/// Maximum size of the documents of a project's subscriptions together, in bytes of JSON. A matcher has them
/// in memory, where they take about twice as much.
pub const MAX_BYTES: u64 = 64 * 1_024 * 1_024;
/// Range of the setting of the number of subscriptions of a project.
const MAX_SUBSCRIPTIONS_RANGE: RangeInclusive<u64> = 1..=100_000;

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

/// A change in the ring.
#[derive(Serialize, Deserialize)]
struct ChangeRecord {
    change: u64,
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
            limits: Limits {
                entries: MAX_ENTRIES,
                bytes: MAX_BYTES,
            },
        };
        Self { table, entries }
    }

    /// Limits the number of subscriptions of a project to the setting.
    pub fn limited_by(mut self, environment: &Environment) -> Result<Self, ConfigError> {
        let most = environment.number(MAX_SUBSCRIPTIONS)?;
        if !MAX_SUBSCRIPTIONS_RANGE.contains(&most) {
            let (least, greatest) = MAX_SUBSCRIPTIONS_RANGE.into_inner();
            return Err(ConfigError::new(format!(
                "The variable {MAX_SUBSCRIPTIONS} is {most}. Set it to a number from {least} to {greatest}."
            )));
        }
        self.entries.limits.entries = most;
        Ok(self)
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

    /// Returns the number of the last change, and of the runs that listen for events, with one read.
    pub async fn state(&self, tenant: &Tenant) -> Result<SetState> {
        self.entries.state(tenant).await
    }

    /// Returns the subscriptions that the changes after `since` up to `until` changed, each as it is now;
    /// without a record if it is deleted. None where the ring no longer has all of them.
    pub async fn changed(
        &self,
        tenant: &Tenant,
        since: u64,
        until: u64,
    ) -> Result<Option<Vec<(String, Option<SubscriptionRecord>)>>> {
        if until.checked_sub(since).is_none_or(|count| count > CHANGES) {
            return Ok(None);
        }
        let numbers: Vec<u64> = (since + 1..=until).collect();
        let slot = |number: &u64| keys::subscription_change(tenant, number % CHANGES);
        let places: Vec<Key> = numbers.iter().map(slot).collect();
        let changes: Vec<Option<ChangeRecord>> = self.find_all(&places).await?;
        let mut ids = BTreeSet::new();
        for (number, change) in numbers.iter().zip(changes) {
            match change {
                Some(change) if change.change == *number => ids.insert(change.subscription_id),
                _ => return Ok(None),
            };
        }
        let keys: Vec<Key> = ids.iter().map(|id| keys::subscription(tenant, id)).collect();
        let records = self.find_all(&keys).await?;
        Ok(Some(ids.into_iter().zip(records).collect()))
    }

    async fn find_all<T: DeserializeOwned>(&self, keys: &[Key]) -> Result<Vec<Option<T>>> {
        let mut all = Vec::with_capacity(keys.len());
        for part in keys.chunks(READ_AT_ONCE) {
            all.extend(self.table.find_many(part).await?);
        }
        Ok(all)
    }

    /// Adds a subscription; 409 if the project already has as many as it may, or as many bytes. `replaces` is
    /// the system subscription that it replaces; 409 if another subscription already replaces it.
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
        let added = self.change(tenant, None, Some(record), |transaction| {
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
            Outcome::Refused(_) | Outcome::Contended => Err(Error::conflict(format!(
                "The subscription '{}' exists already.",
                record.id
            ))),
        }
    }

    /// Replaces a subscription. Refused where it has changed since it was read as `before`.
    pub async fn save(
        &self,
        tenant: &Tenant,
        before: &SubscriptionRecord,
        next: &SubscriptionRecord,
    ) -> Result<Outcome> {
        let key = keys::subscription(tenant, &before.id);
        let saved = self.change(tenant, Some(before), Some(next), |transaction| {
            transaction.put(&key, next, is_as(before))
        });
        saved.await
    }

    /// Replaces a subscription, together with an event about it. Refused where it has changed since it was
    /// read as `before`.
    pub async fn save_with(
        &self,
        tenant: &Tenant,
        before: &SubscriptionRecord,
        next: &SubscriptionRecord,
        event: &EventInsertion,
    ) -> Result<Outcome> {
        let key = keys::subscription(tenant, &before.id);
        let saved = self.change(tenant, Some(before), Some(next), |transaction| {
            event.add_to(transaction.put(&key, next, is_as(before))?)
        });
        saved.await
    }

    /// Removes a subscription that `check` does not refuse, and ends the replacement of its system
    /// subscription. 404 for a missing one.
    pub async fn remove(
        &self,
        tenant: &Tenant,
        id: &str,
        check: impl Fn(&StoredSubscription) -> Result<()>,
    ) -> Result<()> {
        let key = keys::subscription(tenant, id);
        let mut races = Races::new(&RacePolicy::RECORD, "a subscription");
        loop {
            let before = self.get(tenant, id).await?;
            let subscription = StoredSubscription::from_record(&before)?;
            check(&subscription)?;
            let removed = self.change(tenant, Some(&before), None, |transaction| {
                let transaction = transaction.delete(&key, is_as(&before))?;
                let Some(system) = &subscription.overrides_system_subscription_id else {
                    return Ok(transaction);
                };
                let key = keys::subscription_override(tenant, system);
                transaction.delete(&key, Condition::TextIs("subscription_id", id.to_owned()))
            });
            if removed.await? == Outcome::Done {
                return Ok(());
            }
            races.lost().await?;
        }
    }

    /// Commits the change of a subscription from one record to another, with its place in the ring.
    async fn change<'a>(
        &'a self,
        tenant: &Tenant,
        before: Option<&SubscriptionRecord>,
        next: Option<&SubscriptionRecord>,
        steps: impl Fn(Transaction<'a>) -> Result<Transaction<'a>>,
    ) -> Result<Outcome> {
        let Some(of) = before.or(next) else {
            return Ok(Outcome::Done);
        };
        let (lost, gained) = (growth_of(before), growth_of(next));
        let growth = Growth {
            entries: gained.entries - lost.entries,
            bytes: gained.bytes - lost.bytes,
        };
        let changed = self.entries.change(tenant, growth, |transaction, change| {
            let place = ChangeRecord {
                change,
                subscription_id: of.id.clone(),
            };
            let key = keys::subscription_change(tenant, change % CHANGES);
            steps(transaction.replace(&key, &place)?)
        });
        changed.await
    }
}

/// Returns what a subscription adds to its set.
fn growth_of(record: Option<&SubscriptionRecord>) -> Growth {
    record.map_or_else(Growth::default, |record| Growth {
        entries: 1,
        bytes: i64::try_from(record.document.len()).unwrap_or(i64::MAX),
    })
}

fn is_as(before: &SubscriptionRecord) -> Condition {
    Condition::NumberIs("revision", before.revision)
}

fn missing(id: &str) -> Error {
    Error::not_found("subscription", id)
}
