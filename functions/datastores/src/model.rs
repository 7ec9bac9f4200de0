//! The shapes of the API.

use lake::manifest::{Relationship, TableVersion};
use lake::schema::Column;
use lake::store::{Author, Loaded};
use platform::UtcTime;
use platform::auth::Principal;
use platform::records::stores::{StoreRecord, StoreStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The store's id in the path.
#[derive(Deserialize, JsonSchema)]
pub struct StorePath {
    /// The store's id.
    pub store_id: String,
}

/// The store and the table in the path.
#[derive(Deserialize, JsonSchema)]
pub struct TablePath {
    /// The store's id.
    pub store_id: String,
    /// The table's name, without regard to case.
    pub table_name: String,
}

/// The store and the version in the path.
#[derive(Deserialize, JsonSchema)]
pub struct VersionPath {
    /// The store's id.
    pub store_id: String,
    /// The version's id.
    pub version_id: String,
}

/// Who changes a store.
pub fn author(principal: &Principal) -> Author {
    Author {
        reference: principal.reference(),
    }
}

/// A store as a list shows it.
#[derive(Serialize, JsonSchema)]
pub struct StoreListItem {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Active or archived.
    pub status: StoreStatus,
    /// Rises by one with every change of the schema.
    pub schema_version: u64,
    /// Tables.
    pub table_count: u64,
    /// Rows of all tables.
    pub total_rows: u64,
    /// Bytes of all data files.
    pub storage_bytes: u64,
    /// When it was made.
    pub created: UtcTime,
    /// When it last changed.
    pub updated: UtcTime,
}

impl StoreListItem {
    pub fn new(record: &StoreRecord) -> Self {
        Self {
            id: record.id.clone(),
            name: record.name.clone(),
            description: record.description.clone(),
            status: record.status,
            schema_version: record.schema_version,
            table_count: record.table_count,
            total_rows: record.total_rows,
            storage_bytes: record.storage_bytes,
            created: record.created,
            updated: record.updated,
        }
    }
}

/// A store, whole.
#[derive(Serialize, JsonSchema)]
pub struct StoreDetail {
    /// What a list shows.
    #[serde(flatten)]
    pub item: StoreListItem,
    /// Free labels.
    pub tags: Vec<String>,
    /// The current version.
    pub version_id: String,
    /// Versions ever made.
    pub version_count: u64,
    /// Who made it.
    pub created_by: String,
    /// Who last changed it.
    pub updated_by: String,
    /// When rows were last imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_import_at: Option<UtcTime>,
    /// Its schema.
    pub schema: FullSchema,
}

impl StoreDetail {
    pub fn new(loaded: &Loaded) -> Self {
        let record = &loaded.record;
        Self {
            item: StoreListItem::new(record),
            tags: record.tags.clone(),
            version_id: record.version_id.clone(),
            version_count: record.version_count,
            created_by: record.created_by.clone(),
            updated_by: record.updated_by.clone(),
            last_import_at: record.last_import_at,
            schema: FullSchema::new(loaded),
        }
    }
}

/// The schema of a store in the format `full`.
#[derive(Serialize, JsonSchema)]
pub struct FullSchema {
    /// The store's name.
    pub name: String,
    /// The schema's version.
    pub version: u64,
    /// What the schema is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its tables.
    pub tables: Vec<SchemaTable>,
    /// How they relate.
    pub relationships: Vec<Relationship>,
    /// When the store last changed.
    pub updated_at: UtcTime,
    /// Always `full`.
    pub schema_format: &'static str,
}

impl FullSchema {
    pub fn new(loaded: &Loaded) -> Self {
        let manifest = &loaded.manifest;
        Self {
            name: loaded.record.name.clone(),
            version: manifest.schema_version,
            description: manifest.description.clone(),
            tables: manifest.tables.iter().map(SchemaTable::new).collect(),
            relationships: manifest.relationships.clone(),
            updated_at: loaded.record.updated,
            schema_format: "full",
        }
    }
}

/// A table of a schema.
#[derive(Serialize, JsonSchema)]
pub struct SchemaTable {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub row_count: u64,
}

impl SchemaTable {
    fn new(table: &TableVersion) -> Self {
        Self {
            name: table.name.clone(),
            description: table.description.clone(),
            columns: columns(table),
            row_count: table.row_count(),
        }
    }
}

/// A table as a list shows it.
#[derive(Serialize, JsonSchema)]
pub struct TableSummary {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its columns' number.
    pub column_count: u64,
    /// Its rows' number.
    pub row_count: u64,
}

impl TableSummary {
    pub fn new(table: &TableVersion) -> Self {
        Self {
            name: table.name.clone(),
            description: table.description.clone(),
            column_count: table.columns.len() as u64,
            row_count: table.row_count(),
        }
    }
}

/// A table, whole.
#[derive(Serialize, JsonSchema)]
pub struct TableDetail {
    /// What a list shows.
    #[serde(flatten)]
    pub summary: TableSummary,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Some of its rows, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub sample_rows: Option<Box<RawValue>>,
}

impl TableDetail {
    pub fn new(table: &TableVersion) -> Self {
        Self {
            summary: TableSummary::new(table),
            columns: columns(table),
            sample_rows: None,
        }
    }
}

fn columns(table: &TableVersion) -> Vec<Column> {
    table
        .columns
        .iter()
        .map(lake::manifest::ManifestColumn::definition)
        .collect()
}
