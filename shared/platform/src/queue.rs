//! Queues: what may be done later, by whoever reads it. A message may be lost, doubled, late or out of order.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::Result;

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

/// Where messages of a queue are received.
pub trait Inbox: Send + Sync {
    /// Has a received message delivered again after `delay`. Best effort: else it comes back after the
    /// visibility timeout of the queue.
    fn postpone<'a>(&'a self, receipt_handle: &'a str, delay: Duration) -> BoxFuture<'a, ()>;
}
