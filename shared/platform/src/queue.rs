//! Defines queues of work to do later. Consumers must expect that a message is lost (SQS deletes it after its
//! retention, the local runner at its end), duplicated, late or out of order.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Result;

/// Maximum delay of a message; the limit of SQS.
pub const MAX_DELAY: Duration = Duration::from_secs(900);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Minimum time before the delivery; at most [`MAX_DELAY`]. SQS counts whole seconds, so a fraction is
    /// rounded up.
    pub delay: Duration,
    /// Group of the message: a group with many messages does not delay the others (SQS fair queues).
    pub group: Option<&'a str>,
    /// Account of the group. SQS does not use it; the queues of the local runner also share by account.
    pub account: Option<&'a str>,
}

#[async_trait]
pub trait Queue: Send + Sync {
    /// Sends a message. Returns once it is durable.
    async fn send(&self, body: &str) -> Result<()> {
        self.send_as(body, Delivery::default()).await
    }

    /// Sends a message with these delivery settings. Returns once it is durable.
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()>;

    /// Sends several messages with few requests. Returns once they are durable; after an error, some of them
    /// are.
    async fn send_all(&self, messages: &[(String, Delivery<'_>)]) -> Result<()> {
        let mut result = Ok(());
        for (body, delivery) in messages {
            result = result.and(self.send_as(body, *delivery).await);
        }
        result
    }
}

/// A queue for receiving.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Has a received message redelivered after `delay`. Best effort: otherwise it returns after the
    /// visibility timeout of the queue.
    async fn postpone(&self, receipt_handle: &str, delay: Duration);
}
