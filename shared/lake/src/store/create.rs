//! Creates stores with an empty first version.

use platform::{Result, Tenant, ids};

use super::commit::version_record;
use super::{Author, DataStores, Loaded};
use crate::records::stores::{StoreRecord, StoreStatus};
use crate::schema::manifest::Manifest;

/// Attributes of a new store.
#[derive(Clone, Debug)]
pub struct NewStore {
    /// Unique in the project, ignoring case.
    pub name: String,
    /// Meaning of the store, for people.
    pub description: Option<String>,
    pub tags: Vec<String>,
}

impl DataStores {
    /// Creates a store; fails with 409 if the name is taken.
    pub async fn create(&self, tenant: &Tenant, author: &Author, new: NewStore) -> Result<Loaded> {
        let now = self.inner.clock.now();
        let (store_id, version_id) = (ids::new_id(now), ids::new_id(now));
        let manifest = self
            .write_manifest(tenant, Manifest::new(&store_id, &version_id))
            .await?;
        let record = StoreRecord {
            id: store_id,
            name: new.name,
            description: new.description,
            tags: new.tags,
            status: StoreStatus::Active,
            schema_version: manifest.schema_version,
            table_count: 0,
            total_rows: 0,
            storage_bytes: 0,
            version_id,
            version_count: 1,
            revision: 1,
            created: now,
            updated: now,
            created_by: author.reference.clone(),
            updated_by: author.reference.clone(),
            last_import_at: None,
        };
        let version = version_record(&manifest, "Created the data store".to_owned(), author, now);
        self.inner.records.insert(tenant, &record, &version).await?;
        Ok(Loaded {
            tenant: tenant.clone(),
            record,
            manifest,
        })
    }
}
