//! Writes the audit records whose first write failed: the consumer of the audit retry queue.
//!
//! A record that is written twice is one record. A message that holds no record, or that the table refuses again, is
//! reported as failed: SQS delivers it again and at last puts it into the dead-letter queue, which raises an alarm.

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use platform::records::audit::{AuditEvent, AuditTrail};
use platform::{Error, Result};
use tracing::{info, warn};

/// Writes each message's record; the answer names the messages to deliver again.
pub async fn handle(trail: &AuditTrail, event: SqsEvent) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    for message in event.records {
        match write(trail, &message).await {
            Ok(event) => info!(audit_id = event.id, "audit record written at a later attempt"),
            Err(cause) => {
                let message_id = message.message_id.unwrap_or_default();
                warn!(message_id, %cause, "audit record not written");
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = message_id;
                response.batch_item_failures.push(failure);
            }
        }
    }
    response
}

async fn write(trail: &AuditTrail, message: &SqsMessage) -> Result<AuditEvent> {
    let body = message.body.as_deref().unwrap_or_default();
    let event: AuditEvent = serde_json::from_str(body).map_err(Error::internal)?;
    trail.insert(&event).await?;
    Ok(event)
}
