//! Sends to and receives from SQS queues.

use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use platform::queue::{Delivery, Inbox, MAX_DELAY, Queue};
use platform::{Error, Result};
use tracing::warn;

pub struct SqsQueue {
    client: Client,
    url: String,
}

impl SqsQueue {
    pub fn connect(sdk: &SdkConfig, url: String) -> Self {
        Self {
            client: Client::new(sdk),
            url,
        }
    }
}

#[async_trait]
impl Inbox for SqsQueue {
    async fn postpone(&self, receipt_handle: &str, delay: Duration) {
        let request = self.client.change_message_visibility().queue_url(&self.url);
        let request = request
            .receipt_handle(receipt_handle)
            .visibility_timeout(i32::try_from(delay.as_secs()).unwrap_or(i32::MAX));
        if let Err(error) = request.send().await {
            let cause = DisplayErrorContext(error).to_string();
            warn!(cause, "the back-off of a failed message is not set");
        }
    }
}

#[async_trait]
impl Queue for SqsQueue {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        let delay = delivery.delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
        let response = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_body(body)
            .set_delay_seconds(i32::try_from(delay).ok().filter(|seconds| *seconds > 0))
            .set_message_group_id(delivery.group.map(str::to_owned))
            .send()
            .await;
        response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        Ok(())
    }
}
