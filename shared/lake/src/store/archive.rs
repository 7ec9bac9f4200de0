//! Archives stores: an archived store is no longer accessible, and its name is free again. Its versions stay.

use platform::records::Written;
use platform::{Result, Tenant};

use super::commit::store_races;
use super::{Author, DataStores};
use crate::records::stores::{StoreRecord, StoreStatus};

impl DataStores {
    /// Archives a store; fails with 404 if it is missing or already archived.
    pub async fn archive(&self, tenant: &Tenant, author: &Author, store: &str) -> Result<()> {
        let mut races = store_races();
        loop {
            let base = self.inner.records.get(tenant, store).await?;
            let next = StoreRecord {
                status: StoreStatus::Archived,
                revision: base.revision + 1,
                updated: self.inner.clock.now(),
                updated_by: author.reference.clone(),
                ..base
            };
            if self.inner.records.archive(tenant, &next).await? == Written::Done {
                return Ok(());
            }
            races.lost().await?;
        }
    }
}
