//! Handles the messages of a queue in batches, each message by itself.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::error::{Error, Result};

/// First and longest back-off of a failed message.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Returns the back-off of a message that failed at its `receives`-th delivery.
pub fn back_off(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(16);
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    pub body: String,
}

/// The messages that a consumer gets at once.
pub struct Batch {
    messages: Vec<Message>,
    work_ends: Option<Instant>,
}

impl Batch {
    pub fn new(messages: Vec<Message>) -> Self {
        Self {
            messages,
            work_ends: None,
        }
    }

    /// Has every message that is not handled at this time fail.
    #[must_use]
    pub fn until(self, work_ends: Instant) -> Self {
        Self {
            work_ends: Some(work_ends),
            ..self
        }
    }

    /// Keeps one of several messages with the same body, because the others request the same work.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        let mut bodies = HashSet::new();
        self.messages
            .retain(|message| bodies.insert(message.body.clone()));
        self
    }

    /// Handles the messages concurrently. Returns the ids of those to deliver again: they failed, or were not
    /// handled in time.
    pub async fn each<F>(self, work: impl Fn(String) -> F) -> Vec<String>
    where
        F: Future<Output = Result<()>>,
    {
        let work_ends = self.work_ends;
        let handled = self.messages.into_iter().map(|message| {
            let handled = work(message.body);
            async move {
                let handled = match work_ends {
                    Some(work_ends) => timeout_at(work_ends, handled).await.unwrap_or_else(|_| {
                        Err(Error::timeout("The function ends before the message is handled."))
                    }),
                    None => handled.await,
                };
                (message.id, handled)
            }
        });
        let mut again = Vec::new();
        for (message_id, handled) in join_all(handled).await {
            if let Err(cause) = handled {
                warn!(message_id, %cause, "message not handled; the queue delivers it again");
                again.push(message_id);
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_take_about_twenty_minutes() {
        let pauses: Vec<_> = (1..10).map(|receives| back_off(receives).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(back_off(u32::MAX), LONGEST_PAUSE);
    }
}
