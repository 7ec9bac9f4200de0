//! Makes workflow runs go on: turns of their code, attempts of their activities, and what follows outside of them.
//!
//! A message is a hint at a run. One that comes twice, late or for nothing changes nothing; one that cannot be followed now comes
//! again, and is at last set aside, which raises an alarm. What was lost the sweeper finds.

mod function;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use platform::batch::Batch;
use platform::{Error, Result};
use tracing::info;
use workflow::engine::{Engine, Hint};

pub use function::run;

/// Follows the hints of a batch. The answer names the messages to deliver again.
pub async fn handle(engine: &Engine, batch: Batch) -> SqsBatchResponse {
    batch
        .without_repeats()
        .each(async |body| follow(engine, &body).await)
        .await
}

async fn follow(engine: &Engine, body: &str) -> Result<()> {
    let hint: Hint = serde_json::from_str(body).map_err(Error::internal)?;
    // The last lines of a process that broke name the runs that it worked on.
    info!(
        account = hint.account,
        project = hint.project,
        run_id = hint.run_id,
        "hint received"
    );
    engine.drive(&hint.tenant()?, &hint.run_id).await
}
