//! Describes one version of a store; the description is immutable.
//!
//! Close to Iceberg's model, so that a version can be shown to other engines: a column is identified by its
//! field id, never by its name or position, and a table is a list of immutable Parquet segments. Adding,
//! dropping, renaming and widening columns change only this description. Readers ignore unknown fields and
//! refuse an unknown format.

use std::collections::BTreeMap;

use platform::http::strict;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::definition::{Column, SemanticType, is_false, yes};
use crate::schema::types::ColumnType;

/// The format that this code writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format of this description; see [`FORMAT`].
    pub format: u32,
    pub store_id: String,
    pub version_id: String,
    /// The version from which this one was made; None for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_version_id: Option<String>,
    /// Rises by one with each change of tables, columns or relationships.
    pub schema_version: u64,
    /// Meaning of the store, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Id of the next new table: greater than every id ever issued in this store.
    pub next_table_id: u32,
    /// In order of creation.
    #[serde(default)]
    pub tables: Vec<TableVersion>,
    /// Describe the data; not enforced.
    #[serde(default)]
    pub relationships: Vec<Relationship>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableVersion {
    /// Stays with the table through renames; never reused within a store.
    pub table_id: u32,
    pub name: String,
    /// Meaning of a row, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Id of the next new column: greater than every id ever issued in this table, so that none is reused.
    pub next_field_id: u32,
    /// In the order of `SELECT *`.
    pub columns: Vec<ManifestColumn>,
    /// Files with the rows, in order of import.
    #[serde(default)]
    pub segments: Vec<Segment>,
}

/// A column in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestColumn {
    /// Identifies the column in the files.
    pub field_id: u32,
    /// Name in this version.
    pub name: String,
    /// Type in this version; older files may hold a narrower one.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default = "yes")]
    pub nullable: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub primary_key: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub unique: bool,
    /// For new rows only; see [`Column::default`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_type: Option<SemanticType>,
    /// Value in rows of files older than the column, as text that converts to its type; None is NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_default: Option<String>,
}

/// One immutable Parquet file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Names the object; unique within the version.
    pub segment_id: String,
    /// At least one.
    pub rows: u64,
    pub bytes: u64,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: String,
    /// Statistics by field id.
    #[serde(default)]
    pub columns: BTreeMap<u32, ColumnStatistics>,
}

/// Statistics of one column in one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Minimum as text; None if unknown, if every row is null, or if the text is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Maximum as text; None as for `min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Rows with null; None if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_count: Option<u64>,
}

/// A reference of one column to another. It describes the data and is not enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relationship {
    /// Column that refers, as `<table>.<column>`.
    pub from: String,
    /// Column that is referred to, as `<table>.<column>`.
    pub to: String,
    /// Number of rows on either side.
    #[serde(rename = "type", deserialize_with = "strict::name")]
    pub relationship_type: RelationshipType,
}

/// How many rows of one table belong to how many of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RelationshipType {
    /// At most one row on either side.
    OneToOne,
    /// One row of `from` belongs to many of `to`.
    OneToMany,
    /// Many rows of `from` belong to one of `to`.
    ManyToOne,
    /// Many rows on either side.
    ManyToMany,
}

impl ManifestColumn {
    pub fn new(field_id: u32, column: Column, initial_default: Option<String>) -> Self {
        Self {
            field_id,
            name: column.name,
            column_type: column.column_type,
            description: column.description,
            nullable: column.nullable,
            primary_key: column.primary_key,
            unique: column.unique,
            default: column.default,
            semantic_type: column.semantic_type,
            initial_default,
        }
    }

    /// Returns the column as a caller defines and sees it.
    pub fn definition(&self) -> Column {
        Column {
            name: self.name.clone(),
            column_type: self.column_type,
            description: self.description.clone(),
            nullable: self.nullable,
            primary_key: self.primary_key,
            unique: self.unique,
            default: self.default.clone(),
            semantic_type: self.semantic_type,
        }
    }
}

impl RelationshipType {
    /// Returns the written form: `many-to-one`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneToOne => "one-to-one",
            Self::OneToMany => "one-to-many",
            Self::ManyToOne => "many-to-one",
            Self::ManyToMany => "many-to-many",
        }
    }
}

