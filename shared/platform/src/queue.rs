//! Queues: what may be done later, by whoever reads it. A message may be lost, doubled, late or out of order.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tracing::warn;

use crate::error::{Error, Result};

/// A boxed future, so that the traits of this crate can be objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Longest that a queue may hold a message back; as of SQS.
pub const MAX_DELAY: Duration = Duration::from_secs(900);

/// How a message is to be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Not before this time has passed; at most [`MAX_DELAY`]. SQS counts in whole seconds: a part of one is rounded up.
    pub delay: Duration,
    /// Whose message it is: one who sends many does not hold up the others (SQS fair queues).
    pub group: Option<&'a str>,
    /// The account that the group belongs to. SQS does not know of it; the queues of the local runner share
    /// by it as well.
    pub account: Option<&'a str>,
}

/// A queue to send to.
pub trait Queue: Send + Sync {
    /// Sends a message. Done when it is durable.
    fn send<'a>(&'a self, body: &'a str) -> BoxFuture<'a, Result<()>> {
        self.send_as(body, Delivery::default())
    }

    /// Sends a message to be delivered in this way. Done when it is durable.
    fn send_as<'a>(&'a self, body: &'a str, delivery: Delivery<'a>) -> BoxFuture<'a, Result<()>>;
}

/// An SQS queue.
pub struct SqsQueue {
    client: aws_sdk_sqs::Client,
    url: String,
}

impl SqsQueue {
    /// The queue at this URL.
    pub fn connect(sdk: &aws_config::SdkConfig, url: String) -> Self {
        Self {
            client: aws_sdk_sqs::Client::new(sdk),
            url,
        }
    }
}

impl SqsQueue {
    /// Has a received message delivered again after `delay`. Best effort: else it comes back after the
    /// visibility timeout of the queue.
    pub(crate) async fn postpone(&self, receipt_handle: &str, delay: Duration) {
        let request = self.client.change_message_visibility().queue_url(&self.url);
        let request = request
            .receipt_handle(receipt_handle)
            .visibility_timeout(i32::try_from(delay.as_secs()).unwrap_or(i32::MAX));
        if let Err(error) = request.send().await {
            let cause = aws_sdk_sqs::error::DisplayErrorContext(error).to_string();
            warn!(cause, "the back-off of a failed message is not set");
        }
    }
}

impl Queue for SqsQueue {
    fn send_as<'a>(&'a self, body: &'a str, delivery: Delivery<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let delay = delivery.delay.min(MAX_DELAY).as_millis().div_ceil(1_000);
            let sent = self
                .client
                .send_message()
                .queue_url(&self.url)
                .message_body(body)
                .set_delay_seconds(i32::try_from(delay).ok().filter(|seconds| *seconds > 0))
                .set_message_group_id(delivery.group.map(str::to_owned))
                .send()
                .await;
            sent.map_err(|error| {
                Error::unavailable(aws_sdk_sqs::error::DisplayErrorContext(error).to_string())
            })?;
            Ok(())
        })
    }
}
