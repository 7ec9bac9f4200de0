//! S3: buckets of the service, and those of callers.

mod files;
mod objects;

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;

pub use files::S3Files;
pub use objects::S3Objects;

/// A client of S3, for buckets of ours and of others.
fn client(sdk: &SdkConfig) -> Client {
    // A large object takes its time. What stalls is ended by the SDK's stalled stream protection. What is
    // only left out here would be as it is for the other services.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .disable_operation_timeout()
        .disable_operation_attempt_timeout()
        .build();
    let config = aws_sdk_s3::config::Builder::from(sdk)
        .force_path_style(sdk.endpoint_url().is_some())
        .timeout_config(timeouts)
        .build();
    Client::from_conf(config)
}
