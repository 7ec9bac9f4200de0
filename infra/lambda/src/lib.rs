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

use std::sync::Arc;

use aws::Aws;
use identity::Identity;
pub use lambda_runtime::Error;
use platform::Platform;
use platform::config::ConfigError;
use platform::config::variables::Variable;
use platform::deployment::Deployment;
use platform::queue::Inbox;
use platform::telemetry::{self, Format};

/// Services of a deployed function.
pub struct Function {
    pub deployment: Deployment,
    pub aws: Aws,
}

impl Function {
    /// Returns the queues whose URLs are in these variables, for receiving. The first is required.
    pub fn inbox(&self, variables: &[Variable]) -> Result<impl Inbox + use<>, ConfigError> {
        let environment = self.deployment.environment();
        let mut urls = Vec::new();
        for (place, variable) in variables.iter().enumerate() {
            match place {
                0 => urls.push(environment.required(*variable)?),
                _ => urls.extend(environment.optional(*variable).map(str::to_owned)),
            }
        }
        Ok(self.aws.inbox(urls))
    }
}

/// Returns what every HTTP function shares.
pub fn platform(deployment: &Deployment) -> Result<Platform, ConfigError> {
    Platform::from_deployment(deployment, Arc::new(Identity::from_deployment(deployment)?))
}

/// Whether the program ends once it has read its configuration: `bootstrap --check-config`, by which a
/// deployment finds out before it changes anything whether its functions would start.
pub fn only_checks_config() -> bool {
    std::env::args().any(|argument| argument == "--check-config")
}

/// Begins the log of this process's function, and returns its services.
pub fn start() -> Result<Function, ConfigError> {
    let aws = Aws::from_environment();
    let deployment = aws.deployment()?;
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    Ok(Function { deployment, aws })
}
