//! Implements the interfaces of `platform` and `models` with services of AWS; no other crate uses the SDK.

mod bedrock;
mod config;
mod dynamodb;
mod eventbridge;
mod kms;
mod s3;
mod secrets;
mod sqs;

use std::sync::{Arc, OnceLock};

use config::{sdk_config, sdk_config_of_operator};
use models::Limits;
use models::provider::Provider;
use platform::Clock;
use platform::bus::Bus;
use platform::config::{ConfigError, Environment};
use platform::deployment::{Backend, Deployment};
use platform::objects::remote::RemoteObjects;
use platform::objects::{ObjectStore, Objects};
use platform::queue::{Inbox, Queue};
use platform::records::Table;
use platform::records::store::RecordStore;
use platform::sealing::Sealer;
use platform::secrets::SecretStore;
use platform::signing::SigningKey;
use sqs::{SqsInbox, SqsQueue};

pub use bedrock::Bedrock;
pub use config::{Keys, SdkConfig, sdk_config_for};
pub use dynamodb::{DynamoDb, create_table};
pub use eventbridge::EventBridgeBus;
pub use kms::{KmsSealer, KmsSigningKey};
pub use s3::{S3Files, S3Objects};
pub use secrets::SecretsManager;

#[derive(Clone)]
pub struct Aws {
    sdk: SdkConfig,
    /// Each is created at its first use: a cold start creates no client that its function does not need.
    records: OnceLock<Arc<DynamoDb>>,
    objects: OnceLock<Arc<S3Objects>>,
}

impl Aws {
    /// Uses the services that this configuration reaches.
    pub fn new(sdk: SdkConfig) -> Self {
        Self {
            sdk,
            records: OnceLock::new(),
            objects: OnceLock::new(),
        }
    }

    /// Uses the services that the environment of this process reaches.
    pub fn from_environment() -> Self {
        Self::new(sdk_config())
    }

    /// Uses the credentials of an operator's machine.
    pub async fn of_operator() -> Self {
        Self::new(sdk_config_of_operator().await)
    }

    /// A missing table is an error at its first use.
    pub fn table(&self, name: &str) -> Table {
        Table::new(self.records(), name)
    }

    /// A missing bucket is an error at its first use.
    pub fn bucket(&self, name: &str) -> Objects {
        Objects::new(self.objects(), name)
    }

    /// Returns the queues at these URLs, for receiving.
    pub fn inbox(&self, urls: Vec<String>) -> impl Inbox + use<> {
        SqsInbox::connect(&self.sdk, urls)
    }

    /// Returns the deployed function of this process.
    pub fn deployment(&self) -> Result<Deployment, ConfigError> {
        Ok(Deployment::new(Environment::read()?, Arc::new(self.clone())))
    }

    /// Returns a constructor of Bedrock providers, for
    /// [`ModelConfig::connect`](models::ModelConfig::connect).
    pub fn bedrock(&self) -> impl Fn(Limits, Clock) -> Box<dyn Provider> + use<> {
        let sdk = self.sdk.clone();
        move |limits, clock| Box::new(Bedrock::new(&sdk, limits, clock))
    }
}

impl Backend for Aws {
    fn records(&self) -> Arc<dyn RecordStore> {
        let records = self.records.get_or_init(|| Arc::new(DynamoDb::new(&self.sdk)));
        Arc::<DynamoDb>::clone(records)
    }

    fn objects(&self) -> Arc<dyn ObjectStore> {
        let objects = self.objects.get_or_init(|| Arc::new(S3Objects::new(&self.sdk)));
        Arc::<S3Objects>::clone(objects)
    }

    fn queue(&self, url: String) -> Arc<dyn Queue> {
        Arc::new(SqsQueue::connect(&self.sdk, url))
    }

    fn bus(&self, name: &str) -> Arc<dyn Bus> {
        Arc::new(EventBridgeBus::connect(&self.sdk, name))
    }

    fn sealer(&self, key_id: String) -> Arc<dyn Sealer> {
        Arc::new(KmsSealer::connect(&self.sdk, key_id))
    }

    fn signing_key(&self, key_ids: String) -> Result<Arc<dyn SigningKey>, ConfigError> {
        Ok(Arc::new(KmsSigningKey::connect(&self.sdk, &key_ids)))
    }

    fn secrets(&self) -> Option<Arc<dyn SecretStore>> {
        Some(Arc::new(SecretsManager::new(&self.sdk)))
    }

    fn remote_objects(&self) -> Option<Arc<dyn RemoteObjects>> {
        Some(Arc::new(S3Files::new(&self.sdk)))
    }
}
