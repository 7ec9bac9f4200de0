//! Provides a function's environment variables and the services that they name: those of AWS, or those of
//! the local runner.

use std::sync::Arc;

use crate::bus::Bus;
use crate::clock::Clock;
use crate::config::variables::Variable;
use crate::config::{ConfigError, Environment};
use crate::objects::remote::RemoteObjects;
use crate::objects::{ObjectStore, Objects};
use crate::outbound::OwnServers;
use crate::queue::Queue;
use crate::records::Table;
use crate::records::store::RecordStore;
use crate::sealing::Sealer;
use crate::secrets::{SecretSource, SecretStore};
use crate::signing::SigningKey;

/// Services of a deployment. A service is connected to at its first use.
pub trait Backend: Send + Sync {
    /// Serves every table.
    fn records(&self) -> Arc<dyn RecordStore>;

    /// Serves every bucket.
    fn objects(&self) -> Arc<dyn ObjectStore>;

    /// Returns the queue at this URL, for sending.
    fn queue(&self, url: String) -> Arc<dyn Queue>;

    fn bus(&self, name: &str) -> Arc<dyn Bus>;

    /// Returns the encryption key with this id.
    fn sealer(&self, key_id: String) -> Arc<dyn Sealer>;

    /// Returns the signing key with the first of these comma-joined ids; the others are those of keys that it
    /// replaced, latest first. Fails where it is known not to exist.
    fn signing_key(&self, key_ids: String) -> Result<Arc<dyn SigningKey>, ConfigError>;

    /// None in a program that is built without AWS.
    fn secrets(&self) -> Option<Arc<dyn SecretStore>>;

    /// Serves the buckets of callers; None in a program that is built without AWS.
    fn remote_objects(&self) -> Option<Arc<dyn RemoteObjects>>;

    fn clock(&self) -> Clock {
        Clock::System
    }

    /// Returns the servers of this process, which no request of a caller may reach.
    fn own_servers(&self) -> OwnServers {
        OwnServers::default()
    }
}

/// A function with its services; cheap to clone.
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

    pub fn clock(&self) -> Clock {
        self.backend.clock()
    }

    pub fn own_servers(&self) -> OwnServers {
        self.backend.own_servers()
    }

    /// Returns the table named in a variable.
    pub fn table(&self, variable: Variable) -> Result<Table, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Table::new(self.backend.records(), &name))
    }

    /// Returns the bucket named in a variable.
    pub fn bucket(&self, variable: Variable) -> Result<Objects, ConfigError> {
        let name = self.environment.required(variable)?;
        Ok(Objects::new(self.backend.objects(), &name))
    }

    /// Returns the queue whose URL is in a variable, for sending.
    pub fn queue(&self, variable: Variable) -> Result<Arc<dyn Queue>, ConfigError> {
        Ok(self.backend.queue(self.environment.required(variable)?))
    }

    /// Returns the bus named in a variable.
    pub fn bus(&self, variable: Variable) -> Result<Arc<dyn Bus>, ConfigError> {
        Ok(self.backend.bus(&self.environment.required(variable)?))
    }

    /// Returns the encryption key named in a variable.
    pub fn sealer(&self, variable: Variable) -> Result<Arc<dyn Sealer>, ConfigError> {
        Ok(self.backend.sealer(self.environment.required(variable)?))
    }

    /// Returns the signing key named in a variable, with those that it replaced.
    pub fn signing_key(&self, variable: Variable) -> Result<Arc<dyn SigningKey>, ConfigError> {
        self.backend.signing_key(self.environment.required(variable)?)
    }

    /// Returns the secret in the variable `value`, or the stored secret named in the variable `name`. None
    /// where both are missing.
    pub fn secret(&self, value: Variable, name: Variable) -> Result<Option<SecretSource>, ConfigError> {
        SecretSource::from_environment(&self.environment, self.backend.secrets().as_ref(), value, name)
    }

    /// None in a program that is built without AWS.
    pub fn secrets(&self) -> Option<Arc<dyn SecretStore>> {
        self.backend.secrets()
    }

    /// Returns the buckets of callers; None in a program that is built without AWS.
    pub fn remote_objects(&self) -> Option<Arc<dyn RemoteObjects>> {
        self.backend.remote_objects()
    }
}
