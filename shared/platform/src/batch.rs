//! Consumes SQS batches: handles each message by itself, and has failed messages redelivered soon.
//!
//! Without this, a failed message returns after the visibility timeout of its queue, which is longer than its
//! function may run: ten deliveries, 16 minutes apart, before an alarm fires. So the visibility of a failed
//! message is set to a back-off.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;
use lambda_runtime::LambdaEvent;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::warn;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::metrics;
use crate::queue::Inbox;

/// Time between the end of the work and the end of the function.
const MARGIN: Duration = Duration::from_secs(2);
/// Maximum time for setting the visibility of the failed messages.
const POSTPONING: Duration = Duration::from_secs(1);
/// First and longest back-off of a failed message.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Returns the back-off of a message that failed at its `receives`-th delivery.
pub fn back_off(receives: u32) -> Duration {
    let doublings = receives.saturating_sub(1).min(16);
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

/// The messages of one invocation of a consumer.
pub struct Batch {
    messages: Vec<SqsMessage>,
    work_ends: Option<Instant>,
}

impl From<SqsEvent> for Batch {
    /// Creates a batch without a deadline.
    fn from(event: SqsEvent) -> Self {
        Self {
            messages: event.records,
            work_ends: None,
        }
    }
}

impl Batch {
    /// Keeps one of several messages with the same body, because the others request the same work.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        let mut bodies = HashSet::new();
        self.messages
            .retain(|message| bodies.insert(message.body.clone()));
        self
    }

    /// Handles the messages concurrently. The response names the messages to redeliver: those that failed, or
    /// were not finished before the deadline.
    pub async fn each<F>(self, work: impl Fn(String) -> F) -> SqsBatchResponse
    where
        F: Future<Output = Result<()>>,
    {
        let work_ends = self.work_ends;
        let handled = self.messages.into_iter().map(|message| {
            let handled = work(message.body.unwrap_or_default());
            async move {
                let handled = match work_ends {
                    Some(work_ends) => timeout_at(work_ends, handled).await.unwrap_or_else(|_| {
                        Err(Error::timeout("The function ends before the message is handled."))
                    }),
                    None => handled.await,
                };
                (message.message_id.unwrap_or_default(), handled)
            }
        });
        let mut response = SqsBatchResponse::default();
        for (message_id, handled) in join_all(handled).await {
            if let Err(cause) = handled {
                warn!(message_id, %cause, "message not handled; the queue delivers it again");
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = message_id;
                response.batch_item_failures.push(failure);
            }
        }
        response
    }
}

/// Handles the batch of an invocation: stops the work before Lambda ends the function, and sets the back-off
/// of the failed messages.
pub async fn consume<F>(
    event: LambdaEvent<SqsEvent>,
    inbox: &dyn Inbox,
    clock: &Clock,
    handle: impl FnOnce(Batch) -> F,
) -> SqsBatchResponse
where
    F: Future<Output = SqsBatchResponse>,
{
    let work_ends = clock.instant_of(event.context.deadline) - MARGIN;
    let messages = event.payload.records;
    let receipts: HashMap<_, _> = messages.iter().filter_map(receipt).collect();
    let response = handle(Batch {
        messages,
        work_ends: Some(work_ends),
    })
    .await;
    let failed = response
        .batch_item_failures
        .iter()
        .filter_map(|failure| receipts.get(&failure.item_identifier));
    let postponed = failed.map(|(receipt, receives)| inbox.postpone(receipt, back_off(*receives)));
    // On a timeout the message returns after the visibility timeout.
    if timeout(POSTPONING, join_all(postponed)).await.is_err() {
        warn!("the back-off of failed messages is not set in time");
    }
    metrics::flush();
    response
}

/// Returns the id of a message, its receipt handle, and its receive count.
fn receipt(message: &SqsMessage) -> Option<(String, (String, u32))> {
    let receives = message.attributes.get("ApproximateReceiveCount");
    let receives = receives.and_then(|count| count.parse().ok()).unwrap_or(1);
    Some((
        message.message_id.clone()?,
        (message.receipt_handle.clone()?, receives),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;
    use crate::queue::BoxFuture;

    #[test]
    fn ten_failures_take_about_twenty_minutes() {
        let pauses: Vec<_> = (1..10).map(|receives| back_off(receives).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(back_off(u32::MAX), LONGEST_PAUSE);
    }

    fn message(id: &str, body: &str, receives: &str) -> SqsMessage {
        serde_json::from_value(json!({
            "messageId": id,
            "receiptHandle": format!("receipt of {id}"),
            "body": body,
            "attributes": { "ApproximateReceiveCount": receives },
            "messageAttributes": {},
        }))
        .unwrap()
    }

    /// Records its calls.
    #[derive(Default)]
    struct Kept(Mutex<Vec<(String, u64)>>);

    impl Inbox for Kept {
        fn postpone<'a>(&'a self, receipt_handle: &'a str, delay: Duration) -> BoxFuture<'a, ()> {
            let asked = (receipt_handle.to_owned(), delay.as_secs());
            self.0.lock().unwrap().push(asked);
            Box::pin(async {})
        }
    }

    #[tokio::test]
    async fn what_failed_or_takes_too_long_comes_again_soon() {
        let mut event = SqsEvent::default();
        event.records = vec![
            message("a", "done", "1"),
            message("b", "fails", "3"),
            message("c", "hangs", "1"),
            message("d", "done", "1"),
        ];
        let inbox = Kept::default();
        let mut context = lambda_runtime::Context::default();
        context.deadline = u64::try_from(Clock::System.now().as_millis() + 2_300).unwrap();
        let handled = Arc::new(Mutex::new(Vec::new()));
        let response = consume(
            LambdaEvent::new(event, context),
            &inbox,
            &Clock::System,
            |batch| {
                batch.without_repeats().each(|body| {
                    handled.lock().unwrap().push(body.clone());
                    async move {
                        match body.as_str() {
                            "done" => Ok(()),
                            "hangs" => std::future::pending().await,
                            _ => Err(Error::unavailable("not now")),
                        }
                    }
                })
            },
        )
        .await;
        assert_eq!(*handled.lock().unwrap(), ["done", "fails", "hangs"]);
        let failed: Vec<_> = response
            .batch_item_failures
            .iter()
            .map(|failure| failure.item_identifier.as_str())
            .collect();
        assert_eq!(failed, ["b", "c"]);
        let mut asked = inbox.0.lock().unwrap().clone();
        asked.sort();
        assert_eq!(
            asked,
            [("receipt of b".to_owned(), 20), ("receipt of c".to_owned(), 5)]
        );
    }
}
