//! Defines the platform services that the activities of processes use.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::publish::Publisher;
use platform::objects::Objects;
use platform::outbound::Outbound;
use platform::queue::BoxFuture;
use platform::records::Table;
use platform::records::listeners::{Listeners, Listening};
use platform::records::process_secrets::ProcessSecrets;
use platform::records::processes::{ProcessRef, Processes};
use platform::sealing::Sealer;
use platform::{Clock, Error, Result, Tenant};
use process::Data;
use process::expression::Evaluator;

use crate::webhook_delivery::Webhooks;

/// Version that stands for the highest version of a named process.
const LATEST: &str = "latest";

pub trait Definitions: Send + Sync {
    /// Returns the text of a definition by its digest, in hexadecimal.
    fn find<'a>(&'a self, tenant: &'a Tenant, digest: &'a str) -> BoxFuture<'a, Result<Option<String>>>;

    /// Returns the digest of a named definition; the version may be `latest`.
    fn digest_of<'a>(
        &'a self,
        tenant: &'a Tenant,
        namespace: &'a str,
        name: &'a str,
        version: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>>;
}

pub trait Secrets: Send + Sync {
    /// Returns a secret; None where the project has none of this name.
    fn find<'a>(&'a self, tenant: &'a Tenant, name: &'a str) -> BoxFuture<'a, Result<Option<Data>>>;
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
    pub fn new(records: &Table, webhooks: &Webhooks, publisher: Publisher, evaluator: Evaluator) -> Self {
        Self {
            definitions: Arc::new(Stored {
                processes: Processes::new(records.clone()),
                objects: webhooks.objects.clone(),
            }),
            secrets: Arc::new(Sealed {
                secrets: ProcessSecrets::new(records.clone()),
                sealer: Arc::clone(&webhooks.sealer),
            }),
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

impl Definitions for Stored {
    fn find<'a>(&'a self, tenant: &'a Tenant, digest: &'a str) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(self.processes.text(tenant, &self.objects, digest))
    }

    fn digest_of<'a>(
        &'a self,
        tenant: &'a Tenant,
        namespace: &'a str,
        name: &'a str,
        version: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let process = ProcessRef {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                version: (version != LATEST).then(|| version.to_owned()),
            };
            let found = self.processes.find(tenant, &process).await?;
            Ok(found.map(|process| process.digest))
        })
    }
}

/// Secrets in the records, sealed.
struct Sealed {
    secrets: ProcessSecrets,
    sealer: Arc<dyn Sealer>,
}

impl Secrets for Sealed {
    fn find<'a>(&'a self, tenant: &'a Tenant, name: &'a str) -> BoxFuture<'a, Result<Option<Data>>> {
        Box::pin(async move {
            let found = self.secrets.open(self.sealer.as_ref(), tenant, name).await?;
            let found = found.map(|secret| Data::parse(secret.expose()));
            // The error of the parser could quote the secret.
            found
                .transpose()
                .map_err(|_| Error::internal("a secret of a process is not JSON"))
        })
    }
}

/// Secrets of one project, given by value.
impl Secrets for BTreeMap<String, Data> {
    fn find<'a>(&'a self, _: &'a Tenant, name: &'a str) -> BoxFuture<'a, Result<Option<Data>>> {
        Box::pin(async move { Ok(self.get(name).cloned()) })
    }
}
