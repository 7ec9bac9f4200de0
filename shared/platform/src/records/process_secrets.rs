//! Stores secrets of processes: sealed JSON values by name. Definitions refer to them; only the worker opens
//! them.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::http::text::check_resource_id;
use crate::records::{Condition, Query, Table, Written, keys};
use crate::sealing::{Place, Sealer};
use crate::tenant::Tenant;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessSecret {
    /// Name in `use.secrets` of a definition.
    pub name: String,
    /// Sealed JSON value.
    pub sealed: String,
    /// Time of the last change.
    pub updated_at: UtcTime,
}

#[derive(Clone)]
pub struct ProcessSecrets {
    table: Table,
}

impl ProcessSecrets {
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Seals and stores a value, and replaces an existing one. `json` must be JSON.
    pub async fn set(
        &self,
        sealer: &dyn Sealer,
        tenant: &Tenant,
        (name, json): (&str, &Secret),
        now: UtcTime,
    ) -> Result<()> {
        check_resource_id("name", name)?;
        let place = place_name(name);
        let place = Place { tenant, name: &place };
        let record = ProcessSecret {
            name: name.to_owned(),
            sealed: sealer.seal(place, json).await?,
            updated_at: now,
        };
        let key = keys::process_secret(tenant, name);
        let written = self.table.transaction().replace(&key, &record)?.commit().await?;
        match written {
            Written::Done => Ok(()),
            _ => Err(Error::unavailable("the secret of a process is changed by others")),
        }
    }

    /// Returns the JSON text of a secret; None if it does not exist.
    pub async fn open(&self, sealer: &dyn Sealer, tenant: &Tenant, name: &str) -> Result<Option<Secret>> {
        let found: Option<ProcessSecret> = self.table.find(&keys::process_secret(tenant, name)).await?;
        let Some(found) = found else {
            return Ok(None);
        };
        let place = place_name(name);
        let place = Place { tenant, name: &place };
        sealer.open(place, &found.sealed).await.map(Some)
    }

    /// Lists the sealed secrets of a project, by name.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<ProcessSecret>> {
        self.table
            .all(&Query::partition(keys::process_secrets(tenant)))
            .await
    }

    /// 404 for a missing secret.
    pub async fn remove(&self, tenant: &Tenant, name: &str) -> Result<()> {
        let key = keys::process_secret(tenant, name);
        match self.table.delete(&key, Condition::Present).await? {
            Written::Done => Ok(()),
            Written::Refused { .. } => Err(Error::not_found("process secret", name)),
            Written::Contended => Err(Error::unavailable("the secret of a process is changed by others")),
        }
    }
}

fn place_name(name: &str) -> String {
    format!("process-secret/{name}")
}
