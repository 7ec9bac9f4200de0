//! Changes the whole schema, all or nothing.

use platform::{Result, Tenant};

use super::{Author, DataStores, Loaded};
use crate::schema::plan::SchemaPlan;
use crate::schema::update::SchemaUpdate;

impl DataStores {
    /// Drops tables, creates and changes others, and replaces the relationships. Fails like
    /// [`alter_table`](Self::alter_table).
    pub async fn update_schema(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        update: &SchemaUpdate,
        message: Option<String>,
    ) -> Result<Loaded> {
        update.validate()?;
        self.change_schema(tenant, author, store, message, |base, now| {
            SchemaPlan::new(base).update(update, now)
        })
        .await
    }
}
