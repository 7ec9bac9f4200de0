//! Stores data stores: the head of each, its versions and its imports.
//!
//! The content of a version is a manifest in S3, which the record names. The head moves in one transaction
//! that requires the `revision` that was read; every change of a store uses this transaction, including
//! archiving.

use std::collections::BTreeMap;

use platform::clock::UtcTime;
use platform::error::{Error, Result, RowError};
use platform::records::{Condition, Query, Rows, Table, Written, keys};
use platform::tenant::Tenant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Status of a data store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StoreStatus {
    /// In use.
    Active,
    /// Not in use: every path gives a 404, and its name is free.
    Archived,
}

/// Head of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreRecord {
    pub id: String,
    /// Unique in the project, case-insensitively.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub status: StoreStatus,
    /// Increases by one with every change of the schema; 1 for the empty store.
    pub schema_version: u64,
    /// Tables of the current version.
    pub table_count: u64,
    /// Rows of the current version.
    pub total_rows: u64,
    /// Size of the current version's data files.
    pub storage_bytes: u64,
    pub version_id: String,
    /// Number of versions ever created.
    pub version_count: u64,
    /// Increases by one with every write of this record; each write requires the revision that was read.
    pub revision: u64,
    pub created: UtcTime,
    pub updated: UtcTime,
    pub created_by: String,
    pub updated_by: String,
    /// Time of the last import of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_import_at: Option<UtcTime>,
}

/// A version of a data store. It never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreVersion {
    /// Id to query the version by, or to roll back to.
    pub id: String,
    /// Reason for the version, from its author, or a sentence about the change.
    pub message: String,
    /// Number of the schema in this version.
    pub schema_version: u64,
    /// Whether it is a snapshot: a version with a name, which garbage collection never removes.
    pub is_snapshot: bool,
    /// Name of a snapshot, unique in the data store, case-insensitively; missing for any other version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_name: Option<String>,
    /// Time at which the version was created.
    pub created_at: UtcTime,
    /// Principal that created the version, such as `user:<user_id>`; `system` for a compaction.
    pub created_by: String,
    /// Id of the previous version; missing for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_version_id: Option<String>,
    /// What the version changed, the schema before the rows: at most 100 changes. Missing for a snapshot, for
    /// a compaction and for the first version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<VersionChange>,
}

/// A change that a version made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionChange {
    /// Kind of the change.
    pub kind: VersionChangeKind,
    /// Name of the table in this version, or the last name of a dropped one; missing for a change of the data
    /// store or of a relationship.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Name of the column in this version, or the last name of a dropped one; missing for any other change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// With `rows_changed`: number of rows that the table gained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_added: Option<u64>,
    /// With `rows_changed` and `table_dropped`: number of rows that the table lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_removed: Option<u64>,
    /// The change in a sentence of at most 500 characters.
    pub message: String,
}

/// Kind of a change that a version made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersionChangeKind {
    /// The description of the schema.
    SchemaDescribed,
    /// A new table.
    TableCreated,
    /// A table is gone.
    TableDropped,
    /// A table has another name.
    TableRenamed,
    /// The description of a table, or the order of its columns.
    TableAltered,
    /// A new column of a table that was there.
    ColumnAdded,
    /// A column is gone.
    ColumnDropped,
    /// A column has another name.
    ColumnRenamed,
    /// The type, a rule, the default, the semantic type or the description of a column.
    ColumnAltered,
    /// A new relationship.
    RelationshipAdded,
    /// A relationship is gone.
    RelationshipRemoved,
    /// The type of a relationship, or the order of all.
    RelationshipAltered,
    /// The rows of a table.
    RowsChanged,
}

impl VersionChange {
    pub fn new(kind: VersionChangeKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            table: None,
            column: None,
            rows_added: None,
            rows_removed: None,
            message: message.into(),
        }
    }

    #[must_use]
    pub fn of_table(self, name: &str) -> Self {
        Self {
            table: Some(name.to_owned()),
            ..self
        }
    }

    #[must_use]
    pub fn of_column(self, table: &str, name: &str) -> Self {
        Self {
            column: Some(name.to_owned()),
            ..self.of_table(table)
        }
    }

    /// Whether the change is one of the schema.
    pub fn is_of_schema(&self) -> bool {
        self.kind != VersionChangeKind::RowsChanged
    }
}

/// Status of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum ImportStatus {
    /// Waits for a worker.
    Pending,
    /// A worker imports the rows.
    Running,
    /// Every row is in its table.
    Completed,
    /// No row was imported.
    Failed,
}

/// Treatment of the existing rows of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportMode {
    /// Keeps the existing rows.
    #[default]
    Append,
    /// Removes the existing rows of the imported tables.
    Replace,
}

