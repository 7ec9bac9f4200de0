//! Defines queues of work to do later. Consumers must expect that a message is lost (SQS deletes it after its
//! retention, the local runner at its end), duplicated, late or out of order.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Maximum delay of a message; the limit of SQS.
pub const MAX_DELAY: Duration = Duration::from_secs(900);

/// Order of the work of one project: high before normal before low. The shares of accounts and projects do
/// not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before the others of the project.
    High,
    /// The default.
    #[default]
    Normal,
    /// After the others of the project.
    Low,
}

impl Priority {
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    /// For fields that are left out where they have the default.
    pub const fn is_normal(&self) -> bool {
        matches!(self, Self::Normal)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Minimum time before the delivery; at most [`MAX_DELAY`]. SQS counts whole seconds, so a fraction is
    /// rounded up.
    pub delay: Duration,
    /// Group of the message: a group with many messages does not delay the others (SQS fair queues).
    pub group: Option<&'a str>,
    /// Account of the group. SQS does not use it; the queues of the local runner also share by account.
    pub account: Option<&'a str>,
    /// Project of the group, within which its priority counts.
    pub project: Option<&'a str>,
    pub priority: Priority,
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

/// Sends each message to the queue of its priority: SQS has no order, so a backlog of one priority must not
/// be in front of another.
pub struct QueuesByPriority {
    pub high: Arc<dyn Queue>,
    pub normal: Arc<dyn Queue>,
    pub low: Arc<dyn Queue>,
}

impl QueuesByPriority {
    fn queue(&self, priority: Priority) -> &dyn Queue {
        let queue = match priority {
            Priority::High => &self.high,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        };
        queue.as_ref()
    }
}

#[async_trait]
impl Queue for QueuesByPriority {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        self.queue(delivery.priority).send_as(body, delivery).await
    }

    async fn send_all(&self, messages: &[(String, Delivery<'_>)]) -> Result<()> {
        let mut result = Ok(());
        for priority in Priority::ALL {
            let of_priority = messages
                .iter()
                .filter(|(_, delivery)| delivery.priority == priority);
            let of_priority: Vec<_> = of_priority.cloned().collect();
            if !of_priority.is_empty() {
                result = result.and(self.queue(priority).send_all(&of_priority).await);
            }
        }
        result
    }
}

/// The queues that a consumer receives from.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Has a received message redelivered after `delay`. Best effort: otherwise it returns after the
    /// visibility timeout of the queue.
    async fn postpone(&self, queue_arn: &str, receipt_handle: &str, delay: Duration);
}
