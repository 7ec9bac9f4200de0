//! Runs workflow runs on the local runner: the engine, its worker behind a queue, its sweeper, and the
//! followers of runs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use events::records::events::Events;
use platform::Clock;
use platform::api::Api;
use platform::bus::Bus;
use platform::config::{ConfigError, Retention, Secret};
use platform::page_token::PageTokens;
use sweeper_function::{EventRemover, Sweeper};
use tracing::warn;
use workflow::Registry;
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::records::runs::Runs;
use workflow::wiring::Wiring;
use workflows_function::Workflows;

use crate::data_dir::DataDir;
use crate::queue::{LocalQueue, Settings};
use crate::resuming::is_over;
use crate::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, Services, secret};

/// Settings of the task queue of `template.yaml`, whose function handles several messages at once in as many
/// instances as needed.
const TASKS: Settings = Settings {
    batch_size: 1,
    max_receives: 10,
    concurrency: 512,
    group_share: 64,
};
/// Pause between two sweeps for due runs.
const SWEEP: Duration = Duration::from_secs(1);

/// Pause between two sweeps for expired events with large details.
const REMOVAL: Duration = Duration::from_secs(60);

#[derive(Clone)]
pub struct LocalRuns {
    pub workflows: Workflows,
    pub stream: stream_function::Stream,
    pub followers: Arc<Followers>,
    /// Queue of hints.
    pub tasks: Arc<LocalQueue>,
    sweeper: Arc<Sweeper>,
    remover: Arc<EventRemover>,
}

impl LocalRuns {
    /// Builds the engine over an open directory and its services, with these workflow types and this
    /// retention of ended runs.
    pub fn new(
        data: &DataDir,
        services: &Services,
        clock: &Clock,
        (bus, api): (Arc<dyn Bus>, Option<Arc<Api>>),
        registry: Registry,
        retention: Retention,
    ) -> Result<Self, ConfigError> {
        let engine = Arc::new(OnceLock::<Engine>::new());
        let worker = Arc::clone(&engine);
        let tasks = LocalQueue::start(
            "tasks",
            TASKS,
            clock.clone(),
            Arc::new(move |batch| {
                let engine = worker.get().cloned();
                Box::pin(async move {
                    match engine {
                        Some(engine) => worker_function::handle(&engine, batch).await,
                        None => Default::default(),
                    }
                })
            }),
        );
        let followers = Arc::new(Followers::default());
        let events = services.table(EVENTS_TABLE);
        let runs = Runs::new(services.table(RUNS_TABLE), events.clone()).retaining(retention);
        let wiring = Wiring {
            runs: runs.clone(),
            objects: services.bucket(DATA_BUCKET),
            queue: services.layers().queue(tasks.clone()),
            bus: Arc::clone(&bus),
            clock: clock.clone(),
            listener: Some(followers.clone()),
            api,
        };
        let wired = wiring.engine(registry)?;
        let wired = engine.get_or_init(|| wired).clone();
        let tokens = page_tokens(data)?;
        Ok(Self {
            workflows: Workflows::new(wired.clone(), runs.clone(), tokens, clock.clone()),
            stream: stream_function::Stream::told(wired.clone(), runs, followers.clone()),
            remover: Arc::new(EventRemover::new(
                events.clone(),
                services.bucket(DATA_BUCKET),
                retention,
                clock.clone(),
            )),
            sweeper: Arc::new(Sweeper::new(wired, Events::new(events), bus, clock.clone())),
            followers,
            tasks,
        })
    }

    /// Takes over the runs of the previous process on the directory, then sweeps due runs.
    pub fn resume(&self) {
        let (engine, sweeper) = (self.workflows.engine.clone(), Arc::clone(&self.sweeper));
        tokio::spawn(async move {
            while !is_over("workflow runs", engine.take_over().await).await {}
            while !is_over("events", sweeper.publish_all().await).await {}
            loop {
                tokio::time::sleep(SWEEP).await;
                if let Err(cause) = sweeper.sweep(0).await {
                    warn!(%cause, "due workflow runs and events were not looked for");
                }
            }
        });
        let remover = Arc::clone(&self.remover);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REMOVAL).await;
                if let Err(cause) = remover.sweep().await {
                    warn!(%cause, "events at their end were not looked for");
                }
            }
        });
    }
}

/// Returns the signer of page tokens in a directory's listings.
pub(crate) fn page_tokens(data: &DataDir) -> Result<PageTokens, ConfigError> {
    Ok(PageTokens::new(Secret::new(secret(data, "page-tokens")?)))
}
