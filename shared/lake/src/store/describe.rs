//! Describes a statement's result over a store's current version.

use platform::{Result, Tenant};
use serde_json::{Map, Value};

use super::DataStores;
use crate::jobs::describe::ResultColumn;

impl DataStores {
    /// Checks one read-only statement over the current version without running it, and returns the columns of
    /// its result. Fails with 400 and the statement's error. Reads no data file.
    pub async fn describe(
        &self,
        tenant: &Tenant,
        store: &str,
        sql: &str,
        params: &Map<String, Value>,
    ) -> Result<Vec<ResultColumn>> {
        let loaded = self.load(tenant, store).await?;
        let deadline = self.inner.engine.limits().deadline;
        let mut session = self.session(&loaded, deadline).await?;
        let plan = session.plan(sql, Some(params)).await?;
        session.describe(&plan).await
    }
}
