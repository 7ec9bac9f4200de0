//! Loads, changes and commits stores. Every change of a store uses this path.

use std::sync::Arc;

use platform::races::{RacePolicy, Races};
use platform::records::Written;
use platform::{Error, Result, Tenant, UtcTime, ids};

use super::changes::changes;
use super::steps::Step;
use super::{DataStores, keys};
use crate::records::stores::{CompletedImport, ImportRecord, StoreRecord, StoreVersion};
use crate::schema::manifest::Manifest;

/// Author of a change, for the store's records.
#[derive(Clone, Debug)]
pub struct Author {
    /// `user:<id>` or `apikey:<id>`.
    pub reference: String,
}

/// A store at the time of reading.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Owner of the store.
    pub tenant: Tenant,
    pub record: StoreRecord,
    /// Manifest of the version that was loaded; `record` is always the head.
    pub manifest: Arc<Manifest>,
}

/// Content of the next version, and the reason for it.
pub(super) struct Change {
    /// The whole next manifest; the commit sets its version ids.
    pub(super) manifest: Manifest,
    pub(super) message: String,
    /// The import that makes this version; the commit sets the version in its record.
    pub(super) import: Option<CompletedImport>,
}

impl DataStores {
    /// Loads the head of a store with its manifest; fails with 404 if the store is missing or archived.
    pub async fn load(&self, tenant: &Tenant, store: &str) -> Result<Loaded> {
        let record = self.inner.records.get(tenant, store).await?;
        let manifest = self.manifest(tenant, store, &record.version_id).await?;
        Ok(Loaded {
            tenant: tenant.clone(),
            record,
            manifest,
        })
    }

    /// Loads the manifest of a version. The cache key is the version's id alone, so the caller must know that
    /// the version belongs to this tenant's store.
    pub(super) async fn manifest(
        &self,
        tenant: &Tenant,
        store: &str,
        version: &str,
    ) -> Result<Arc<Manifest>> {
        if let Some(manifest) = self.inner.manifests.find(version) {
            return Ok(manifest);
        }
        let key = keys::manifest_key(tenant, store, version);
        let bytes = self.inner.objects.find(&key).await?;
        let bytes = bytes.ok_or_else(|| Error::internal(format!("the manifest {key} is missing")))?;
        let manifest = Arc::new(Manifest::from_json(&bytes)?);
        self.inner.manifests.keep(&manifest);
        Ok(manifest)
    }

    /// Writes the manifest of a version, before any record names it.
    pub(super) async fn write_manifest(&self, tenant: &Tenant, manifest: Manifest) -> Result<Arc<Manifest>> {
        let key = keys::manifest_key(tenant, &manifest.store_id, &manifest.version_id);
        self.inner.objects.put(&key, manifest.to_json()?).await?;
        let manifest = Arc::new(manifest);
        self.inner.manifests.keep(&manifest);
        Ok(manifest)
    }

    /// Commits `change` as the next version after `base`. Returns None if another writer committed first,
    /// if the snapshot's name is taken, or if the import's job is gone; the caller loads again and decides.
    pub(super) async fn commit(
        &self,
        tenant: &Tenant,
        author: &Author,
        base: &Loaded,
        change: Change,
    ) -> Result<Option<Loaded>> {
        let committed = self.commit_as(tenant, author, base, change, None).await?;
        Ok(committed.map(|(loaded, _)| loaded))
    }

    /// Commits like [`commit`](Self::commit), as a snapshot if a name is given.
    pub(super) async fn commit_as(
        &self,
        tenant: &Tenant,
        author: &Author,
        base: &Loaded,
        mut change: Change,
        snapshot_name: Option<String>,
    ) -> Result<Option<(Loaded, StoreVersion)>> {
        let parent = base.record.version_id.clone();
        let (version_id, now) = id_after(&parent, self.inner.clock.now().max(base.record.updated));
        change.manifest.version_id = version_id;
        change.manifest.parent_version_id = Some(parent);
        change.manifest.check_follows(&base.manifest).map_err(|broken| {
            Error::internal(format!(
                "a version that may not follow was not written: {}",
                broken.join("; ")
            ))
        })?;
        let manifest = self.write_manifest(tenant, change.manifest).await?;
        self.reached(Step::ManifestWritten);
        let import = change.import.as_ref().map(|import| &import.record);
        let changes = changes(&base.manifest, &manifest, import);
        let record = StoreRecord {
            schema_version: manifest.schema_version,
            version_id: manifest.version_id.clone(),
            version_count: base.record.version_count + 1,
            revision: base.record.revision + 1,
            updated: now,
            updated_by: author.reference.clone(),
            last_import_at: if change.import.is_some() {
                Some(now)
            } else {
                base.record.last_import_at
            },
            ..with_totals(base.record.clone(), &manifest)
        };
        let version = StoreVersion {
            is_snapshot: snapshot_name.is_some(),
            snapshot_name,
            changes,
            ..version_record(&manifest, change.message, author, now)
        };
        let import = change.import.map(|import| CompletedImport {
            record: ImportRecord {
                version_id: Some(version.id.clone()),
                ..import.record
            },
            ..import
        });
        let outcome = self
            .inner
            .records
            .commit(tenant, &record, &version, import.as_ref())
            .await;
        if matches!(outcome, Ok(Written::Done)) {
            self.reached(Step::HeadMoved);
            return Ok(Some((
                Loaded {
                    tenant: tenant.clone(),
                    record,
                    manifest,
                },
                version,
            )));
        }
        // A successful write can lose its response, and the SDK's retry of it is refused. A caller that
        // receives an error would repeat the change, so the record of the version, written together with the
        // head, decides.
        if self
            .inner
            .records
            .has_version(tenant, &record.id, &version.id)
            .await?
        {
            return Ok(Some((
                Loaded {
                    tenant: tenant.clone(),
                    record,
                    manifest,
                },
                version,
            )));
        }
        outcome.map(|_| None)
    }
}

/// Returns a new id that sorts after `parent`, and its time. Versions are listed by id, and processes that
/// issue ids within one millisecond do not coordinate.
fn id_after(parent: &str, now: UtcTime) -> (String, UtcTime) {
    let id = ids::new_id(now);
    if id.as_str() > parent {
        return (id, now);
    }
    let later = UtcTime::from_millis(now.as_millis() + 1).unwrap_or(now);
    (ids::new_id(later), later)
}

/// Makes the record of a manifest's version.
pub(super) fn version_record(
    manifest: &Manifest,
    message: String,
    author: &Author,
    now: UtcTime,
) -> StoreVersion {
    StoreVersion {
        id: manifest.version_id.clone(),
        message,
        schema_version: manifest.schema_version,
        is_snapshot: false,
        snapshot_name: None,
        created_at: now,
        created_by: author.reference.clone(),
        parent_version_id: manifest.parent_version_id.clone(),
        changes: Vec::new(),
    }
}

fn with_totals(record: StoreRecord, manifest: &Manifest) -> StoreRecord {
    StoreRecord {
        table_count: manifest.tables.len() as u64,
        total_rows: manifest
            .tables
            .iter()
            .map(crate::schema::manifest::TableVersion::row_count)
            .sum(),
        storage_bytes: manifest
            .tables
            .iter()
            .map(crate::schema::manifest::TableVersion::bytes)
            .sum(),
        ..record
    }
}

pub(super) const fn store_races() -> Races {
    Races::new(&RacePolicy::STORE, "a data store")
}
