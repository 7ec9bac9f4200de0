//! A deployed function: the variables of its environment, and the services that they name.

use std::sync::Arc;

use crate::bus::Bus;
use crate::config::{ConfigError, Environment};
use crate::objects::{ObjectStore, Objects};
use crate::queue::{Inbox, Queue};
use crate::records::Table;
use crate::records::store::RecordStore;
use crate::sealing::Sealer;
use crate::secrets::{SecretSource, SecretStore};
use crate::signing::SigningKey;
use crate::sources::RemoteObjects;

/// The services that a deployment runs on. Nothing is connected to before its first use.
pub trait Backend: Send + Sync {
    /// Every table.
    fn records(&self) -> Arc<dyn RecordStore>;

    /// Every bucket.
    fn objects(&self) -> Arc<dyn ObjectStore>;

    /// The queue at this URL, to send to.
    fn queue(&self, url: String) -> Arc<dyn Queue>;

    /// The queue at this URL, to receive from.
    fn inbox(&self, url: String) -> Arc<dyn Inbox>;

    /// The bus of this name.
    fn bus(&self, name: &str) -> Arc<dyn Bus>;

    /// The key of this id that seals.
    fn sealer(&self, key_id: String) -> Arc<dyn Sealer>;

    /// The key of this id that signs.
    fn signing_key(&self, key_id: String) -> Arc<dyn SigningKey>;

    /// Secrets by name.
    fn secrets(&self) -> Arc<dyn SecretStore>;

    /// Buckets of callers.
    fn remote_objects(&self) -> Arc<dyn RemoteObjects>;
}

/// A deployed function. Cheap to clone.
#[derive(Clone)]
pub struct Deployment {
    environment: Arc<Environment>,
    backend: Arc<dyn Backend>,
}

impl Deployment {
    /// With these variables on these services.
    pub fn new(environment: Environment, backend: Arc<dyn Backend>) -> Self {
        Self {
            environment: Arc::new(environment),
            backend,
        }
    }

    /// Its variables.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The table that a variable names.
    pub fn table(&self, variable: &'static str) -> Result<Table, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Table::new(self.backend.records(), &name))
    }

    /// The bucket that a variable names.
    pub fn bucket(&self, variable: &'static str) -> Result<Objects, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Objects::new(self.backend.objects(), &name))
    }

    /// The queue whose URL a variable holds, to send to.
    pub fn queue(&self, variable: &'static str) -> Result<Arc<dyn Queue>, ConfigError> {
        Ok(self.backend.queue(self.environment.required(variable)?))
    }

    /// The queue whose URL a variable holds, to receive from.
    pub fn inbox(&self, variable: &'static str) -> Result<Arc<dyn Inbox>, ConfigError> {
        Ok(self.backend.inbox(self.environment.required(variable)?))
    }

    /// The bus that a variable names.
    pub fn bus(&self, variable: &'static str) -> Result<Arc<dyn Bus>, ConfigError> {
        Ok(self.backend.bus(&self.environment.required(variable)?))
    }

    /// The key that a variable names, which seals.
    pub fn sealer(&self, variable: &'static str) -> Result<Arc<dyn Sealer>, ConfigError> {
        Ok(self.backend.sealer(self.environment.required(variable)?))
    }

    /// The key that a variable names, which signs.
    pub fn signing_key(&self, variable: &'static str) -> Result<Arc<dyn SigningKey>, ConfigError> {
        Ok(self.backend.signing_key(self.environment.required(variable)?))
    }

    /// The secret in the variable `value`, or of the name in the variable `name`. None where both are
    /// missing.
    pub fn secret(
        &self,
        value: &'static str,
        name: &'static str,
    ) -> Result<Option<SecretSource>, ConfigError> {
        SecretSource::from_environment(&self.environment, &self.backend.secrets(), value, name)
    }

    /// Secrets by name.
    pub fn secrets(&self) -> Arc<dyn SecretStore> {
        self.backend.secrets()
    }

    /// Buckets of callers.
    pub fn remote_objects(&self) -> Arc<dyn RemoteObjects> {
        self.backend.remote_objects()
    }
}
