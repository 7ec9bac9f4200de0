//! Changes of one table's columns.

use platform::{Result, Tenant};

use super::{Author, DataStores, Loaded};
use crate::schema::alteration::TableAlteration;
use crate::schema::plan::Plan;

impl DataStores {
    /// Changes the columns of a table: 404 for a table or column that is not there, 409 for what its rows or a relationship
    /// forbid, 422 for values that do not convert.
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
            Plan::new(base).alter_table(table, alteration, now)
        })
        .await
    }
}
