//! The versions of a store: listed, named, read and rolled back to. None of it touches a data file.

use std::sync::Arc;

use platform::records::stores::StoreVersion;
use platform::{Error, Result, Tenant};

use super::commit::{Change, MAX_ATTEMPTS, contended, pause};
use super::{Author, DataStores, Loaded};
use crate::schema::manifest::Manifest;

/// Most versions of one listing.
pub const MAX_LISTED_VERSIONS: usize = 1_000;

/// A snapshot that was made.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its version.
    pub version: StoreVersion,
    /// What it holds.
    pub manifest: Arc<Manifest>,
}

impl DataStores {
    /// The newest `limit` versions of a store, newest first; only the named ones on demand.
    pub async fn versions(
        &self,
        tenant: &Tenant,
        store: &str,
        snapshots_only: bool,
        limit: usize,
    ) -> Result<Vec<StoreVersion>> {
        let records = &self.inner.records;
        let store = records.get(tenant, store).await?;
        if snapshots_only {
            records.newest_snapshots(tenant, &store.id, limit).await
        } else {
            records.newest_versions(tenant, &store.id, limit).await
        }
    }

    /// The head of a store, as it is now, with the manifest of one of its versions. A missing version is a 404, so is one of
    /// another store.
    pub async fn load_version(&self, tenant: &Tenant, store: &str, version: &str) -> Result<Loaded> {
        let records = &self.inner.records;
        let (record, version) = tokio::join!(
            records.get(tenant, store),
            records.version(tenant, store, version)
        );
        // A missing store first, whichever read ends first: its versions are missing too.
        let (record, version) = (record?, version?);
        let manifest = self.manifest(tenant, store, &version.id).await?;
        Ok(Loaded {
            tenant: tenant.clone(),
            record,
            manifest,
        })
    }

    /// Makes a snapshot: a version with a name and the content of the current one. A taken name is a 409.
    ///
    /// It is a version of its own rather than a mark on the current one, so that it has its own message, author and time,
    /// and one content can have several names.
    pub async fn snapshot(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        name: &str,
        message: Option<String>,
    ) -> Result<Snapshot> {
        let message = message.unwrap_or_else(|| format!("Snapshot '{name}'"));
        for attempt in 0..MAX_ATTEMPTS {
            let base = self.load(tenant, store).await?;
            if self.inner.records.has_snapshot(tenant, store, name).await? {
                return Err(Error::conflict(format!(
                    "A snapshot named '{name}' exists already; case does not count."
                )));
            }
            let change = Change {
                manifest: (*base.manifest).clone(),
                message: message.clone(),
                import: None,
            };
            let committed = self.commit_as(tenant, author, &base, change, Some(name.to_owned()));
            if let Some((loaded, version)) = committed.await? {
                let manifest = loaded.manifest;
                return Ok(Snapshot { version, manifest });
            }
            pause(attempt).await;
        }
        Err(contended())
    }

    /// Makes a new version with the content of an earlier one; a missing version is a 404. What was there in between stays
    /// in the history, also what others committed while this was on its way.
    pub async fn roll_back(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        version: &str,
    ) -> Result<Loaded> {
        let old = self.load_version(tenant, store, version).await?.manifest;
        let message = format!("Rolled back to {version}");
        for attempt in 0..MAX_ATTEMPTS {
            let base = self.load(tenant, store).await?;
            let change = Change {
                manifest: base.manifest.rolled_back_to(&old),
                message: message.clone(),
                import: None,
            };
            if let Some(committed) = self.commit(tenant, author, &base, change).await? {
                return Ok(committed);
            }
            pause(attempt).await;
        }
        Err(contended())
    }
}
