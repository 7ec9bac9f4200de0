//! Defines the platform services that the activities of processes use.

use std::sync::Arc;

use async_trait::async_trait;
use events::publish::Publisher;
use events::records::listeners::{Listeners, Listening};
use platform::objects::Objects;
use platform::outbound::Outbound;
use platform::records::Table;
use platform::{Clock, Result, Tenant};
use process::expression::Evaluator;
use process::records::processes::{ProcessRef, Processes};

use crate::secrets::Secrets;
use crate::webhook_delivery::Webhooks;

/// Version that stands for the highest version of a named process.
const LATEST: &str = "latest";

#[async_trait]
pub trait Definitions: Send + Sync {
    /// Returns the text of a definition by its digest, in hexadecimal.
    async fn find(&self, tenant: &Tenant, digest: &str) -> Result<Option<String>>;

    /// Returns the digest of a named definition; the version may be `latest`.
    async fn digest_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
        version: &str,
    ) -> Result<Option<String>>;

    /// Returns whether inline definitions of the project may name secrets.
    async fn allows_inline_secrets(&self, tenant: &Tenant) -> Result<bool>;
}

#[derive(Clone)]
pub struct ProcessServices {
    pub definitions: Arc<dyn Definitions>,
    pub secrets: Arc<dyn Secrets>,
    pub listening: Arc<dyn Listening>,
    /// Evaluates expressions that read secrets.
    pub evaluator: Evaluator,
    pub outbound: Outbound,
    pub publisher: Publisher,
    pub clock: Clock,
}

impl ProcessServices {
    /// Uses the table of records, and shares some services with deliveries.
    pub fn new(
        records: &Table,
        webhooks: &Webhooks,
        publisher: Publisher,
        secrets: Arc<dyn Secrets>,
        evaluator: Evaluator,
    ) -> Self {
        Self {
            definitions: Arc::new(Stored {
                processes: Processes::new(records.clone()),
                objects: webhooks.objects.clone(),
            }),
            secrets,
            listening: Arc::new(Listeners::new(records.clone())),
            evaluator,
            outbound: webhooks.outbound.clone(),
            publisher,
            clock: webhooks.clock.clone(),
        }
    }
}

struct Stored {
    processes: Processes,
    objects: Objects,
}

#[async_trait]
impl Definitions for Stored {
    async fn find(&self, tenant: &Tenant, digest: &str) -> Result<Option<String>> {
        self.processes.text(tenant, &self.objects, digest).await
    }

    async fn digest_of(
        &self,
        tenant: &Tenant,
        namespace: &str,
        name: &str,
        version: &str,
    ) -> Result<Option<String>> {
        let process = ProcessRef {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            version: (version != LATEST).then(|| version.to_owned()),
        };
        let found = self.processes.find(tenant, &process).await?;
        Ok(found.map(|process| process.digest))
    }

    async fn allows_inline_secrets(&self, tenant: &Tenant) -> Result<bool> {
        self.processes.allows_inline_secrets(tenant).await
    }
}
