//! Opens what the runner uses of AWS: records and objects where the environment says so, the buckets of
//! imports, named secrets, and models of Bedrock. A runner that is compiled without the feature `aws` refuses
//! each by name.

use std::sync::Arc;

use async_trait::async_trait;
use models::{Model, ModelConfig};
use platform::config::{AwsEnvironment, ConfigError, WITHOUT_AWS};
use platform::deployment::Backend;
use platform::objects::Objects;
use platform::records::store::RecordStore;
use platform::secrets::{SecretStore, Versions};
use platform::sources::{Download, Place, RemoteObjects, SourceError};
use platform::{Clock, Error, Result};

pub(crate) struct Cloud {
    #[cfg(feature = "aws")]
    aws: aws::Aws,
}

impl Cloud {
    pub(crate) fn from_environment() -> Self {
        Self {
            #[cfg(feature = "aws")]
            aws: aws::Aws::from_environment(),
        }
    }

    #[cfg(feature = "aws")]
    fn backend(&self) -> Option<&dyn Backend> {
        Some(&self.aws)
    }

    #[cfg(not(feature = "aws"))]
    fn backend(&self) -> Option<&dyn Backend> {
        None
    }

    /// Returns the backend that the value of a variable asks for.
    fn required(&self, variable: &str, value: &str) -> Result<&dyn Backend, ConfigError> {
        self.backend()
            .ok_or_else(|| ConfigError::without_aws(variable, value))
    }

    pub(crate) fn records(&self) -> Result<Arc<dyn RecordStore>, ConfigError> {
        Ok(self.required("MILLRACE_RECORDS", "dynamodb")?.records())
    }

    pub(crate) fn bucket(&self, name: &str) -> Result<Objects, ConfigError> {
        let backend = self.required("MILLRACE_OBJECTS", "s3")?;
        Ok(Objects::new(backend.objects(), name))
    }

    pub(crate) fn secrets(&self) -> Arc<dyn SecretStore> {
        let backend = self.backend();
        backend.map_or_else(|| Arc::new(Absent) as _, Backend::secrets)
    }

    pub(crate) fn remote_objects(&self) -> Arc<dyn RemoteObjects> {
        let backend = self.backend();
        backend.map_or_else(|| Arc::new(Absent) as _, Backend::remote_objects)
    }

    #[cfg(feature = "aws")]
    pub(crate) fn model(&self, config: &ModelConfig, clock: Clock) -> Result<Arc<dyn Model>, ConfigError> {
        config.connect(Some(&self.aws.bedrock()), &AwsEnvironment::read(), clock)
    }

    #[cfg(not(feature = "aws"))]
    pub(crate) fn model(&self, config: &ModelConfig, clock: Clock) -> Result<Arc<dyn Model>, ConfigError> {
        config.connect(None, &AwsEnvironment::read(), clock)
    }
}

/// Refuses what needs AWS.
struct Absent;

#[async_trait]
impl SecretStore for Absent {
    async fn versions(&self, name: &str) -> Result<Versions> {
        let refusal = format!("The secret '{name}' is in AWS, and {WITHOUT_AWS}.");
        Err(Error::internal(refusal))
    }
}

#[async_trait]
impl RemoteObjects for Absent {
    async fn get_to_file(&self, _: Place<'_>, _: Download<'_>) -> Result<(), SourceError> {
        Err(SourceError::Failed(WITHOUT_AWS.to_owned()))
    }
}
