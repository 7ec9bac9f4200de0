//! Defines the shapes of the API.

use lake::manifest::{ManifestColumn, Relationship, TableVersion};
use lake::records::stores::{StoreRecord, StoreStatus};
use lake::schema::SemanticType;
use lake::store::{Author, Loaded};
use lake::types::ColumnType;
use platform::auth::Principal;
use platform::http::text::{MAX_NAME_LENGTH, MAX_TEXT_LENGTH};
use platform::{Error, Result, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The path of a data store.
#[derive(Deserialize, JsonSchema)]
pub struct StorePath {
    /// Id of the data store.
    pub store_id: String,
}

/// The path of a table.
#[derive(Deserialize, JsonSchema)]
pub struct TablePath {
    /// Id of the data store.
    pub store_id: String,
    /// Name of the table, in upper or lower case.
    pub table_name: String,
}

/// The path of a version.
#[derive(Deserialize, JsonSchema)]
pub struct VersionPath {
    /// Id of the data store.
    pub store_id: String,
    /// Id of the version.
    pub version_id: String,
}

/// A new snapshot, of a data store or of a dashboard.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSnapshot {
    /// 1 to 200 characters; unique among the snapshots of the data store, or of the dashboard, without regard
    /// to case. A name is never free again.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: String,
    /// Reason for the snapshot, at most 2,000 characters. Default: a sentence with the snapshot's name.
    #[schemars(length(max = MAX_TEXT_LENGTH))]
    pub message: Option<String>,
}

/// Returns the maximum number of entries of a list without pages.
pub fn limited(limit: Option<usize>, default: usize, max: usize) -> Result<usize> {
    let limit = limit.unwrap_or(default);
    match (1..=max).contains(&limit) {
        true => Ok(limit),
        false => Err(Error::invalid(format!(
            "The query parameter 'limit' must be from 1 to {max}."
        ))),
    }
}

/// Returns the author of a change for the records of a store.
pub fn author(principal: &Principal) -> Author {
    Author {
        reference: principal.reference(),
    }
}

/// A data store in a list, without its schema.
#[derive(Serialize, JsonSchema)]
pub struct DataStoreListItem {
    /// The same for all versions.
    pub id: String,
    /// Name, unique among the active data stores of the project without regard to case.
    pub name: String,
    /// Purpose of the data store, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Status of the data store; answers show active ones alone.
    pub status: StoreStatus,
    /// Number of the current schema: 1 for the empty store, one more with each change of the schema.
    pub schema_version: u64,
    /// Number of tables in the current version.
    pub table_count: u64,
    /// Number of rows in all tables of the current version.
    pub total_rows: u64,
    /// Size of the current version's data files, in bytes. They are compressed.
    pub storage_bytes: u64,
    /// Time at which the data store was created.
    pub created: UtcTime,
    /// Time at which the current version was made.
    pub updated: UtcTime,
}

impl DataStoreListItem {
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

/// A data store in its current version, with its schema.
#[derive(Serialize, JsonSchema)]
pub struct DataStore {
    #[serde(flatten)]
    pub item: DataStoreListItem,
    /// Labels to group data stores by.
    pub tags: Vec<String>,
    /// Id of the current version.
    pub version_id: String,
    /// Number of versions ever made; collection of old versions does not lower it.
    pub version_count: u64,
    /// Principal that created the data store, such as `user:<user_id>` or `apikey:<key_id>`.
    pub created_by: String,
    /// Principal that made the current version; `system` for a compaction.
    pub updated_by: String,
    /// Time of the last import that succeeded; missing before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_import_at: Option<UtcTime>,
    /// Tables and relationships of the current version.
    pub schema: FullSchema,
}

impl DataStore {
    pub fn new(loaded: &Loaded) -> Self {
        let record = &loaded.record;
        Self {
            item: DataStoreListItem::new(record),
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

/// The schema of a data store in the format `full`.
#[derive(Serialize, JsonSchema)]
pub struct FullSchema {
    /// Name of the data store.
    pub name: String,
    /// Number of the schema: 1 for the empty store, one more with each change of the schema.
    pub version: u64,
    /// Purpose of the schema, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tables in the order in which they were created.
    pub tables: Vec<SchemaTable>,
    /// How columns of the tables refer to each other.
    pub relationships: Vec<Relationship>,
    /// Time at which the data store last changed, in its schema or in its rows.
    pub updated_at: UtcTime,
    /// Format of this schema: always `full`.
    #[schemars(extend("const" = "full"))]
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

/// A table of a schema, with its columns.
#[derive(Serialize, JsonSchema)]
pub struct SchemaTable {
    /// Name, unique in the data store without regard to case.
    pub name: String,
    /// Meaning of a row, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Columns in the order in which they were added.
    pub columns: Vec<TableColumn>,
    /// Number of rows.
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

/// A table in a list, without its columns.
#[derive(Serialize, JsonSchema)]
pub struct TableSummary {
    /// Name, unique in the data store without regard to case.
    pub name: String,
    /// Meaning of a row, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Number of columns.
    pub column_count: u64,
    /// Number of rows.
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

/// A table with its columns.
#[derive(Serialize, JsonSchema)]
pub struct Table {
    #[serde(flatten)]
    pub summary: TableSummary,
    /// Columns in the order in which they were added.
    pub columns: Vec<TableColumn>,
    /// With `sample=true`: up to 10 rows, objects keyed by column name. Which rows these are is not defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub sample_rows: Option<Box<RawValue>>,
}

impl Table {
    pub fn new(table: &TableVersion) -> Self {
        Self {
            summary: TableSummary::new(table),
            columns: columns(table),
            sample_rows: None,
        }
    }
}

/// A column of a table.
#[derive(Serialize, JsonSchema)]
pub struct TableColumn {
    /// Name, unique in the table without regard to case.
    pub name: String,
    /// Type of the values, in upper case; a DECIMAL with its precision and scale.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Meaning of the values, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a row can have null here; false for each column of the primary key.
    pub nullable: bool,
    /// True for a column of the primary key; missing for any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_key: Option<bool>,
    /// True if no two rows have the same value here, nulls aside; missing if they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<bool>,
    /// Value of imported rows that do not have this column, as it was defined. Default: null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Hint at the meaning of the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_type: Option<SemanticType>,
}

impl TableColumn {
    fn new(column: &ManifestColumn) -> Self {
        Self {
            name: column.name.clone(),
            column_type: column.column_type,
            description: column.description.clone(),
            nullable: column.nullable,
            primary_key: column.primary_key.then_some(true),
            unique: column.unique.then_some(true),
            default: column.default.clone(),
            semantic_type: column.semantic_type,
        }
    }
}

fn columns(table: &TableVersion) -> Vec<TableColumn> {
    table.columns.iter().map(TableColumn::new).collect()
}
