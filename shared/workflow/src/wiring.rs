//! Builds the engine of a function.

use std::sync::Arc;

use events::retention::Retention;
use platform::bus::Bus;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::objects::Objects;
use platform::queue::{Queue, QueuesByPriority};
use platform::{Clock, ids};

use crate::api::Api;
use crate::engine::{Engine, Ids, Listener, Services, TokioSleep};
use crate::records::Runs;
use crate::registry::Registry;
use crate::table::TableStore;
use crate::turn_runner::OnThread;

#[derive(Clone)]
pub struct Wiring {
    pub runs: Runs,
    /// Holds large payloads.
    pub objects: Objects,
    /// Receives hints.
    pub queue: Arc<dyn Queue>,
    /// Receives events of the platform.
    pub bus: Arc<dyn Bus>,
    pub clock: Clock,
    pub listener: Option<Arc<dyn Listener>>,
    /// The platform's API, which activities call; None in a process that runs no activities.
    pub api: Option<Arc<Api>>,
}

impl Wiring {
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let events = deployment.table(variables::EVENTS_TABLE)?;
        let runs = deployment.table(variables::RUNS_TABLE)?;
        let retention = Retention::from_environment(deployment.environment())?;
        Ok(Self {
            runs: Runs::new(runs, events).retaining(retention),
            objects: deployment.bucket(variables::DATA_BUCKET)?,
            queue: task_queues(deployment)?,
            bus: deployment.bus(variables::EVENT_BUS)?,
            clock: deployment.clock(),
            listener: None,
            api: None,
        })
    }

    /// Fails if two types or activities have the same name.
    pub fn engine(&self, registry: Registry) -> Result<Engine, ConfigError> {
        registry.check()?;
        Ok(Engine::new(Services {
            store: Arc::new(TableStore::new(self.runs.clone(), self.objects.clone())),
            registry: Arc::new(registry),
            queue: Arc::clone(&self.queue),
            bus: Arc::clone(&self.bus),
            worker: ids::new_id(self.clock.now()),
            clock: self.clock.clone(),
            ids: Ids::Random,
            sleep: Arc::new(TokioSleep),
            turn_runner: Arc::new(OnThread::default()),
            listener: self.listener.clone(),
            api: self.api.clone(),
        }))
    }
}

/// Returns the queues of hints, by priority.
pub fn task_queues(deployment: &Deployment) -> Result<Arc<dyn Queue>, ConfigError> {
    let of = |variable| match deployment.environment().optional(variable) {
        Some(_) => deployment.queue(variable),
        None => deployment.queue(variables::TASK_QUEUE),
    };
    Ok(Arc::new(QueuesByPriority {
        high: of(variables::HIGH_TASK_QUEUE)?,
        normal: of(variables::TASK_QUEUE)?,
        low: of(variables::LOW_TASK_QUEUE)?,
    }))
}
