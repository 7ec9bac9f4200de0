//! Stores dashboards of data stores, and their versions.
//!
//! The head of a dashboard contains its whole current content, so one read is enough. A version is two items:
//! a small one for lists, and one with the content, which only a promotion reads; so a list of a thousand
//! versions takes a few pages. Every change is one transaction that requires the head that was read.

use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::{Condition, Order, Outcome, Query, Rows, Table, json_text, keys};
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Status of a dashboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DashboardStatus {
    /// In use.
    #[default]
    Active,
    /// Read-only; its name is free for others.
    Archived,
}

/// Content of a dashboard that people edit and versions keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardContent {
    /// Unique among the active dashboards of its store, case-insensitively.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// SQL of the rows.
    pub query: String,
    /// Chart.
    #[serde(with = "json_text")]
    pub spec: Value,
    /// Maximum number of rows of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_limit: Option<u64>,
    #[serde(with = "json_text")]
    pub query_parameters: Map<String, Value>,
    pub tags: Vec<String>,
}

/// A version of a dashboard, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardVersionRecord {
    pub id: String,
    /// 1 for the first version, increasing by one; never reused.
    pub version_number: u64,
    /// Name of a snapshot, unique in its dashboard, case-insensitively.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Reason for the version.
    pub message: String,
    /// Whether it is a named snapshot, whose content never changes.
    pub is_snapshot: bool,
    pub created_at: UtcTime,
    pub created_by: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DashboardRecord {
    pub id: String,
    pub store_id: String,
    /// Content of the current version.
    pub content: DashboardContent,
    pub status: DashboardStatus,
    /// Whether a change creates a version, instead of changing the current one.
    pub versioning_enabled: bool,
    pub current: DashboardVersionRecord,
    /// Highest version number ever used.
    pub last_version: u64,
    /// Increases by one with every write of this record; each write requires the revision that was read.
    pub revision: u64,
    /// Increases by one with every change that is visible to a reader; creating a snapshot is not visible.
    pub changes: u64,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
    pub created_by: String,
    pub updated_by: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredDashboardVersion {
    pub version: DashboardVersionRecord,
    pub content: DashboardContent,
}

#[derive(Serialize, Deserialize)]
struct NameRecord {
    id: String,
}

/// Labels of steps.
const NAME: &str = "name";
const SNAPSHOT: &str = "snapshot";

#[derive(Clone)]
pub struct Dashboards {
    table: Table,
}

impl Dashboards {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Returns the head of a dashboard, active or archived; 404 for a missing one or one of another store.
    pub async fn get(&self, tenant: &Tenant, store: &str, id: &str) -> Result<DashboardRecord> {
        let found = self.table.find(&keys::dashboard(tenant, store, id)).await?;
        found.ok_or_else(|| Error::not_found("dashboard", id))
    }

    /// Returns the head of an active dashboard; 404 otherwise.
    pub async fn get_active(&self, tenant: &Tenant, store: &str, id: &str) -> Result<DashboardRecord> {
        let found = self.get(tenant, store, id).await?;
        match found.status {
            DashboardStatus::Active => Ok(found),
            DashboardStatus::Archived => Err(Error::not_found("active dashboard", id)),
        }
    }

    /// Returns the dashboards of a store, newest first, on demand those before a dashboard.
    pub fn rows(
        &self,
        tenant: &Tenant,
        store: &str,
        before: Option<&str>,
        read_at_once: usize,
    ) -> Rows<DashboardRecord> {
        let query = Query::partition(keys::dashboards(tenant, store)).order(Order::Descending);
        self.table.rows(query, before, read_at_once)
    }

    /// Returns the versions of a dashboard up to this number, newest first.
    pub fn version_rows(
        &self,
        tenant: &Tenant,
        dashboard: &str,
        last: u64,
        read_at_once: usize,
    ) -> Rows<DashboardVersionRecord> {
        let sort = keys::dashboard_version_sort;
        let query = Query::partition(keys::dashboard_parts(tenant, dashboard))
            .between(sort(0), sort(last))
            .order(Order::Descending);
        self.table.rows(query, None, read_at_once)
    }

    /// Returns a version with its content; 404 for a missing one.
    pub async fn version(
        &self,
        tenant: &Tenant,
        dashboard: &str,
        version: &str,
    ) -> Result<StoredDashboardVersion> {
        let found = self
            .table
            .find(&keys::dashboard_content(tenant, dashboard, version))
            .await?;
        found.ok_or_else(|| Error::not_found("dashboard version", version))
    }

    /// Adds a dashboard with its first version; 409 if its name is taken.
    pub async fn insert(&self, tenant: &Tenant, dashboard: &DashboardRecord) -> Result<()> {
        let name = NameRecord {
            id: dashboard.id.clone(),
        };
        let (store, content) = (&dashboard.store_id, &dashboard.content);
        let transaction = self
            .table
            .transaction()
            .put(
                &keys::dashboard(tenant, store, &dashboard.id),
                dashboard,
                Condition::Absent,
            )?
            .put(
                &keys::dashboard_name(tenant, store, &content.name),
                &name,
                Condition::Absent,
            )?;
        let written = with_version(transaction, tenant, dashboard, &dashboard.current)?
            .commit()
            .await?;
        if written.took_effect("a dashboard's name")? {
            return Ok(());
        }
        Err(name_taken(&content.name))
    }

    /// Replaces the head `before`, as it was read, by `next`, and writes a new version with it, or the
    /// current version's content where that changes in place. 409 if the name is taken; any other refusal or
    /// contention means that the head has changed since, and must be read again.
    pub async fn save(
        &self,
        tenant: &Tenant,
        before: &DashboardRecord,
        next: &DashboardRecord,
        new_version: Option<&DashboardVersionRecord>,
    ) -> Result<Outcome> {
        let store = &before.store_id;
        let mut transaction = self.table.transaction().put(
            &keys::dashboard(tenant, store, &before.id),
            next,
            Condition::NumberIs("revision", before.revision),
        )?;
        let name_key = keys::dashboard_name(tenant, store, &before.content.name);
        let next_name_key = keys::dashboard_name(tenant, store, &next.content.name);
        let gives_name_up = next.status == DashboardStatus::Archived || name_key != next_name_key;
        if gives_name_up {
            transaction = transaction.delete(&name_key, Condition::TextIs("id", before.id.clone()))?;
        }
        if gives_name_up && next.status == DashboardStatus::Active {
            let name = NameRecord { id: next.id.clone() };
            transaction = transaction
                .put(&next_name_key, &name, Condition::Absent)?
                .labelled(NAME);
        }
        if let Some(version) = new_version {
            if let Some(name) = &version.name {
                let key = keys::dashboard_snapshot_name(tenant, &next.id, name);
                let record = NameRecord {
                    id: version.id.clone(),
                };
                transaction = transaction
                    .put(&key, &record, Condition::Absent)?
                    .labelled(SNAPSHOT);
            }
            transaction = with_version(transaction, tenant, next, version)?;
        } else if next.current.id == before.current.id && next.content != before.content {
            let key = keys::dashboard_content(tenant, &next.id, &next.current.id);
            transaction = transaction.put(&key, &stored(next, &next.current), Condition::Present)?;
        }
        match transaction.commit_labelled().await? {
            Outcome::Refused(Some(NAME)) => Err(name_taken(&next.content.name)),
            Outcome::Refused(Some(SNAPSHOT)) => {
                let name = new_version.and_then(|version| version.name.as_deref());
                Err(Error::conflict(format!(
                    "A snapshot named '{}' of this dashboard exists already.",
                    name.unwrap_or_default()
                )))
            }
            outcome => Ok(outcome),
        }
    }
}

fn with_version<'a>(
    transaction: platform::records::Transaction<'a>,
    tenant: &Tenant,
    dashboard: &DashboardRecord,
    version: &DashboardVersionRecord,
) -> Result<platform::records::Transaction<'a>> {
    transaction
        .put(
            &keys::dashboard_version(tenant, &dashboard.id, version.version_number),
            version,
            Condition::Absent,
        )?
        .put(
            &keys::dashboard_content(tenant, &dashboard.id, &version.id),
            &stored(dashboard, version),
            Condition::Absent,
        )
}

fn stored(dashboard: &DashboardRecord, version: &DashboardVersionRecord) -> StoredDashboardVersion {
    StoredDashboardVersion {
        version: version.clone(),
        content: dashboard.content.clone(),
    }
}

fn name_taken(name: &str) -> Error {
    Error::conflict(format!(
        "A dashboard named '{name}' exists already in this data store."
    ))
}
