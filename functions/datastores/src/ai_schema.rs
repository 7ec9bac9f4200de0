//! Renders the schema for a language model that writes queries: names, types and descriptions, keyed by name,
//! in order of creation.

use std::collections::BTreeMap;

use lake::manifest::{ManifestColumn, Relationship, TableVersion};
use lake::schema::SemanticType;
use lake::store::Loaded;
use lake::types::ColumnType;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The schema of a data store in the format `ai`: names and types alone, for a language model.
#[derive(Serialize, JsonSchema)]
pub struct AiSchema {
    /// Name of the data store.
    pub name: String,
    /// Number of the schema: 1 for the empty store, one more with each change of the schema.
    pub version: u64,
    /// Tables by name, in the order in which they were created.
    #[serde(serialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, AiTable>")]
    pub tables: Vec<(String, AiTable)>,
    /// How columns of the tables refer to each other.
    pub relationships: Vec<Relationship>,
}

/// A table in the format `ai`.
#[derive(Serialize, JsonSchema)]
pub struct AiTable {
    /// Meaning of a row, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Columns by name, in the order in which they were added.
    #[serde(serialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, AiColumn>")]
    pub columns: Vec<(String, AiColumn)>,
}

/// A column in the format `ai`.
#[derive(Serialize, JsonSchema)]
pub struct AiColumn {
    /// Type of the values, in upper case; a DECIMAL with its precision and scale.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// True for a column of the primary key; missing for any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_key: Option<bool>,
    /// Hint at the meaning of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_type: Option<SemanticType>,
}

/// Serializes an object whose keys keep their order.
fn in_order<T: Serialize, S: Serializer>(entries: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
}

impl AiSchema {
    pub fn new(loaded: &Loaded) -> Self {
        let manifest = &loaded.manifest;
        let tables = manifest
            .tables
            .iter()
            .map(|table| (table.name.clone(), AiTable::new(table)));
        Self {
            name: loaded.record.name.clone(),
            version: manifest.schema_version,
            tables: tables.collect(),
            relationships: manifest.relationships.clone(),
        }
    }
}

impl AiTable {
    fn new(table: &TableVersion) -> Self {
        let columns = table
            .columns
            .iter()
            .map(|column| (column.name.clone(), AiColumn::new(column)));
        Self {
            description: table.description.clone(),
            columns: columns.collect(),
        }
    }
}

impl AiColumn {
    fn new(column: &ManifestColumn) -> Self {
        Self {
            column_type: column.column_type,
            primary_key: column.primary_key.then_some(true),
            semantic_type: column.semantic_type,
        }
    }
}
