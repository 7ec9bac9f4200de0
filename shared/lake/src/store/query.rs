//! Queries over a store's current version.

use bytes::Bytes;
use platform::{Error, Result, Tenant};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{DataStores, Loaded};
use crate::engine::Scope;
use crate::manifest::TableVersion;

impl DataStores {
    /// Runs one read-only statement over the current version; see [`crate::Engine::query`] for the answer.
    pub async fn query(
        &self,
        tenant: &Tenant,
        store: &str,
        sql: &str,
        params: &Map<String, Value>,
        limit: Option<usize>,
    ) -> Result<Bytes> {
        let Loaded { record, manifest } = self.load(tenant, store).await?;
        let files = self.files(tenant, store, &manifest.tables).await?;
        let scope = Scope {
            key: &record.version_id,
            tables: &manifest.tables,
            files: &files.by_segment,
        };
        self.inner.engine.query(scope, sql, params, limit).await
    }

    /// Up to `limit` rows of a table of a loaded version, as a JSON array of objects in the order of the columns.
    pub async fn sample(
        &self,
        tenant: &Tenant,
        loaded: &Loaded,
        table: &TableVersion,
        limit: usize,
    ) -> Result<Box<RawValue>> {
        let manifest = &loaded.manifest;
        let files = self.files(tenant, &manifest.store_id, &manifest.tables).await?;
        let scope = Scope {
            key: &manifest.version_id,
            tables: &manifest.tables,
            files: &files.by_segment,
        };
        let rows = self.inner.engine.sample(scope, &table.name, limit).await?;
        serde_json::from_slice(&rows).map_err(Error::internal)
    }
}