/// An import of rows into tables of a data store.
// An import within the request is written when it has ended: after a crash it leaves neither a record nor
// rows. A background import is written when it is accepted, and again when its status changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Import")]
pub struct ImportRecord {
    /// Id of the import.
    pub id: String,
    /// Id of the data store.
    pub store_id: String,
    /// Status of the import.
    pub status: ImportStatus,
    /// Treatment of the existing rows of the tables.
    pub mode: ImportMode,
    /// Names of the tables, in the case in which they were created.
    pub tables: Vec<String>,
    /// Reason from the request; missing if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With `FAILED`: the cause, with table, row and column if rows are faulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// With `FAILED`: the first 100 faulty rows, by table and row; missing if no row is faulty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<RowError>,
    /// Number of imported rows by table; empty unless the status is `COMPLETED`.
    pub rows_imported: BTreeMap<String, u64>,
    /// With `COMPLETED`: id of the version that the import created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Time of the request.
    pub started_at: UtcTime,
    /// Time at which the import ended; missing while it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<UtcTime>,
}

/// An import that ends with the version that it creates.
#[derive(Clone, Debug)]
pub struct CompletedImport {
    pub record: ImportRecord,
    /// Whether it ran in the background. Then its job is removed with it, and nothing is written if the
    /// import has already ended.
    pub has_job: bool,
}

#[derive(Serialize, Deserialize)]
struct NameRecord {
    store_id: String,
}

#[derive(Clone)]
pub struct Stores {
    pub(super) table: Table,
}

impl Stores {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Returns the head of a store; 404 for a missing or archived one.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<StoreRecord> {
        let found: Option<StoreRecord> = self.table.find(&keys::store(tenant, id)).await?;
        let active = found.filter(|store| store.status == StoreStatus::Active);
        active.ok_or_else(|| Error::not_found("data store", id))
    }

    /// Returns the head of a store, active or archived.
    pub async fn find_any(&self, tenant: &Tenant, id: &str) -> Result<Option<StoreRecord>> {
        self.table.find(&keys::store(tenant, id)).await
    }

    /// Returns the stores of a project after the one with the id `after`, including archived ones, oldest
    /// first, read lazily.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<StoreRecord> {
        let query = Query::partition(keys::stores(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Adds a store with its first version; 409 if its name is taken.
    pub async fn insert(&self, tenant: &Tenant, store: &StoreRecord, version: &StoreVersion) -> Result<()> {
        let name = NameRecord {
            store_id: store.id.clone(),
        };
        let written = self
            .table
            .transaction()
            .put(&keys::store_name(tenant, &store.name), &name, Condition::Absent)?
            .put(&keys::store(tenant, &store.id), store, Condition::Absent)?
            .put(
                &keys::store_version(tenant, &store.id, &version.id),
                version,
                Condition::Absent,
            )?
            .commit()
            .await?;
        if written.took_effect("a store's name")? {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "A data store named '{}' exists already.",
            store.name
        )))
    }

    /// Moves the head from the state that was read to `next`, which names `version`. The same transaction
    /// writes the record of an import, and the name of a snapshot, which must be free.
    pub async fn commit(
        &self,
        tenant: &Tenant,
        next: &StoreRecord,
        version: &StoreVersion,
        import: Option<&CompletedImport>,
    ) -> Result<Written> {
        let mut transaction = self
            .table
            .transaction()
            .put(
                &keys::store(tenant, &next.id),
                next,
                Condition::NumberIs("revision", next.revision - 1),
            )?
            .put(
                &keys::store_version(tenant, &next.id, &version.id),
                version,
                Condition::Absent,
            )?;
        if let Some(name) = &version.snapshot_name {
            let key = keys::store_snapshot(tenant, &next.id, name);
            transaction = transaction.put(&key, version, Condition::Absent)?;
        }
        if let Some(CompletedImport { record, has_job }) = import {
            let key = keys::store_import(tenant, &next.id, &record.id);
            transaction = if *has_job {
                let job = keys::store_import_job(tenant, &next.id, &record.id);
                transaction
                    .replace(&key, record)?
                    .delete(&job, Condition::Present)?
            } else {
                transaction.put(&key, record, Condition::Absent)?
            };
        }
        transaction.commit().await
    }

    /// Archives a store: `next` is its last head. Its name becomes free.
    pub async fn archive(&self, tenant: &Tenant, next: &StoreRecord) -> Result<Written> {
        self.table
            .transaction()
            .put(
                &keys::store(tenant, &next.id),
                next,
                Condition::NumberIs("revision", next.revision - 1),
            )?
            .delete(
                &keys::store_name(tenant, &next.name),
                Condition::TextIs("store_id", next.id.clone()),
            )?
            .commit()
            .await
    }

    pub async fn insert_failed_import(&self, tenant: &Tenant, import: &ImportRecord) -> Result<()> {
        let key = keys::store_import(tenant, &import.store_id, &import.id);
        let _: Written = self.table.put(&key, import, Condition::Absent).await?;
        Ok(())
    }

    /// 404 for a missing import.
    pub async fn import(&self, tenant: &Tenant, store: &str, id: &str) -> Result<ImportRecord> {
        let found = self.table.find(&keys::store_import(tenant, store, id)).await?;
        found.ok_or_else(|| Error::not_found("import", id))
    }
}
