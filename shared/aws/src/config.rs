//! The AWS SDK, configured once.

use std::time::Duration;

use aws_config::AppName;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

use platform::config::{AwsEnvironment, Secret};

pub use aws_config::SdkConfig;

const TLS: Provider = Provider::Rustls(CryptoMode::AwsLc);

/// The configuration of a Lambda function, made once for a process: its clients share one HTTP client and
/// so their connections and trusted certificates. Region and credentials come from its environment, where
/// Lambda puts them: the SDK's chain of other places (profiles, roles, metadata services) is neither asked
/// nor linked.
pub fn sdk_config() -> SdkConfig {
    let environment = AwsEnvironment::read();
    let credentials = SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
    let sdk = configured(environment.region, environment.endpoint_url, credentials);
    // The name of the function in the user agent, which CloudTrail shows.
    let name = environment.function_name.and_then(|name| AppName::new(name).ok());
    let mut builder = sdk.to_builder();
    builder.set_app_name(name);
    builder.build()
}

/// The configuration of an operator's machine, by the SDK's whole chain: profiles, single sign-on, roles.
pub async fn sdk_config_of_operator() -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retries())
        .timeout_config(timeouts())
        .load()
        .await
}

/// The credentials of a twin of the services.
pub struct Keys(Credentials);

impl Keys {
    /// For a twin that checks signatures.
    pub fn signing(secret: &Secret) -> Self {
        Self(Credentials::new("local", secret.expose(), None, None, "millrace"))
    }

    /// For a twin that wants the secret itself, in the header of a session token.
    pub fn shown(secret: &Secret) -> Self {
        let token = Some(secret.expose().to_owned());
        Self(Credentials::new("local", "local", token, None, "millrace"))
    }
}

/// A configuration for a twin of the services at `endpoint`.
pub fn sdk_config_for(endpoint: &str, keys: Keys) -> SdkConfig {
    configured(
        None,
        Some(endpoint.to_owned()),
        SharedCredentialsProvider::new(keys.0),
    )
}

fn configured(
    region: Option<String>,
    endpoint: Option<String>,
    credentials: SharedCredentialsProvider,
) -> SdkConfig {
    let mut builder = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region.unwrap_or_else(|| "us-east-1".to_owned())))
        .credentials_provider(credentials)
        .http_client(Builder::new().tls_provider(TLS).build_https())
        .retry_config(retries())
        .timeout_config(timeouts());
    builder.set_endpoint_url(endpoint);
    builder.build()
}

fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(3)
}

/// A call to a record store that takes more than a few seconds will not come back in time for the caller: it is given up
/// and repeated, three times in all.
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(12))
        .build()
}
