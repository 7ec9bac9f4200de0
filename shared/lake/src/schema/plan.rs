//! Plans the next schema of a store before its rows are read: pure, so that a writer that lost a race can
//! plan again.

use std::collections::BTreeSet;

use platform::clock::UtcTime;
use platform::http::text::check_description;
use platform::{Error, Result};

use crate::schema::alter::{Alter, Altered};
use crate::schema::alteration::{TableAlteration, shown};
use crate::schema::definition::{Column, TableDefinition};
use crate::schema::manifest::{Manifest, ManifestColumn, Relationship, TableVersion};
use crate::schema::update::{SchemaUpdate, TableUpdate};

/// Most columns of all tables of a store. The store's detail shows them all and must fit into an answer.
pub const MAX_COLUMNS: usize = 20_000;

/// Most tables of a store.
pub const MAX_TABLES: usize = 2_000;

/// Most bytes of text in the tables and columns of a store, so that its detail fits into an answer of 6 MB.
const MAX_TEXT_BYTES: usize = 2 * 1_024 * 1_024;

/// Counts bytes as JSON writes them: six for a control character.
fn text_bytes(table: &TableVersion) -> usize {
    let in_json = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    let length =
        |text: &Option<String>| -> usize { text.as_deref().unwrap_or_default().bytes().map(in_json).sum() };
    let columns = table
        .columns
        .iter()
        .map(|column| column.name.len() + length(&column.description) + length(&column.default));
    table.name.len() + length(&table.description) + columns.sum::<usize>()
}

/// A next manifest, and the tables whose rows need a check or a rewrite.
#[derive(Clone, Debug)]
pub(crate) struct SchemaPlan {
    pub(crate) manifest: Manifest,
    pub(crate) altered: Vec<Altered>,
}

impl SchemaPlan {
    /// Starts a plan with the manifest unchanged.
    pub(crate) fn new(base: &Manifest) -> Self {
        Self {
            manifest: base.clone(),
            altered: Vec::new(),
        }
    }

    /// Adds tables; fails with 409 if a name is taken.
    pub(crate) fn create_tables(mut self, definitions: &[TableDefinition]) -> Result<Self> {
        for definition in definitions {
            self.create_table(definition)?;
        }
        self.check_limits()?;
        Ok(self)
    }

    pub(crate) fn alter_table(mut self, name: &str, changes: &TableAlteration, now: UtcTime) -> Result<Self> {
        let base = self.manifest.clone();
        let before = base
            .table(name)
            .ok_or_else(|| Error::not_found("table", &shown(name)))?;
        self.replace(before, changes.apply(before, now)?);
        self.check_limits()?;
        self.keep_relationships(&base, &base.relationships)?;
        Ok(self)
    }

    pub(crate) fn drop_table(mut self, name: &str) -> Result<Self> {
        let base = self.manifest.clone();
        self.remove_table(name)?;
        self.keep_relationships(&base, &base.relationships)?;
        Ok(self)
    }

    /// Drops tables, creates and changes others, and replaces the relationships, as the update says.
    pub(crate) fn update(mut self, update: &SchemaUpdate, now: UtcTime) -> Result<Self> {
        let base = self.manifest.clone();
        if let Some(description) = &update.description {
            self.manifest.description.clone_from(description);
        }
        for name in &update.drop_tables {
            self.remove_table(name)?;
        }
        for (index, table) in update.tables.iter().enumerate() {
            let path = format!("tables[{index}]");
            match self.manifest.table(&table.name).cloned() {
                Some(before) => self.replace(&before, table_changes(&before, table, &path, now)?),
                None => self.create_table(&new_table(table, &path)?)?,
            }
        }
        self.check_limits()?;
        match &update.relationships {
            Some(relationships) => self.set_relationships(relationships)?,
            None => self.keep_relationships(&base, &base.relationships)?,
        }
        Ok(self)
    }

    fn create_table(&mut self, definition: &TableDefinition) -> Result<()> {
        if let Some(present) = self.manifest.table(&definition.name) {
            return Err(Error::conflict(format!(
                "A table named '{}' exists already.",
                present.name
            )));
        }
        let table_id = self.manifest.issue_table_id();
        let columns = (1..).zip(&definition.columns).map(|(field_id, column)| {
            // A key column is never null, and the schema shows it so.
            let column = Column {
                nullable: !column.is_required(),
                ..column.clone()
            };
            ManifestColumn::new(field_id, column, None)
        });
        let columns: Vec<_> = columns.collect();
        self.manifest.tables.push(TableVersion {
            table_id,
            name: definition.name.clone(),
            description: definition.description.clone(),
            next_field_id: columns.iter().map(|column| column.field_id).max().unwrap_or(0) + 1,
            columns,
            segments: Vec::new(),
        });
        Ok(())
    }

