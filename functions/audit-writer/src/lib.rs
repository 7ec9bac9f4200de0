//! Writes the audit records whose first write failed: consumes the audit retry queue.
//!
//! Writing a record twice is idempotent. A message that holds no record, or whose record the table refuses
//! again, is reported as failed: SQS delivers it again and finally moves it to the dead-letter queue, which
//! raises an alarm.

use platform::batch::Batch;
use platform::records::audit::{AuditEvent, AuditTrail};
use platform::{Error, Result};
use tracing::info;

/// Writes each message's record. Returns the ids of the messages to deliver again.
pub async fn handle(trail: &AuditTrail, batch: Batch) -> Vec<String> {
    batch.each(async |body| write(trail, &body).await).await
}

async fn write(trail: &AuditTrail, body: &str) -> Result<()> {
    let event: AuditEvent = serde_json::from_str(body).map_err(Error::internal)?;
    trail.insert(&event).await?;
    info!(audit_id = event.id, "audit record written at a later attempt");
    Ok(())
}
