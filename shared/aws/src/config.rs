//! Configures the AWS SDK.

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

/// Returns the configuration of a Lambda function, to be created once per process: its clients share one HTTP
/// client, and so connections and trusted certificates. Region and credentials come from the environment,
/// where Lambda sets them; the SDK's other sources (profiles, roles, metadata services) are neither read nor
/// linked.
pub fn sdk_config() -> SdkConfig {
    let environment = AwsEnvironment::read();
    let credentials = SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
    let sdk = configured(environment.region, environment.endpoint_url, credentials);
    // Puts the function's name into the user agent, which CloudTrail shows.
    let name = environment.function_name.and_then(|name| AppName::new(name).ok());
    let mut builder = sdk.to_builder();
    builder.set_app_name(name);
    builder.build()
}

/// Returns the configuration of an operator's machine, from all sources of the SDK: profiles, single sign-on,
/// roles.
pub async fn sdk_config_of_operator() -> SdkConfig {
    aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retries())
        .timeout_config(timeouts())
        .load()
        .await
}

/// Credentials for an emulator of the services.
pub struct Keys(Credentials);

impl Keys {
    /// For an emulator that checks signatures.
    pub fn signing(secret: &Secret) -> Self {
        Self(Credentials::new("local", secret.expose(), None, None, "millrace"))
    }
}

/// Returns a configuration for an emulator of the services at `endpoint`.
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

/// A record store call that takes longer than a few seconds is too late for the caller, so it is cancelled
/// and retried, three attempts in all.
fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(5))
        .operation_timeout(Duration::from_secs(12))
        .build()
}
