//! Sends and follows hints at background work. A hint may be lost, delayed or delivered twice.

use platform::queue::{Delivery, Queue};
use platform::{Error, Result, Tenant};
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::DataStores;
use super::compaction::is_due;
use crate::schema::manifest::Manifest;

/// Body of a queue message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Hint {
    /// An import waits.
    Import(ImportHint),
    /// A store has many small segments. If this hint is lost, the next import sends another.
    Compact(StoreHint),
}

/// Hint at an import that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportHint {
    #[serde(flatten)]
    pub tenant: Tenant,
    pub store_id: String,
    pub import_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreHint {
    #[serde(flatten)]
    pub tenant: Tenant,
    pub store_id: String,
}

impl Hint {
    pub(super) async fn send(&self, queue: &dyn Queue) -> Result<()> {
        let body = serde_json::to_string(self).map_err(Error::internal)?;
        let (Self::Import(ImportHint { tenant, .. }) | Self::Compact(StoreHint { tenant, .. })) = self;
        let delivery = Delivery {
            group: Some(tenant.account()),
            account: Some(tenant.account()),
            ..Delivery::default()
        };
        queue.send_as(&body, delivery).await
    }
}

impl DataStores {
    /// Does the work that a hint names, if it is still due. Fails if the hint must be delivered again.
    ///
    /// The work is boxed, because the nested future type would exceed the compiler's recursion limit.
    pub async fn follow(&self, hint: &Hint) -> Result<()> {
        match hint {
            Hint::Import(hint) => {
                Box::pin(self.run_import(hint)).await?;
                self.compact_where_due(&hint.tenant, &hint.store_id).await
            }
            Hint::Compact(hint) => self.compact_where_due(&hint.tenant, &hint.store_id).await,
        }
    }

    async fn compact_where_due(&self, tenant: &Tenant, store: &str) -> Result<()> {
        let loaded = match self.load(tenant, store).await {
            Ok(loaded) => loaded,
            // The store was archived meanwhile.
            Err(error) if error.kind() == platform::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if is_due(&loaded.manifest, self.inner.compact_at_segments)
            && let Some(compacted) = Box::pin(self.compact(tenant, store)).await?
        {
            info!(store, version = compacted.record.version_id, "store compacted");
        }
        Ok(())
    }

    /// Sends a hint to compact the version that an import made, if it is due.
    pub(super) async fn hint_at_compaction(&self, tenant: &Tenant, manifest: &Manifest) {
        let queue = self.inner.imports.queue.as_ref();
        let Some(queue) = queue.filter(|_| is_due(manifest, self.inner.compact_at_segments)) else {
            return;
        };
        let hint = Hint::Compact(StoreHint {
            tenant: tenant.clone(),
            store_id: manifest.store_id.clone(),
        });
        if let Err(cause) = hint.send(queue.as_ref()).await {
            warn!(%cause, "no message for a compaction; the next import sends one");
        }
    }
}
