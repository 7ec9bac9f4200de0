//! Queues: what may be done later, by whoever reads it. A message may be lost, doubled, late or out of order.

use std::future::Future;
use std::pin::Pin;

use crate::error::{Error, Result};

/// A boxed future, so that the traits of this crate can be objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A queue to send to.
pub trait Queue: Send + Sync {
    /// Sends a message. Done when it is durable.
    fn send<'a>(&'a self, body: &'a str) -> BoxFuture<'a, Result<()>>;
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

impl Queue for SqsQueue {
    fn send<'a>(&'a self, body: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let sent = self
                .client
                .send_message()
                .queue_url(&self.url)
                .message_body(body)
                .send()
                .await;
            sent.map_err(|error| {
                Error::unavailable(aws_sdk_sqs::error::DisplayErrorContext(error).to_string())
            })?;
            Ok(())
        })
    }
}