    fn remove_table(&mut self, name: &str) -> Result<()> {
        let mut tables = self.manifest.tables.iter();
        let at = tables.position(|table| table.name.eq_ignore_ascii_case(name));
        let at = at.ok_or_else(|| Error::not_found("table", &shown(name)))?;
        self.manifest.tables.remove(at);
        Ok(())
    }

    fn replace(&mut self, before: &TableVersion, altered: Altered) {
        for table in &mut self.manifest.tables {
            if table.table_id == before.table_id {
                *table = altered.table.clone();
            }
        }
        if altered.has_work() {
            self.altered.push(altered);
        }
    }

    fn check_limits(&self) -> Result<()> {
        if self.manifest.tables.len() > MAX_TABLES {
            return Err(Error::invalid(format!(
                "A data store holds at most {MAX_TABLES} tables."
            )));
        }
        let columns = self.manifest.tables.iter().map(|table| table.columns.len());
        let columns: usize = columns.sum();
        if columns > MAX_COLUMNS {
            return Err(Error::invalid(format!(
                "A data store holds at most {MAX_COLUMNS} columns in all its tables; it would have {columns}."
            )));
        }
        let bytes: usize = self.manifest.tables.iter().map(text_bytes).sum();
        if bytes > MAX_TEXT_BYTES {
            return Err(Error::invalid(format!(
                "The names, descriptions and defaults of a data store take at most {MAX_TEXT_BYTES} bytes; they would take {bytes}."
            )));
        }
        Ok(())
    }

    /// Renames the ends of the relationships of `base` to current names; fails if a column no longer exists.
    fn keep_relationships(&mut self, base: &Manifest, relationships: &[Relationship]) -> Result<()> {
        let mut current = Vec::new();
        for relationship in relationships {
            let end = |text: &str| {
                self.current_name(base, text).ok_or_else(|| {
                    Error::conflict(format!(
                        "The relationship {} → {} names '{text}', which would be dropped; take it out of the schema's \
                         'relationships' first, or in the same update of the schema.",
                        relationship.from, relationship.to
                    ))
                })
            };
            current.push(Relationship {
                from: end(&relationship.from)?,
                to: end(&relationship.to)?,
                relationship_type: relationship.relationship_type,
            });
        }
        self.manifest.relationships = current;
        Ok(())
    }

    /// Returns the current name of a column of `base`.
    fn current_name(&self, base: &Manifest, end: &str) -> Option<String> {
        let (table, column) = end.split_once('.')?;
        let before = base.table(table)?;
        let field_id = before.column(column)?.field_id;
        let mut tables = self.manifest.tables.iter();
        let table = tables.find(|table| table.table_id == before.table_id)?;
        let mut columns = table.columns.iter();
        let column = columns.find(|column| column.field_id == field_id)?;
        Some(format!("{}.{}", table.name, column.name))
    }

    fn set_relationships(&mut self, relationships: &[Relationship]) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut current = Vec::new();
        for (index, relationship) in relationships.iter().enumerate() {
            let path = format!("relationships[{index}]");
            let end = |field: &str, text: &str| {
                self.current_name(&self.manifest, text).ok_or_else(|| {
                    Error::invalid(format!(
                        "{path}.{field} '{}' is not a column of a table of the data store; write <table>.<column>.",
                        shown(text)
                    ))
                })
            };
            let (from, to) = (end("from", &relationship.from)?, end("to", &relationship.to)?);
            if !seen.insert((from.clone(), to.clone())) {
                return Err(Error::invalid(format!(
                    "{path} relates {from} and {to}, which are related already."
                )));
            }
            current.push(Relationship {
                from,
                to,
                relationship_type: relationship.relationship_type,
            });
        }
        self.manifest.relationships = current;
        Ok(())
    }
}

/// Makes the definition of a table that the update creates.
fn new_table(table: &TableUpdate, path: &str) -> Result<TableDefinition> {
    let columns = table.columns.iter().enumerate();
    let columns = columns.map(|(index, column)| column.new_column(&format!("{path}.columns[{index}]")));
    let definition = TableDefinition {
        name: table.name.clone(),
        description: table.description.clone().flatten(),
        columns: columns.collect::<Result<_>>()?,
    };
    definition.validate(path)?;
    Ok(definition)
}

/// Applies an update to an existing table; columns that it omits stay.
fn table_changes(before: &TableVersion, table: &TableUpdate, path: &str, now: UtcTime) -> Result<Altered> {
    let mut alter = Alter::new(before, now);
    if let Some(description) = &table.description {
        check_description(&format!("{path}.description"), description.as_deref())?;
        alter.describe(description.clone());
    }
    for (index, column) in table.columns.iter().enumerate() {
        let path = format!("{path}.columns[{index}]");
        if alter.has_column(&column.name) {
            alter.modify(column, &path)?;
        } else {
            alter.add(&column.new_column(&path)?, &path)?;
        }
    }
    alter.finish()
}
