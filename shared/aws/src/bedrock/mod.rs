//! Calls Amazon Bedrock through its operations Converse and ConverseStream.
//!
//! The client shares the HTTP client of the SDK's configuration, but not the retries and time limits of the
//! record store: only `models` retries requests, and a model may take longer than a table.

mod answer;
mod document;
mod failure;
mod limit;
mod request;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{Builder, StalledStreamProtectionConfig};
use limit::AnswerGuard;
use models::Limits;
use models::provider::{Call, Failure, Outlet, Provider, Reply};
use platform::Clock;
use tokio::time::timeout;

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// Bedrock in one region.
pub struct Bedrock {
    client: Client,
    limits: Limits,
    clock: Clock,
}

impl Bedrock {
    /// Uses the credentials and the region of `sdk`.
    pub fn new(sdk: &SdkConfig, limits: Limits, clock: Clock) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(limits.connect)
            .disable_read_timeout()
            .disable_operation_attempt_timeout()
            .disable_operation_timeout()
            .build();
        let config = Builder::from(sdk)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            // It would treat a pause of the model as a stalled connection; pauses are limited below.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self {
            client: Client::from_conf(config),
            limits,
            clock,
        }
    }

    async fn whole(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let parts = request::build(call)?;
        let sent = self
            .client
            .converse()
            .model_id(call.model)
            .set_system(parts.system)
            .set_messages(Some(parts.messages))
            .set_inference_config(parts.inference)
            .set_tool_config(parts.tools)
            .customize()
            .interceptor(AnswerGuard { content_type: JSON })
            .send();
        let output = sent
            .await
            .map_err(|error| failure::of_request(error, &self.clock))?;
        answer::whole(output, call)
    }

    async fn streamed(&self, call: &Call<'_>, outlet: &mut Outlet<'_>) -> Result<Reply, Failure> {
        let parts = request::build(call)?;
        let sent = self
            .client
            .converse_stream()
            .model_id(call.model)
            .set_system(parts.system)
            .set_messages(Some(parts.messages))
            .set_inference_config(parts.inference)
            .set_tool_config(parts.tools)
            .customize()
            .interceptor(AnswerGuard {
                content_type: EVENT_STREAM,
            })
            .send();
        let patience = self.limits.between_parts;
        let sent = timeout(patience, sent)
            .await
            .map_err(|_| Failure::too_slow(patience))?;
        let output = sent.map_err(|error| failure::of_request(error, &self.clock))?;
        answer::streamed(output, call, outlet, patience).await
    }
}

#[async_trait]
impl Provider for Bedrock {
    async fn send(&self, call: &Call<'_>, outlet: &mut Outlet<'_>) -> Result<Reply, Failure> {
        if outlet.is_streamed() {
            self.streamed(call, outlet).await
        } else {
            self.whole(call).await
        }
    }
}
