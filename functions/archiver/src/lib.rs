//! Writes events and audit records into the log: the consumer of the archive queue.
//!
//! A message is a hint at a log. One that comes twice, or too late, changes nothing. A pass that fails is
//! reported: SQS delivers the hint again and at last puts it into the dead-letter queue, which raises an
//! alarm. A log whose hint was lost is found by the sweeper once it is due.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use event_log::archive::Archiver;
use platform::archive_hints::{ArchiveHint, ArchiveHints};
use platform::batch::Batch;
use platform::{Error, Result};

/// Follows each message's hint, and sends another where a pass has not archived all. The answer names the
/// messages to deliver again.
pub async fn handle(archiver: &Archiver, hints: &ArchiveHints, batch: Batch) -> SqsBatchResponse {
    batch
        .without_repeats()
        .each(async |body| follow(archiver, hints, &body).await)
        .await
}

async fn follow(archiver: &Archiver, hints: &ArchiveHints, body: &str) -> Result<()> {
    let hint: ArchiveHint = serde_json::from_str(body).map_err(Error::internal)?;
    if archiver.pass(&hint.log).await?.more {
        hints.due(&hint.log).await;
    }
    Ok(())
}
