//! Changes the columns of one table.

use platform::{Result, Tenant};

use super::{Author, DataStores, Loaded};
use crate::schema::alteration::TableAlteration;
use crate::schema::plan::SchemaPlan;

impl DataStores {
    /// Changes the columns of a table. Fails with 404 if the table or a column is missing, with 409 if its
    /// rows or a relationship forbid the change, with 422 if values do not convert.
    pub async fn alter_table(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        table: &str,
        alteration: &TableAlteration,
        message: Option<String>,
    ) -> Result<Loaded> {
        alteration.validate()?;
        self.change_schema(tenant, author, store, message, |base, now| {
            SchemaPlan::new(base).alter_table(table, alteration, now)
        })
        .await
    }
}
