//! The immutable description of one version of a store.
//!
//! Close to Iceberg's model, so that a version can be shown to other engines: a column is its field id, never
//! its name or place, and a table is a list of immutable Parquet segments. Adding, dropping, renaming and
//! widening columns change only this description. Readers ignore fields that they do not know, and refuse a
//! format that they do not.

use std::collections::BTreeMap;

use platform::http::strict;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::definition::{Column, SemanticType, is_false, yes};
use crate::schema::types::ColumnType;

/// The newest format of a stored manifest that this code reads, and the one that it writes.
pub const FORMAT: u32 = 1;

/// One version of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of this description; see [`FORMAT`].
    pub format: u32,
    /// The store.
    pub store_id: String,
    /// This version.
    pub version_id: String,
    /// The version that this one was made from; None for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_version_id: Option<String>,
    /// Rises by one with each change of tables, columns or relationships.
    pub schema_version: u64,
    /// What the store holds, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The id that the next new table gets: above every id ever given in this store. A manifest of before there was
    /// this field has 0, and none of its tables was ever dropped; see [`Manifest::issue_table_id`].
    #[serde(default)]
    pub next_table_id: u32,
    /// The tables, in the order of their making.
    #[serde(default)]
    pub tables: Vec<TableVersion>,
    /// How tables refer to each other; not enforced.
    #[serde(default)]
    pub relationships: Vec<Relationship>,
}

/// A table in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableVersion {
    /// Stays with the table through renames; never reused within a store.
    pub table_id: u32,
    /// Its name in this version.
    pub name: String,
    /// What it holds, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The id that the next new column gets: above every id ever given in this table, so that none is reused.
    pub next_field_id: u32,
    /// The columns, in the order that `SELECT *` shows.
    pub columns: Vec<ManifestColumn>,
    /// The files that hold the rows, in the order of import.
    #[serde(default)]
    pub segments: Vec<Segment>,
}

/// A column in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestColumn {
    /// The id under which files hold it.
    pub field_id: u32,
    /// Its name in this version.
    pub name: String,
    /// Its type in this version; older files may hold a narrower one.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// See [`Column::description`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// See [`Column::nullable`].
    #[serde(default = "yes")]
    pub nullable: bool,
    /// See [`Column::primary_key`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub primary_key: bool,
    /// See [`Column::unique`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub unique: bool,
    /// See [`Column::default`]: for new rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// See [`Column::semantic_type`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semantic_type: Option<SemanticType>,
    /// What rows of files older than the column hold in it, as text that converts to its type; None is NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_default: Option<String>,
}

/// One immutable Parquet file of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Names the object; unique within the version.
    pub segment_id: String,
    /// Its rows, at least one.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// What is known of its columns, by field id.
    #[serde(default)]
    pub columns: BTreeMap<u32, ColumnStatistics>,
}

/// What is known of one column in one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The least value as text; None where unknown, where there is none, or where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// The greatest value as text; None as for `min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Rows without a value; None where unknown.
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
    /// The column `column` under `field_id`.
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

    /// The column as a caller defines and sees it.
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
    /// As it is written: `many-to-one`.
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
    /// The rows of all segments.
    pub fn row_count(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum()
    }

    /// The size of all segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// The column of that name, without regard to case.
    pub fn column(&self, name: &str) -> Option<&ManifestColumn> {
        self.columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

impl Manifest {
    /// An empty first version.
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

    /// Reads a stored manifest.
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

    /// Writes the manifest as it is stored, after checking it.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        self.check().map_err(|broken| {
            Error::internal(format!(
                "a broken manifest was not written: {}",
                broken.join("; ")
            ))
        })?;
        serde_json::to_vec(self).map_err(Error::internal)
    }

    /// The table of that name, without regard to case.
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
