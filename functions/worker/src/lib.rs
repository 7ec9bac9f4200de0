//! Drives workflow runs: turns of their code, attempts of their activities, and the effects in their
//! outboxes.
//!
//! A message is a hint at a run, so a repeated, late or needless one changes nothing. A hint that fails is
//! delivered again and finally moved to the dead-letter queue, which raises an alarm. The sweeper replaces
//! lost hints.

use platform::batch::Batch;
use platform::{Error, Result};
use tracing::info;
use workflow::engine::{Engine, Hint};

/// Follows the hints of a batch. Returns the ids of the messages to deliver again.
pub async fn handle(engine: &Engine, batch: Batch) -> Vec<String> {
    batch
        .without_repeats()
        .each(async |body| follow(engine, &body).await)
        .await
}

async fn follow(engine: &Engine, body: &str) -> Result<()> {
    let hint: Hint = serde_json::from_str(body).map_err(Error::internal)?;
    // If the process crashes, its last log lines name the runs that it was driving.
    info!(
        account = hint.tenant.account(),
        project = hint.tenant.project(),
        run_id = hint.run_id,
        "hint received"
    );
    engine.drive(&hint.tenant, &hint.run_id).await
}