impl TableVersion {
    /// Counts the rows of all segments.
    pub fn row_count(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// Sums the sizes of all segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Finds a column by name, ignoring case.
    pub fn column(&self, name: &str) -> Option<&ManifestColumn> {
        self.columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

impl Manifest {
    /// Returns an empty first version.
    pub fn new(store_id: impl Into<String>, version_id: impl Into<String>) -> Self {
        Self {
            format: FORMAT,
            store_id: store_id.into(),
            version_id: version_id.into(),
            parent_version_id: None,
            schema_version: 1,
            description: None,
            next_table_id: 1,
            tables: Vec::new(),
            relationships: Vec::new(),
        }
    }

    /// Parses a stored manifest; fails if its format is unknown.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(Error::internal)?;
        if head.format > FORMAT {
            return Err(Error::internal(format!(
                "the manifest has format {}, and this program reads up to {FORMAT}: a newer program wrote it",
                head.format
            )));
        }
        serde_json::from_slice(bytes).map_err(Error::internal)
    }

    /// Serializes the manifest for storage; fails if an invariant is broken.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        self.check().map_err(|broken| {
            Error::internal(format!(
                "a broken manifest was not written: {}",
                broken.join("; ")
            ))
        })?;
        serde_json::to_vec(self).map_err(Error::internal)
    }

    /// Finds a table by name, ignoring case.
    pub fn table(&self, name: &str) -> Option<&TableVersion> {
        self.tables
            .iter()
            .find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &[u8] = include_bytes!("../../tests/fixtures/manifest-1.json");

    fn stored() -> Manifest {
        Manifest::from_json(STORED).unwrap()
    }

    fn broken(change: impl FnOnce(&mut Manifest)) -> String {
        let mut manifest = stored();
        change(&mut manifest);
        assert_eq!(manifest.to_json().unwrap_err().status(), 500);
        manifest.check().unwrap_err().join("; ")
    }

    #[test]
    fn a_stored_manifest_of_format_1_stays_readable() {
        let manifest = stored();
        manifest.check().unwrap();
        let orders = manifest.table("ORDERS").unwrap();
        assert_eq!((orders.row_count(), orders.bytes()), (1_500, 48_211));
        assert_eq!(
            orders.column("status").unwrap().initial_default.as_deref(),
            Some("open")
        );
        assert!(orders.column("note").unwrap().nullable);
        assert_eq!(
            Manifest::from_json(&manifest.to_json().unwrap()).unwrap(),
            manifest
        );
    }

    #[test]
    fn a_newer_format_is_refused_before_anything_else_is_read() {
        let error = Manifest::from_json(br#"{"format": 2, "tables": "elsewhere"}"#).unwrap_err();
        assert!(error.to_string().contains("format 2"), "{error}");
        assert_eq!(error.status(), 500);
    }

    #[test]
    fn every_invariant_is_checked() {
        assert!(broken(|m| m.tables[1].name = "Orders".into()).contains("two tables are named 'orders'"));
        assert!(broken(|m| m.tables[1].table_id = 1).contains("two tables have the id 1"));
        assert!(broken(|m| m.tables[0].columns[1].name = "ID".into()).contains("two columns named 'id'"));
        assert!(broken(|m| m.tables[0].columns[1].field_id = 1).contains("the field id 1"));
        assert!(broken(|m| m.tables[0].columns[1].field_id = 9).contains("next_field_id (6)"));
        assert!(broken(|m| m.tables[0].segments[0].rows = 0).contains("is empty"));
        assert!(broken(|m| m.tables[0].next_field_id = 5).contains("never issued"));
        assert!(broken(|m| m.relationships[0].to = "customers.key".into()).contains("'customers.key'"));
        assert!(broken(|m| m.relationships.push(m.relationships[0].clone())).contains("are related twice"));
        assert!(broken(|m| m.next_table_id = 2).contains("next_table_id (2)"));
        assert!(broken(|m| m.tables[1].columns.clear()).contains("no columns"));
        assert!(broken(|m| m.tables[1].name = "a b".into()).contains("'a b' is not a name"));
        assert!(broken(|m| m.tables[0].columns[0].nullable = true).contains("is nullable"));
        assert!(broken(|m| m.tables[0].columns[2].default = Some("now()".into())).contains("'orders.total'"));
        assert!(broken(|m| m.tables[0].columns[2].initial_default = Some("x".into())).contains("initial"));
        let twice = broken(|m| {
            let segment = m.tables[0].segments[0].clone();
            m.tables[0].segments.push(segment);
        });
        assert!(twice.contains("occurs twice"), "{twice}");
    }
}
