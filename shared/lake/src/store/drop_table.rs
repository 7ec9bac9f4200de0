//! Drops tables from the next version on.

use platform::{Result, Tenant};

use super::{Author, DataStores};
use crate::schema::plan::SchemaPlan;

impl DataStores {
    /// Drops a table and returns its name as stored. Fails with 404 if it is missing, with 409 if a
    /// relationship names it.
    pub async fn drop_table(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        table: &str,
    ) -> Result<String> {
        let mut dropped = String::new();
        self.change_schema(tenant, author, store, None, |base, _| {
            let plan = SchemaPlan::new(base).drop_table(table)?;
            dropped = base
                .table(table)
                .map_or_else(String::new, |table| table.name.clone());
            Ok(plan)
        })
        .await?;
        Ok(dropped)
    }
}
