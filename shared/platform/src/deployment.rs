//! Provides a deployed function's environment variables and the services that they name.

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

/// Services of a deployment. A service is connected to at its first use.
pub trait Backend: Send + Sync {
    /// Serves every table.
    fn records(&self) -> Arc<dyn RecordStore>;

    /// Serves every bucket.
    fn objects(&self) -> Arc<dyn ObjectStore>;

    /// Returns the queue at this URL, for sending.
    fn queue(&self, url: String) -> Arc<dyn Queue>;

    /// Returns the queue at this URL, for receiving.
    fn inbox(&self, url: String) -> Arc<dyn Inbox>;

    fn bus(&self, name: &str) -> Arc<dyn Bus>;

    /// Returns the encryption key with this id.
    fn sealer(&self, key_id: String) -> Arc<dyn Sealer>;

    fn signing_key(&self, key_id: String) -> Arc<dyn SigningKey>;

    fn secrets(&self) -> Arc<dyn SecretStore>;

    /// Serves the buckets of callers.
    fn remote_objects(&self) -> Arc<dyn RemoteObjects>;
}

/// A deployed function; cheap to clone.
#[derive(Clone)]
pub struct Deployment {
    environment: Arc<Environment>,
    backend: Arc<dyn Backend>,
}

impl Deployment {
    pub fn new(environment: Environment, backend: Arc<dyn Backend>) -> Self {
        Self {
            environment: Arc::new(environment),
            backend,
        }
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the table named in a variable.
    pub fn table(&self, variable: &'static str) -> Result<Table, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Table::new(self.backend.records(), &name))
    }

    /// Returns the bucket named in a variable.
    pub fn bucket(&self, variable: &'static str) -> Result<Objects, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Objects::new(self.backend.objects(), &name))
    }

    /// Returns the queue whose URL is in a variable, for sending.
    pub fn queue(&self, variable: &'static str) -> Result<Arc<dyn Queue>, ConfigError> {
        Ok(self.backend.queue(self.environment.required(variable)?))
    }

    /// Returns the queue whose URL is in a variable, for receiving.
    pub fn inbox(&self, variable: &'static str) -> Result<Arc<dyn Inbox>, ConfigError> {
        Ok(self.backend.inbox(self.environment.required(variable)?))
    }

    /// Returns the bus named in a variable.
    pub fn bus(&self, variable: &'static str) -> Result<Arc<dyn Bus>, ConfigError> {
        Ok(self.backend.bus(&self.environment.required(variable)?))
    }

    /// Returns the encryption key named in a variable.
    pub fn sealer(&self, variable: &'static str) -> Result<Arc<dyn Sealer>, ConfigError> {
        Ok(self.backend.sealer(self.environment.required(variable)?))
    }

    /// Returns the signing key named in a variable.
    pub fn signing_key(&self, variable: &'static str) -> Result<Arc<dyn SigningKey>, ConfigError> {
        Ok(self.backend.signing_key(self.environment.required(variable)?))
    }

    /// Returns the secret in the variable `value`, or the stored secret named in the variable `name`. None
    /// where both are missing.
    pub fn secret(
        &self,
        value: &'static str,
        name: &'static str,
    ) -> Result<Option<SecretSource>, ConfigError> {
        SecretSource::from_environment(&self.environment, &self.backend.secrets(), value, name)
    }

    pub fn secrets(&self) -> Arc<dyn SecretStore> {
        self.backend.secrets()
    }

    /// Returns the buckets of callers.
    pub fn remote_objects(&self) -> Arc<dyn RemoteObjects> {
        self.backend.remote_objects()
    }
}
