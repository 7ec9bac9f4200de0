//! Workflow runs on the local runner: the engine, its worker behind a queue, its sweeper, and who follows runs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use platform::Clock;
use platform::api::Api;
use platform::bus::Bus;
use platform::config::{ConfigError, Retention, Secret};
use platform::page_token::PageTokens;
use platform::records::events::Events;
use platform::records::runs::Runs;
use sweeper_function::{EventRemover, Sweeper};
use tracing::warn;
use workflow::Registry;
use workflow::engine::Engine;
use workflow::live::Followers;
use workflow::wiring::Wiring;
use workflows_function::Workflows;

use crate::data_dir::DataDir;
use crate::queue::{LocalQueue, Settings};
use crate::resuming::is_over;
use crate::services::{DATA_BUCKET, EVENTS_TABLE, RUNS_TABLE, Services, secret};

/// As the task queue of `template.yaml`, whose function takes several messages at once in as many instances as it needs.
const TASKS: Settings = Settings {
    batch_size: 1,
    max_receives: 10,
    concurrency: 512,
    group_share: 64,
};
/// How often runs are looked for that somebody should look at.
const SWEEP: Duration = Duration::from_secs(1);

/// How often events with large details are looked for that are at their end.
const REMOVAL: Duration = Duration::from_secs(60);

/// Workflow runs on the local runner.
#[derive(Clone)]
pub struct LocalRuns {
    /// What the endpoints need.
    pub workflows: Workflows,
    /// What the stream needs.
    pub stream: stream_function::Stream,
    /// Who follows runs.
    pub followers: Arc<Followers>,
    /// The queue of hints.
    pub tasks: Arc<LocalQueue>,
    sweeper: Arc<Sweeper>,
    remover: Arc<EventRemover>,
}

impl LocalRuns {
    /// Over an open directory and its services, with these workflow types. Ended runs are kept for so long.
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
            Arc::new(move |event| {
                let engine = worker.get().cloned();
                Box::pin(async move {
                    match engine {
                        Some(engine) => worker_function::handle(&engine, event.into()).await,
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
            workflows: Workflows::new(wired.clone(), runs.clone(), tokens),
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

    /// Takes up the runs that the last process over the directory left, and from now on those that are due.
    pub fn resume(&self) {
        let (engine, sweeper) = (self.workflows.engine.clone(), Arc::clone(&self.sweeper));
        tokio::spawn(async move {
            while !is_over("workflow runs", engine.take_over().await).await {}
            while !is_over("events", sweeper.tell_all().await).await {}
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

/// What signs the page tokens of a directory's listings.
pub(crate) fn page_tokens(data: &DataDir) -> Result<PageTokens, ConfigError> {
    Ok(PageTokens::new(Secret::new(secret(data, "page-tokens")?)))
}
