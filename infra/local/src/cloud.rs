//! Opens what the runner uses of AWS: records and objects where the environment says so, the buckets of
//! imports, named secrets, and models of Bedrock. A runner that is compiled without the feature `aws` refuses
//! each by name.

use std::sync::Arc;

use models::{Model, ModelConfig};
use platform::config::{AwsEnvironment, ConfigError, WITHOUT_AWS};
use platform::deployment::Backend;
use platform::objects::Objects;
use platform::queue::BoxFuture;
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

impl SecretStore for Absent {
    fn versions<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Versions>> {
        let refusal = format!("The secret '{name}' is in AWS, and {WITHOUT_AWS}.");
        Box::pin(async move { Err(Error::internal(refusal)) })
    }
}

impl RemoteObjects for Absent {
    fn get_to_file<'a>(&'a self, _: Place<'a>, _: Download<'a>) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(async { Err(SourceError::Failed(WITHOUT_AWS.to_owned())) })
    }
}
