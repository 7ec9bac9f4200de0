//! Creates tables, all or none.

use platform::{Error, Result, Tenant};

use super::{Author, DataStores, Loaded};
use crate::schema::definition::TableDefinition;
use crate::schema::plan::{MAX_TABLES, SchemaPlan};

impl DataStores {
    /// Creates tables; fails with 409 if a name is taken.
    pub async fn create_tables(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        definitions: &[TableDefinition],
        message: Option<String>,
    ) -> Result<Loaded> {
        check(definitions)?;
        let names: Vec<_> = definitions.iter().map(|table| table.name.as_str()).collect();
        let message = message.unwrap_or_else(|| format!("Created {}", names.join(", ")));
        self.change_schema(tenant, author, store, Some(message), |base, _| {
            SchemaPlan::new(base).create_tables(definitions)
        })
        .await
    }
}

fn check(definitions: &[TableDefinition]) -> Result<()> {
    if definitions.is_empty() {
        return Err(Error::invalid_field("tables", "must hold at least one table."));
    }
    if definitions.len() > MAX_TABLES {
        return Err(Error::invalid(format!(
            "A data store holds at most {MAX_TABLES} tables."
        )));
    }
    for (index, table) in definitions.iter().enumerate() {
        table.validate(&format!("tables[{index}]"))?;
    }
    Ok(())
}
