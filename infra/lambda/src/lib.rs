//! Runs the functions of the service in AWS Lambda: a program each in `src/bin`, over what they share.
//!
//! Functions are libraries that know neither Lambda nor the SDK of AWS, so the local runner and the tests are
//! compiled without both. A function that runs workflow types takes a registry, so that a team can build the
//! same programs with types of its own.

pub mod http;
pub mod matcher;
pub mod queue;
pub mod subscriptions;
pub mod worker;
pub mod workflows;

use aws::Aws;
pub use lambda_runtime::Error;
use platform::config::ConfigError;
use platform::deployment::Deployment;
use platform::telemetry::{self, Format};

/// Begins the log of a function, and returns its environment and services.
pub fn start(aws: &Aws) -> Result<Deployment, ConfigError> {
    let deployment = aws.deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    Ok(deployment)
}

/// As [`start`], with the services that the environment names.
pub fn deployment() -> Result<Deployment, ConfigError> {
    start(&Aws::from_environment())
}
