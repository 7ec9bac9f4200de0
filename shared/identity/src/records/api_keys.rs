//! Stores API keys.

use crate::api_key::ApiKey;
use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::records::{Changes, Condition, Query, Rows, Table, keys};
use platform::tenant::Tenant;

#[derive(Clone)]
pub struct ApiKeys {
    table: Table,
}

impl ApiKeys {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    pub async fn find(&self, tenant: &Tenant, id: &str) -> Result<Option<ApiKey>> {
        self.table.find(&keys::api_key(tenant, id)).await
    }

    /// Lists the keys of a project, oldest first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<ApiKey>> {
        self.table.all(&Query::partition(keys::api_keys(tenant))).await
    }

    pub async fn insert(&self, tenant: &Tenant, key: &ApiKey) -> Result<()> {
        if self
            .table
            .transaction()
            .put(&keys::api_key(tenant, &key.id), key, Condition::Absent)?
            .commit()
            .await?
            .took_effect("an API key")?
        {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "The API key '{}' exists already.",
            key.id
        )))
    }

    /// Replaces the secret of a key. 409 if another rotation was faster.
    pub async fn rotate(&self, tenant: &Tenant, key: &ApiKey, before: &ApiKey) -> Result<()> {
        let unchanged = Condition::TextIs("secret_sha256", before.secret_sha256.clone());
        let changes = Changes::default()
            .set("secret_sha256", &key.secret_sha256)?
            .set("hint", &key.hint)?
            .set_or_remove("previous", key.previous.as_ref())?;
        let outcome = self
            .table
            .update(&keys::api_key(tenant, &key.id), &changes, unchanged)
            .await?;
        if outcome.took_effect("an API key")? {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "The API key '{}' was rotated or revoked at the same time; read it again.",
            key.id
        )))
    }

    /// Writes the time of a use. Does nothing for a key that was revoked meanwhile.
    pub async fn used(&self, tenant: &Tenant, id: &str, now: UtcTime) -> Result<()> {
        let changes = Changes::default().set("last_used_at", &now)?;
        let key = keys::api_key(tenant, id);
        self.table
            .update(&key, &changes, Condition::Present)
            .await
            .map(|_| ())
    }

    /// Returns the keys of a project, oldest first.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<ApiKey> {
        self.table
            .rows(Query::partition(keys::api_keys(tenant)), after, read_at_once)
    }

    /// 404 for a missing key.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<ApiKey> {
        self.find(tenant, id)
            .await?
            .ok_or_else(|| Error::not_found("API key", id))
    }

    /// Removes a key, which is then no longer accepted. 404 for a missing key.
    pub async fn remove(&self, tenant: &Tenant, id: &str) -> Result<()> {
        if self
            .table
            .delete(&keys::api_key(tenant, id), Condition::Present)
            .await?
            .took_effect("an API key")?
        {
            return Ok(());
        }
        Err(Error::not_found("API key", id))
    }
}
