//! Passes the messages of an SQS batch to a function, and has failed messages redelivered soon.
//!
//! Without this, a failed message returns after the visibility timeout of its queue, which is longer than its
//! function may run: ten deliveries, 16 minutes apart, before an alarm fires. So the visibility of a failed
//! message is set to a back-off.

use std::collections::HashMap;
use std::time::Duration;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::batch::{Batch, Message, back_off};
use platform::queue::Inbox;
use platform::{Clock, telemetry};
use tokio::time::timeout;
use tracing::warn;

/// Time between the end of the work and the end of the function.
const MARGIN: Duration = Duration::from_secs(2);
/// Maximum time for setting the visibility of the failed messages.
const POSTPONING: Duration = Duration::from_secs(1);

/// Passes the batches of a queue to `handle` until Lambda ends the function.
pub async fn receive(
    inbox: &dyn Inbox,
    clock: &Clock,
    handle: impl AsyncFn(Batch) -> Vec<String>,
) -> Result<(), Error> {
    if crate::only_checks_config() {
        return Ok(());
    }
    let handler = async |event| Ok::<_, Error>(consume(event, inbox, clock, &handle).await);
    lambda_runtime::run(service_fn(handler)).await
}

/// Handles the batch of an invocation: stops the work before Lambda ends the function, and sets the back-off
/// of the failed messages.
pub async fn consume(
    event: LambdaEvent<SqsEvent>,
    inbox: &dyn Inbox,
    clock: &Clock,
    handle: impl AsyncFn(Batch) -> Vec<String>,
) -> SqsBatchResponse {
    let work_ends = clock.instant_of(event.context.deadline) - MARGIN;
    let records = event.payload.records;
    let receipts: HashMap<_, _> = records.iter().filter_map(receipt).collect();
    let messages = records.into_iter().map(|record| Message {
        id: record.message_id.unwrap_or_default(),
        body: record.body.unwrap_or_default(),
    });
    let failed = handle(Batch::new(messages.collect()).until(work_ends)).await;
    let postponed = failed
        .iter()
        .filter_map(|id| receipts.get(id))
        .map(|receipt| inbox.postpone(&receipt.queue_arn, &receipt.handle, back_off(receipt.receives)));
    // On a timeout the message returns after the visibility timeout.
    if timeout(POSTPONING, join_all(postponed)).await.is_err() {
        warn!("the back-off of failed messages is not set in time");
    }
    telemetry::flush().await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed.into_iter().map(failure).collect();
    response
}

fn failure(message_id: String) -> BatchItemFailure {
    let mut failure = BatchItemFailure::default();
    failure.item_identifier = message_id;
    failure
}

struct Receipt {
    queue_arn: String,
    handle: String,
    /// How often the message was received.
    receives: u32,
}

/// Returns the id of a message, and its receipt.
fn receipt(message: &SqsMessage) -> Option<(String, Receipt)> {
    let receives = message.attributes.get("ApproximateReceiveCount");
    let receipt = Receipt {
        queue_arn: message.event_source_arn.clone()?,
        handle: message.receipt_handle.clone()?,
        receives: receives.and_then(|count| count.parse().ok()).unwrap_or(1),
    };
    Some((message.message_id.clone()?, receipt))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use platform::Error;

    fn message(id: &str, body: &str, receives: &str) -> SqsMessage {
        serde_json::from_value(json!({
            "messageId": id,
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:tasks",
            "receiptHandle": format!("receipt of {id}"),
            "body": body,
            "attributes": { "ApproximateReceiveCount": receives },
            "messageAttributes": {},
        }))
        .unwrap()
    }

    /// Records its calls.
    #[derive(Default)]
    struct Postponements(Mutex<Vec<(String, u64)>>);

    #[async_trait]
    impl Inbox for Postponements {
        async fn postpone(&self, queue_arn: &str, receipt_handle: &str, delay: Duration) {
            assert!(queue_arn.ends_with(":tasks"));
            let pause = (receipt_handle.to_owned(), delay.as_secs());
            self.0.lock().unwrap().push(pause);
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
        let inbox = Postponements::default();
        let mut context = lambda_runtime::Context::default();
        context.deadline = u64::try_from(Clock::System.now().as_millis() + 2_300).unwrap();
        let handled = Arc::new(Mutex::new(Vec::new()));
        let response = consume(
            LambdaEvent::new(event, context),
            &inbox,
            &Clock::System,
            async |batch| {
                batch
                    .without_repeats()
                    .each(|body| {
                        handled.lock().unwrap().push(body.clone());
                        async move {
                            match body.as_str() {
                                "done" => Ok(()),
                                "hangs" => std::future::pending().await,
                                _ => Err(Error::unavailable("not now")),
                            }
                        }
                    })
                    .await
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
        let mut pauses = inbox.0.lock().unwrap().clone();
        pauses.sort();
        assert_eq!(
            pauses,
            [("receipt of b".to_owned(), 20), ("receipt of c".to_owned(), 5)]
        );
    }
}
