//! Validates a change of the whole schema in one request, as sent.
//!
//! Everything that the update omits stays: tables, columns of a listed table, and attributes of a listed
//! column. So an update based on an older schema removes nothing; a drop is always explicit.

use std::collections::BTreeMap;

use platform::http::strict;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_description};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::schema::alteration::{ColumnChange, shown};
use crate::schema::definition::MAX_COLUMNS;
use crate::schema::manifest::Relationship;
use crate::schema::plan::MAX_TABLES;

/// Most relationships of a store.
pub const MAX_RELATIONSHIPS: usize = 5_000;

/// A table to create or to change. What is left out stays.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TableUpdate {
    /// Name of a table, in upper or lower case. A table with another name is created.
    pub name: String,
    /// New meaning of a row, for people, at most 10,000 characters; null removes it.
    #[serde(default, deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Columns to add or to change, at most 2,000, each named once. A new column needs a type, a new table a
    /// column.
    #[serde(default, deserialize_with = "strict::objects")]
    #[schemars(length(max = MAX_COLUMNS))]
    pub columns: Vec<ColumnChange>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaUpdate {
    /// Meaning of the store, for people; an inner None removes it.
    pub description: Option<Option<String>>,
    pub tables: Vec<TableUpdate>,
    /// All relationships after the update; None keeps them.
    pub relationships: Option<Vec<Relationship>>,
    pub drop_tables: Vec<String>,
}

impl SchemaUpdate {
    /// Checks what does not depend on the store. Fails with 400 and the path of a wrong or contradictory
    /// field.
    pub fn validate(&self) -> Result<()> {
        let is_empty = self.tables.is_empty() && self.drop_tables.is_empty();
        if is_empty && self.description.is_none() && self.relationships.is_none() {
            return Err(Error::invalid(
                "Nothing is to be changed; send 'tables', 'drop_tables', 'relationships' or 'description'.",
            ));
        }
        let relationships = self.relationships.as_ref().map_or(0, Vec::len);
        for (list, count, most) in [
            ("tables", self.tables.len(), MAX_TABLES),
            ("drop_tables", self.drop_tables.len(), MAX_TABLES),
            ("relationships", relationships, MAX_RELATIONSHIPS),
        ] {
            if count > most {
                return Err(Error::invalid_field(
                    list,
                    format!("has more than {most} entries."),
                ));
            }
        }
        check_description(
            "description",
            self.description.as_ref().and_then(Option::as_deref),
        )?;
        let mut named = BTreeMap::new();
        for (index, name) in self.drop_tables.iter().enumerate() {
            name_once(&mut named, name, format!("drop_tables[{index}]"))?;
        }
        for (index, table) in self.tables.iter().enumerate() {
            name_once(&mut named, &table.name, format!("tables[{index}].name"))?;
            let path = format!("tables[{index}].columns");
            if table.columns.len() > MAX_COLUMNS {
                return Err(Error::invalid(format!(
                    "{path} must hold 1 to {MAX_COLUMNS} columns, not {}.",
                    table.columns.len()
                )));
            }
            let mut columns = BTreeMap::new();
            for (index, column) in table.columns.iter().enumerate() {
                name_once(&mut columns, &column.name, format!("{path}[{index}].name"))?;
            }
        }
        Ok(())
    }
}

fn name_once(named: &mut BTreeMap<String, String>, name: &str, path: String) -> Result<()> {
    if let Some(first) = named.get(&name.to_ascii_lowercase()) {
        return Err(Error::invalid(format!(
            "{path} '{}' is named by {first} already; case does not count.",
            shown(name)
        )));
    }
    named.insert(name.to_ascii_lowercase(), path);
    Ok(())
}
