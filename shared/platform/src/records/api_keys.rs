//! Stores API keys of the data store API.

use crate::auth::api_key::ApiKey;
use crate::error::{Error, Result};
use crate::records::{Condition, Query, Table, keys};
use crate::tenant::Tenant;

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
