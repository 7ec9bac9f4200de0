//! Finds and lists the versions of a data store. Versions are written with the head that names them, and
//! never change.

use platform::error::{Error, Result};
use platform::records::{Condition, Order, Query, Rows, Written, keys};
use platform::tenant::Tenant;

use crate::records::stores::{StoreVersion, Stores};

impl Stores {
    /// Lists all versions of a store, oldest first.
    pub async fn versions(&self, tenant: &Tenant, store: &str) -> Result<Vec<StoreVersion>> {
        let query = Query::partition(keys::store_parts(tenant, store)).prefix(keys::STORE_VERSION);
        self.table.all(&query).await
    }

    /// Returns the versions of a store, newest first, on demand those before a version.
    pub fn version_rows(
        &self,
        tenant: &Tenant,
        store: &str,
        before: Option<&str>,
        read_at_once: usize,
    ) -> Rows<StoreVersion> {
        let query = Query::partition(keys::store_parts(tenant, store))
            .prefix(keys::STORE_VERSION)
            .order(Order::Descending);
        let before = before.map(|version| keys::store_version(tenant, store, version).sk);
        self.table.rows(query, before.as_deref(), read_at_once)
    }

    /// Lists the snapshots of a store, newest first.
    pub async fn snapshots(&self, tenant: &Tenant, store: &str) -> Result<Vec<StoreVersion>> {
        let query = Query::partition(keys::store_parts(tenant, store)).prefix(keys::STORE_SNAPSHOT);
        let mut snapshots: Vec<StoreVersion> = self.table.all(&query).await?;
        snapshots.sort_unstable_by(|left, right| right.id.cmp(&left.id));
        Ok(snapshots)
    }

    /// Returns a version; 404 for one that was never committed to this store.
    pub async fn version(&self, tenant: &Tenant, store: &str, version: &str) -> Result<StoreVersion> {
        let found = self
            .table
            .find(&keys::store_version(tenant, store, version))
            .await?;
        found.ok_or_else(|| Error::not_found("version", version))
    }

    /// Removes a version that is neither a snapshot nor the current one; returns whether it no longer exists.
    pub async fn remove_version(&self, tenant: &Tenant, store: &str, version: &str) -> Result<bool> {
        let key = keys::store_version(tenant, store, version);
        let written = self.table.delete(&key, Condition::Present).await?;
        Ok(written != Written::Contended)
    }

    pub async fn has_version(&self, tenant: &Tenant, store: &str, version: &str) -> Result<bool> {
        let found: Option<StoreVersion> = self
            .table
            .find(&keys::store_version(tenant, store, version))
            .await?;
        Ok(found.is_some())
    }

    /// Whether a snapshot of a store has this name, case-insensitively.
    pub async fn has_snapshot(&self, tenant: &Tenant, store: &str, name: &str) -> Result<bool> {
        let found: Option<StoreVersion> = self
            .table
            .find(&keys::store_snapshot(tenant, store, name))
            .await?;
        Ok(found.is_some())
    }
}
