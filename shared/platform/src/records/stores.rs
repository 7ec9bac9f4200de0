//! Data stores: the head of each, its versions and its imports.
//!
//! What a version holds is a manifest in S3; the record here names it. The head moves by one transaction on the condition
//! that its `revision` is the one that was read: everything that changes a store, archiving included, goes through it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::error::{Error, Result, RowError};
use crate::records::{Condition, Query, Rows, Table, Written, keys};
use crate::tenant::Tenant;

/// Status of a data store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum StoreStatus {
    /// In use.
    Active,
    /// Out of use: a 404 on every path, and its name is free.
    Archived,
}

/// The head of a store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreRecord {
    /// Its id.
    pub id: String,
    /// Its name, unique in the project without regard to case.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// Active or archived.
    pub status: StoreStatus,
    /// Rises by one with every change of the schema; 1 for the empty store.
    pub schema_version: u64,
    /// Tables of the current version.
    pub table_count: u64,
    /// Rows of the current version.
    pub total_rows: u64,
    /// Bytes of the current version's data files.
    pub storage_bytes: u64,
    /// The current version.
    pub version_id: String,
    /// Versions ever made.
    pub version_count: u64,
    /// Rises by one with every write of this record: the condition of the next one.
    pub revision: u64,
    /// When it was made.
    pub created: UtcTime,
    /// When it last changed.
    pub updated: UtcTime,
    /// Who made it.
    pub created_by: String,
    /// Who last changed it.
    pub updated_by: String,
    /// When rows were last imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_import_at: Option<UtcTime>,
}

/// A version of a data store. It never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoreVersion {
    /// Id to query the version by, or to roll back to.
    pub id: String,
    /// Reason for the version, from its author, else a sentence about the change.
    pub message: String,
    /// Number of the schema in this version.
    pub schema_version: u64,
    /// Whether it is a snapshot: a version with a name, which no collection removes.
    pub is_snapshot: bool,
    /// Name of a snapshot, unique in the data store without regard to case; missing for any other version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_name: Option<String>,
    /// Time at which the version was made.
    pub created_at: UtcTime,
    /// Principal that made the version, such as `user:<user_id>`; `system` for a compaction.
    pub created_by: String,
    /// Id of the version that was current before; missing for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_version_id: Option<String>,
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

/// What an import does with the rows that are in its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportMode {
    /// Keeps them.
    #[default]
    Append,
    /// Removes them, from the tables of the import alone.
    Replace,
}

/// An import of rows into tables of a data store.
// One that the request itself carries out is written when it is over: if a crash cuts it short, it leaves no
// record, as it leaves no row. One in the background is written when it is taken, and again when its status
// changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Import")]
pub struct ImportRecord {
    /// Id of the import.
    pub id: String,
    /// Id of the data store.
    pub store_id: String,
    /// Status of the import.
    pub status: ImportStatus,
    /// Treatment of the rows that were in the tables before.
    pub mode: ImportMode,
    /// Names of the tables, in the case in which they were created.
    pub tables: Vec<String>,
    /// Reason from the request; missing if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// With `FAILED`: the cause, with table, row and column if the rows are at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// With `FAILED`: the first 100 rows at fault, by table and row; missing if no row is at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<RowError>,
    /// Number of imported rows by table; empty unless the status is `COMPLETED`.
    pub rows_imported: BTreeMap<String, u64>,
    /// With `COMPLETED`: id of the version that the import made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_id: Option<String>,
    /// Time of the request.
    pub started_at: UtcTime,
    /// Time at which the import ended; missing while it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<UtcTime>,
}

/// An import that ends with the version that it makes.
#[derive(Clone, Debug)]
pub struct CompletedImport {
    /// Its record.
    pub record: ImportRecord,
    /// Whether it ran in the background: then its job ends with it, and nothing is written where it has ended already.
    pub has_job: bool,
}

#[derive(Serialize, Deserialize)]
struct NameRecord {
    store_id: String,
}

/// The data stores.
#[derive(Clone)]
pub struct Stores {
    pub(super) table: Table,
}

impl Stores {
    /// Over the table of records.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The head of a store; a missing or archived one is a 404.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<StoreRecord> {
        let found: Option<StoreRecord> = self.table.find(&keys::store(tenant, id)).await?;
        let active = found.filter(|store| store.status == StoreStatus::Active);
        active.ok_or_else(|| Error::not_found("data store", id))
    }

    /// The head of a store, active or archived.
    pub async fn find_any(&self, tenant: &Tenant, id: &str) -> Result<Option<StoreRecord>> {
        self.table.find(&keys::store(tenant, id)).await
    }

    /// The stores of a project behind the one with the id `after`, archived ones too, oldest first, read as
    /// they are asked for.
    pub fn rows(&self, tenant: &Tenant, after: Option<&str>, read_at_once: usize) -> Rows<StoreRecord> {
        let query = Query::partition(keys::stores(tenant));
        self.table.rows(query, after, read_at_once)
    }

    /// Adds a store with its first version; a taken name is a 409.
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
        match written {
            Written::Done => Ok(()),
            Written::Contended => Err(Error::unavailable("a store's name is contended")),
            Written::Refused { .. } => Err(Error::conflict(format!(
                "A data store named '{}' exists already.",
                store.name
            ))),
        }
    }

    /// Moves the head from the state it was read in to `next`, which names `version`. With an import, its record is
    /// written in the same transaction; so is the name of a snapshot, which must be free.
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

    /// Archives a store: `next` is its last head. Its name is free afterwards.
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

    /// Keeps the record of an import that failed.
    pub async fn insert_failed_import(&self, tenant: &Tenant, import: &ImportRecord) -> Result<()> {
        let key = keys::store_import(tenant, &import.store_id, &import.id);
        let _: Written = self.table.put(&key, import, Condition::Absent).await?;
        Ok(())
    }

    /// An import; a missing one is a 404.
    pub async fn import(&self, tenant: &Tenant, store: &str, id: &str) -> Result<ImportRecord> {
        let found = self.table.find(&keys::store_import(tenant, store, id)).await?;
        found.ok_or_else(|| Error::not_found("import", id))
    }
}
