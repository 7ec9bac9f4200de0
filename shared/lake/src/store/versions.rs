//! Names, reads and rolls back versions of a store, without access to data files.

use std::sync::Arc;

use platform::{Error, Result, Tenant};

use super::commit::{Change, store_races};
use super::{Author, DataStores, Loaded};
use crate::records::stores::StoreVersion;
use crate::schema::manifest::Manifest;

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub version: StoreVersion,
    pub manifest: Arc<Manifest>,
}

impl DataStores {
    /// Loads the current head of a store with the manifest of one of its versions. Fails with 404 if the
    /// version is missing or belongs to another store.
    pub async fn load_version(&self, tenant: &Tenant, store: &str, version: &str) -> Result<Loaded> {
        let records = &self.inner.records;
        let (record, version) = tokio::join!(
            records.get(tenant, store),
            records.version(tenant, store, version)
        );
        // The error of a missing store takes precedence, whichever read ends first, because its versions are
        // missing too.
        let (record, version) = (record?, version?);
        let manifest = self.manifest(tenant, store, &version.id).await?;
        Ok(Loaded {
            tenant: tenant.clone(),
            record,
            manifest,
        })
    }

    /// Makes a snapshot: a version with a name and the content of the current one. Fails with 409 if the name
    /// is taken.
    ///
    /// It is a separate version and not a mark on the current one, so that it has its own message, author and
    /// time, and one content can have several names.
    pub async fn snapshot(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        name: &str,
        message: Option<String>,
    ) -> Result<Snapshot> {
        let message = message.unwrap_or_else(|| format!("Snapshot '{name}'"));
        let mut races = store_races();
        loop {
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
            races.lost().await?;
        }
    }

    /// Makes a new version with the content of an earlier one; fails with 404 if that is missing. Versions in
    /// between stay in the history, including those that other writers commit during this call.
    pub async fn roll_back(
        &self,
        tenant: &Tenant,
        author: &Author,
        store: &str,
        version: &str,
    ) -> Result<Loaded> {
        let old = self.load_version(tenant, store, version).await?.manifest;
        let message = format!("Rolled back to {version}");
        let mut races = store_races();
        loop {
            let base = self.load(tenant, store).await?;
            let change = Change {
                manifest: base.manifest.rolled_back_to(&old),
                message: message.clone(),
                import: None,
            };
            if let Some(committed) = self.commit(tenant, author, &base, change).await? {
                return Ok(committed);
            }
            races.lost().await?;
        }
    }
}
