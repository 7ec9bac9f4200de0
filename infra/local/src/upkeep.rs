//! Does what the schedules of a deployment do, and DynamoDB and S3 by themselves.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use lake::store::{DataStores, Retention};
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::queue::Queue;
use platform::{Clock, Result};
use sweeper_function::{BatchFinisher, EventRemover, LogSweeper, Sweeper};
use tracing::warn;
use workflow::engine::Engine;

use crate::resuming::is_over;
use crate::services::{EXPIRED_AT_ONCE, Services};

/// Pause between two sweeps for due runs and events.
const SWEEP: Duration = Duration::from_secs(1);
/// Pause between two looks for other work: due logs, overdue imports, and what has expired.
const LOOK: Duration = Duration::from_secs(60);
/// Pause between two garbage collections.
const COLLECTION: Duration = Duration::from_secs(3_600);

pub(crate) struct Upkeep {
    engine: Engine,
    sweeper: Sweeper,
    logs: LogSweeper,
    remover: EventRemover,
    batches: BatchFinisher,
    importer: DataStores,
    imports: Arc<dyn Queue>,
    objects: Objects,
    retention: Retention,
    clock: Clock,
}

impl Upkeep {
    pub(crate) fn from_deployment(
        deployment: &Deployment,
        engine: Engine,
        importer: DataStores,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            sweeper: Sweeper::from_deployment(deployment, engine.clone())?,
            engine,
            logs: LogSweeper::from_deployment(deployment)?,
            remover: EventRemover::from_deployment(deployment)?,
            batches: BatchFinisher::from_deployment(deployment)?,
            importer,
            imports: deployment.queue(variables::IMPORT_QUEUE)?,
            objects: deployment.bucket(variables::DATA_BUCKET)?,
            retention: Retention::from_environment(deployment.environment())?,
            clock: deployment.clock(),
        })
    }

    /// Takes over the work of the previous process on the directory, and then looks for work regularly.
    pub(crate) fn start(self: Arc<Self>, services: Services) {
        let upkeep = Arc::clone(&self);
        tokio::spawn(async move {
            while !is_over("workflow runs", upkeep.engine.take_over().await).await {}
            while !is_over("events", upkeep.sweeper.publish_all().await).await {}
            repeat("due runs and events", SWEEP, || upkeep.sweeper.sweep(0)).await;
        });
        let upkeep = Arc::clone(&self);
        tokio::spawn(async move { repeat("due logs", LOOK, || upkeep.logs.sweep()).await });
        let upkeep = Arc::clone(&self);
        tokio::spawn(async move {
            let (importer, queue) = (&upkeep.importer, upkeep.imports.as_ref());
            while !is_over("imports", importer.requeue_all_imports(queue).await).await {}
            let sweep = || importer_function::sweep(importer, queue);
            repeat("overdue imports", LOOK, sweep).await;
        });
        let upkeep = Arc::clone(&self);
        tokio::spawn(async move { repeat("expired events", LOOK, || upkeep.remover.sweep()).await });
        let upkeep = Arc::clone(&self);
        tokio::spawn(async move { repeat("unfinished batches", LOOK, || upkeep.batches.sweep()).await });
        let clock = self.clock.clone();
        tokio::spawn(async move {
            repeat("expired records", LOOK, || expire(&services, &clock)).await;
        });
        tokio::spawn(async move {
            tokio::time::sleep(COLLECTION).await;
            let details =
                async || workflow::removal::remove_update_details(&self.objects, self.clock.now()).await;
            let garbage = async || importer_function::collect(&self.importer, self.retention).await;
            tokio::join!(
                repeat("details of old update messages", COLLECTION, details),
                repeat("garbage", COLLECTION, garbage),
            );
        });
    }
}

async fn expire(services: &Services, clock: &Clock) -> Result<()> {
    while services.expire(clock.now()).await? == EXPIRED_AT_ONCE {}
    Ok(())
}

/// Looks for `what` again and again, with a pause after each look.
async fn repeat<T, F: Future<Output = Result<T>>>(what: &str, pause: Duration, look: impl Fn() -> F) {
    loop {
        if let Err(cause) = look().await {
            warn!(%cause, "{what} were not looked for");
        }
        tokio::time::sleep(pause).await;
    }
}
