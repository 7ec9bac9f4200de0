//! An engine from the environment of a Lambda function.

use std::sync::Arc;

use platform::api::Api;
use platform::aws::SdkConfig;
use platform::bus::{Bus, EventBridgeBus};
use platform::config::{ConfigError, Environment, Retention};
use platform::objects::Objects;
use platform::queue::{Queue, SqsQueue};
use platform::records::Table;
use platform::records::runs::Runs;
use platform::{Clock, ids};

use crate::engine::{Engine, Ids, Listener, Services, TokioSleep};
use crate::registry::Registry;
use crate::table::TableStore;
use crate::turning::OnThread;

/// What an engine is made of, wherever it runs.
#[derive(Clone)]
pub struct Wiring {
    /// The records of runs.
    pub runs: Runs,
    /// Where large payloads are.
    pub objects: Objects,
    /// Where hints go.
    pub queue: Arc<dyn Queue>,
    /// Where events of the platform go.
    pub bus: Arc<dyn Bus>,
    /// The time.
    pub clock: Clock,
    /// Who wants to hear of changes, where there is somebody in this process.
    pub listener: Option<Arc<dyn Listener>>,
    /// The platform's API, which activities call; None in a process that carries out no activities.
    pub api: Option<Arc<Api>>,
}

impl Wiring {
    /// From the environment of a Lambda function.
    pub fn from_environment(environment: &Environment, sdk: &SdkConfig) -> Result<Self, ConfigError> {
        let events = Table::connect(sdk, &environment.required("MILLRACE_EVENTS_TABLE")?);
        let runs = Table::connect(sdk, &environment.required("MILLRACE_RUNS_TABLE")?);
        Ok(Self {
            runs: Runs::new(runs, events).retaining(Retention::from_environment(environment)?),
            objects: Objects::connect(sdk, &environment.required("MILLRACE_DATA_BUCKET")?),
            queue: Arc::new(SqsQueue::connect(
                sdk,
                environment.required("MILLRACE_TASK_QUEUE")?,
            )),
            bus: Arc::new(EventBridgeBus::connect(
                sdk,
                &environment.required("MILLRACE_EVENT_BUS")?,
            )),
            clock: Clock::System,
            listener: None,
            api: None,
        })
    }

    /// An engine for these workflow types and activities. An error where two have one name.
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
            turning: Arc::new(OnThread::default()),
            listener: self.listener.clone(),
            api: self.api.clone(),
        }))
    }
}
