//! Opens secrets of a project for the processes and MCP servers that they are bound to.

use std::sync::Arc;

use async_trait::async_trait;
use platform::config::Secret;
use platform::sealing::Sealer;
use platform::{Result, Tenant};

use crate::records::process_secrets::{Holder, ProcessSecrets};

/// A secret, and where it may be sent.
#[derive(Clone, Debug)]
pub struct OpenSecret {
    /// JSON text.
    pub json: Secret,
    /// Hosts that may get it, each `host` or `host:port`.
    pub hosts: Vec<String>,
}

/// Why a holder gets no secret: a sentence for the owner of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld(pub String);

#[async_trait]
pub trait Secrets: Send + Sync {
    /// Opens a secret for a holder.
    async fn open(
        &self,
        tenant: &Tenant,
        name: &str,
        holder: Holder<'_>,
    ) -> Result<Result<OpenSecret, Withheld>>;
}

/// Secrets in the records, which the operator sets.
pub struct SealedSecrets {
    pub secrets: ProcessSecrets,
    pub sealer: Arc<dyn Sealer>,
}

#[async_trait]
impl Secrets for SealedSecrets {
    async fn open(
        &self,
        tenant: &Tenant,
        name: &str,
        holder: Holder<'_>,
    ) -> Result<Result<OpenSecret, Withheld>> {
        let Some(secret) = self.secrets.find(tenant, name).await? else {
            let missing =
                format!("The project has no secret '{name}'; the operator sets it with 'ops secret set'.");
            return Ok(Err(Withheld(missing)));
        };
        let binding = match secret.binding_for(holder) {
            Ok(binding) => binding,
            Err(refusal) => return Ok(Err(Withheld(refusal))),
        };
        let json = self.secrets.open(self.sealer.as_ref(), tenant, &secret).await?;
        Ok(Ok(OpenSecret {
            json,
            hosts: binding.hosts.clone(),
        }))
    }
}
