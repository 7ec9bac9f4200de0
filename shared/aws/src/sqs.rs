//! Sends to and receives from SQS queues.

use std::time::Duration;

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use platform::queue::{Delivery, Inbox, MAX_DELAY, Queue};
use platform::{Error, Result};
use tracing::warn;

/// Messages of a request, at most.
const MAX_BATCH: usize = 10;
/// Bytes of a request, at most; SQS allows 1 MiB with the names of groups.
const MAX_BATCH_BYTES: usize = 900_000;

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

    async fn send_batch(&self, messages: &[(String, Delivery<'_>)]) -> Result<()> {
        let entries = messages.iter().zip(0..).map(|((body, delivery), id)| {
            SendMessageBatchRequestEntry::builder()
                .id(id.to_string())
                .message_body(body)
                .set_delay_seconds(delay_seconds(*delivery))
                .set_message_group_id(delivery.group.map(str::to_owned))
                .build()
                .map_err(Error::internal)
        });
        let request = self.client.send_message_batch().queue_url(&self.url);
        let request = request.set_entries(Some(entries.collect::<Result<_>>()?));
        let response = request.send().await;
        let response =
            response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        match response.failed().first() {
            None => Ok(()),
            Some(failure) => Err(Error::unavailable(format!(
                "{} of {} messages were not sent: {}",
                response.failed().len(),
                messages.len(),
                failure.message().unwrap_or_else(|| failure.code())
            ))),
        }
    }
}

/// Returns the delay in whole seconds, as SQS counts; None for none.
fn delay_seconds(delivery: Delivery<'_>) -> Option<i32> {
    let seconds = delivery.delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
    i32::try_from(seconds).ok().filter(|seconds| *seconds > 0)
}

/// Queues of one consumer.
pub struct SqsInbox {
    client: Client,
    urls: Vec<String>,
}

impl SqsInbox {
    pub fn connect(sdk: &SdkConfig, urls: Vec<String>) -> Self {
        Self {
            client: Client::new(sdk),
            urls,
        }
    }

    /// Returns the URL of a queue; both its ARN and its URL end with its name.
    fn url(&self, arn: &str) -> Option<&String> {
        let name = arn.rsplit(':').next();
        self.urls.iter().find(|url| url.rsplit('/').next() == name)
    }
}

#[async_trait]
impl Inbox for SqsInbox {
    async fn postpone(&self, queue_arn: &str, receipt_handle: &str, delay: Duration) {
        let Some(url) = self.url(queue_arn) else {
            warn!(
                queue_arn,
                "the back-off of a failed message is not set: no variable names its queue"
            );
            return;
        };
        let request = self.client.change_message_visibility().queue_url(url);
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
        let response = self
            .client
            .send_message()
            .queue_url(&self.url)
            .message_body(body)
            .set_delay_seconds(delay_seconds(delivery))
            .set_message_group_id(delivery.group.map(str::to_owned))
            .send()
            .await;
        response.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))?;
        Ok(())
    }

    async fn send_all(&self, messages: &[(String, Delivery<'_>)]) -> Result<()> {
        let mut result = Ok(());
        for messages in batches(messages) {
            result = result.and(self.send_batch(messages).await);
        }
        result
    }
}

/// Cuts messages into batches that SQS takes.
fn batches<'a, 'm>(
    messages: &'m [(String, Delivery<'a>)],
) -> impl Iterator<Item = &'m [(String, Delivery<'a>)]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(body, _): &&(String, Delivery<'a>)| {
            bytes += body.len();
            bytes <= MAX_BATCH_BYTES
        };
        let count = rest.iter().take(MAX_BATCH).take_while(fits).count();
        // A message that is too large by itself is refused by SQS.
        let (batch, others) = rest.split_at_checked(count.max(1))?;
        rest = others;
        Some(batch)
    })
}
