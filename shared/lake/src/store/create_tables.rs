//! New tables, all or none.

use platform::{Error, Result, Tenant};

use super::commit::{Change, MAX_ATTEMPTS, contended, pause};
use super::{Author, DataStores, Loaded};
use crate::manifest::{Manifest, ManifestColumn, TableVersion};
use crate::schema::{Column, TableDefinition};

/// Most columns of all tables of a store: its detail, which shows them all, must fit into an answer.
pub const MAX_COLUMNS: usize = 20_000;

/// Most tables of a store.
pub const MAX_TABLES: usize = 2_000;

impl DataStores {
    /// Makes tables; a taken name is a 409.
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
        for attempt in 0..MAX_ATTEMPTS {
            let base = self.load(tenant, store).await?;
            let manifest = with_tables(&base.manifest, definitions)?;
            let change = Change {
                manifest,
                message: message.clone(),
                import: None,
            };
            if let Some(committed) = self.commit(tenant, author, &base, change).await? {
                return Ok(committed);
            }
            pause(attempt).await;
        }
        Err(contended())
    }
}

fn check(definitions: &[TableDefinition]) -> Result<()> {
    if definitions.is_empty() {
        return Err(Error::invalid("The field 'tables' must hold at least one table."));
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

fn with_tables(base: &Manifest, definitions: &[TableDefinition]) -> Result<Manifest> {
    let mut manifest = base.clone();
    manifest.schema_version += 1;
    let first_id = manifest
        .tables
        .iter()
        .map(|table| table.table_id)
        .max()
        .unwrap_or(0)
        + 1;
    for (table_id, definition) in (first_id..).zip(definitions) {
        if let Some(present) = manifest.table(&definition.name) {
            return Err(Error::conflict(format!(
                "A table named '{}' exists already.",
                present.name
            )));
        }
        manifest.tables.push(new_table(table_id, definition));
    }
    if manifest.tables.len() > MAX_TABLES {
        return Err(Error::invalid(format!(
            "A data store holds at most {MAX_TABLES} tables."
        )));
    }
    let columns: usize = manifest.tables.iter().map(|table| table.columns.len()).sum();
    if columns > MAX_COLUMNS {
        return Err(Error::invalid(format!(
            "A data store holds at most {MAX_COLUMNS} columns in all its tables; it would have {columns}."
        )));
    }
    Ok(manifest)
}

fn new_table(table_id: u32, definition: &TableDefinition) -> TableVersion {
    let columns = (1..).zip(&definition.columns).map(|(field_id, column)| {
        // A key is never null: what is shown says so.
        let column = Column {
            nullable: !column.is_required(),
            ..column.clone()
        };
        ManifestColumn::new(field_id, column, None)
    });
    let columns: Vec<_> = columns.collect();
    TableVersion {
        table_id,
        name: definition.name.clone(),
        description: definition.description.clone(),
        next_field_id: columns.iter().map(|column| column.field_id).max().unwrap_or(0) + 1,
        columns,
        segments: Vec::new(),
    }
}
