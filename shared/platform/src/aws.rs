//! The AWS SDK, configured once.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_sdk_dynamodb::config::Credentials;

/// The configuration of the function's environment: region, role and endpoints as the platform sets them.
///
/// A call to a record store that takes more than a few seconds will not come back in time for the caller: it is given up
/// and repeated, three times in all.
pub async fn sdk_config() -> SdkConfig {
    loader().load().await
}

/// A configuration for a twin of the services at `endpoint`, which knows the one key pair that is given.
pub async fn sdk_config_for(endpoint: &str, access_key: &str, secret_key: &str) -> SdkConfig {
    loader()
        .endpoint_url(endpoint)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new(access_key, secret_key, None, None, "millrace"))
        .load()
        .await
}

fn loader() -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .timeout_config(
            TimeoutConfig::builder()
                .connect_timeout(Duration::from_secs(2))
                .operation_attempt_timeout(Duration::from_secs(5))
                .operation_timeout(Duration::from_secs(12))
                .build(),
        )
}
