//! Makes workflow runs go on: turns of their code, attempts of their activities, and what follows outside of them.
//!
//! A message is a hint at a run. One that comes twice, late or for nothing changes nothing; one that cannot be followed now comes
//! again, and is at last set aside, which raises an alarm. What was lost the sweeper finds.

use std::collections::BTreeSet;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use futures::future::join_all;
use platform::{Error, Result};
use tracing::warn;
use workflow::engine::{Engine, Hint};

/// Follows the hints of a batch, all at once; the answer names the messages to deliver again.
pub async fn handle(engine: &Engine, event: SqsEvent) -> SqsBatchResponse {
    // Several hints at one run are one.
    let mut bodies = BTreeSet::new();
    let messages = event.records.into_iter().filter_map(|message| {
        let body = message.body.unwrap_or_default();
        bodies
            .insert(body.clone())
            .then(|| (message.message_id.unwrap_or_default(), body))
    });
    let followed =
        messages.map(|(message_id, body)| async move { (follow(engine, &body).await, message_id) });
    let mut response = SqsBatchResponse::default();
    for (followed, message_id) in join_all(followed).await {
        if let Err(cause) = followed {
            warn!(message_id, %cause, "hint not followed");
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message_id;
            response.batch_item_failures.push(failure);
        }
    }
    response
}

async fn follow(engine: &Engine, body: &str) -> Result<()> {
    let hint: Hint = serde_json::from_str(body).map_err(Error::internal)?;
    engine.drive(&hint.tenant()?, &hint.run_id).await
}
