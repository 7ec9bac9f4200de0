//! Runs the background work of data stores: imports and compactions from the queue of hints, the sweep that
//! sends hints for overdue imports, and scheduled garbage collection.
//!
//! A message about an import is a hint at a job among the records, so a repeated or late one changes nothing.
//! An import that failed with a transient error, or whose message or importer was lost, becomes due again,
//! and [`sweep`] sends another hint; after five attempts the import fails. A compaction that fails is
//! delivered again and finally moved to the dead-letter queue, which raises an alarm.

use lake::store::{Collected, DataStores, Hint, Retention};
use platform::batch::Batch;
use platform::queue::Queue;
use platform::{Error, Result};
use rand::seq::SliceRandom as _;
use tracing::{info, warn};

/// Follows each message's hint. Returns the ids of the messages to deliver again.
pub async fn handle(stores: &DataStores, batch: Batch) -> Vec<String> {
    batch.each(async |body| follow(stores, &body).await).await
}

async fn follow(stores: &DataStores, body: &str) -> Result<()> {
    let hint: Hint = serde_json::from_str(body).map_err(Error::internal)?;
    stores.follow(&hint).await
}

/// Sends a message for each overdue import.
pub async fn sweep(stores: &DataStores, queue: &dyn Queue) -> Result<()> {
    let overdue = stores.requeue_due_imports(queue).await?;
    if overdue > 0 {
        info!(overdue, "imports are overdue");
    }
    Ok(())
}

/// Collects the garbage of every store, in random order, so that an interrupted run does not always miss the
/// same stores. A store that fails is left to the next run.
pub async fn collect(stores: &DataStores, retention: Retention) -> Result<()> {
    let mut all = stores.all_stores().await?;
    all.shuffle(&mut rand::rng());
    let mut sum = Collected::default();
    for (tenant, store) in &all {
        match Box::pin(stores.collect(tenant, store, retention)).await {
            Ok(collected) => sum += collected,
            Err(cause) => warn!(
                account = tenant.account(),
                project = tenant.project(),
                store,
                %cause,
                "garbage not collected"
            ),
        }
    }
    info!(
        removed_objects = sum.removed_objects,
        removed_bytes = sum.removed_bytes,
        removed_versions = sum.removed_versions,
        waiting_objects = sum.waiting_objects,
        "garbage collected"
    );
    Ok(())
}
