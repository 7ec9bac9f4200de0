//! Accesses S3: buckets of the service, and those of callers.

mod files;
mod objects;

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;

pub use files::S3Files;
pub use objects::S3Objects;

fn client(sdk: &SdkConfig) -> Client {
    // A large object takes long; the SDK's stalled stream protection ends a stalled transfer. The limits are
    // disabled explicitly, because omitted ones would be those of the other services.
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
