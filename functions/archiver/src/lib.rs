//! Writes events and audit records into the log: consumes the archive queue.
//!
//! A message is a hint at a log, so a repeated or late one changes nothing. A failed pass is reported: SQS
//! delivers the hint again and finally moves it to the dead-letter queue, which raises an alarm. The sweeper
//! finds a log whose hint was lost once the log is due.

use aws_lambda_events::event::sqs::SqsBatchResponse;
use event_log::archive::Archiver;
use platform::archive_hints::{ArchiveHint, ArchiveHints};
use platform::batch::Batch;
use platform::{Error, Result};

/// Follows each message's hint, and sends another hint where a pass did not archive everything. The answer
/// names the messages to deliver again.
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
