//! Drives runs, one operation a file; one function writes all runs and updates.
//!
//! Every operation may be cut off anywhere, be repeated, or run twice at the same time. Only the version
//! condition of a run's state decides what happened. Effects outside of the run (a child run, a message to
//! the parent, an event on the bus) are stored with the change as an [`Effect`](crate::state::Effect) and
//! removed once executed. Later work is found by its due time. Hints only name the run.

pub(crate) mod advance;
pub(crate) mod attempt;
mod attempts;
mod caller;
mod cancel;
mod change;
mod delivery;
mod describe;
mod drive;
pub(crate) mod effects;
mod hint;
mod keep;
mod lifecycle;
mod payloads;
mod query;
mod sharing;
mod signal;
pub(crate) mod start;
mod sweep;
mod terminate;
mod update;
mod write;

use std::sync::Arc;

use futures::future::BoxFuture;
use platform::auth::Viewer;
use platform::bus::Bus;
use platform::queue::Queue;
use platform::{Clock, Error, Result, Tenant};

use crate::api::Api;
use crate::event::Event;
use crate::registry::Registry;
use crate::state::RunState;
use crate::store::Store;
use crate::turn_runner::TurnRunner;

pub use crate::records::DueRun;
pub use caller::Caller;
pub use delivery::link_of;
pub use describe::HistoryForm;
pub use effects::document_of;
pub use hint::Hint;
pub use start::{IdReuse, StartRun, StartedRun};

/// Length of a commit id in hexadecimal digits: enough to be unique among the few dozen that a state keeps.
const COMMIT_ID_LENGTH: usize = 12;

/// Returns the run if the viewer may see it and it has the workflow id, when one is given; 404 otherwise.
pub fn visible(state: RunState, workflow_id: Option<&str>, viewer: &Viewer) -> Result<RunState> {
    let named = workflow_id.is_none_or(|id| id == state.workflow_id);
    if named && viewer.sees(state.about.private_to()) {
        return Ok(state);
    }
    Err(Error::not_found("workflow run", &state.run_id))
}

/// Waits, so that tests can replace time.
pub trait Sleep: Send + Sync {
    /// The time counts from the call, not from the first poll.
    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()>;
}

pub struct TokioSleep;

impl Sleep for TokioSleep {
    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}

/// Source of new ids: random, or counted for tests that must repeat.
#[derive(Clone, Debug)]
pub enum Ids {
    Random,
    Counted(Arc<std::sync::atomic::AtomicU64>),
}

/// Receives a call when a run has new updates or has ended.
pub trait Listener: Send + Sync {
    fn changed(&self, tenant: &Tenant, run_id: &str);
}

pub struct Services {
    pub store: Arc<dyn Store>,
    pub registry: Arc<Registry>,
    /// Receives hints.
    pub queue: Arc<dyn Queue>,
    /// Receives events of the platform.
    pub bus: Arc<dyn Bus>,
    pub clock: Clock,
    pub ids: Ids,
    pub sleep: Arc<dyn Sleep>,
    pub turn_runner: Arc<dyn TurnRunner>,
    pub listener: Option<Arc<dyn Listener>>,
    /// The platform's API, which activities call; None in a process that runs no activities.
    pub api: Option<Arc<Api>>,
    /// Name of this process, unique among the workers.
    pub worker: String,
}

/// A clone shares all state.
#[derive(Clone)]
pub struct Engine {
    services: Arc<Services>,
    sharing: Arc<sharing::Sharing>,
}

impl Engine {
    pub fn new(services: Services) -> Self {
        Self {
            services: Arc::new(services),
            sharing: Arc::default(),
        }
    }

    pub fn registry(&self) -> &Registry {
        &self.services.registry
    }

    fn new_id(&self) -> String {
        match &self.services.ids {
            Ids::Random => platform::ids::new_id(self.services.clock.now()),
            Ids::Counted(next) => {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                format!("id-{number:06}")
            }
        }
    }

    /// Short random commit id, unique among the run's recent commits.
    fn new_commit_id(&self) -> String {
        let id = self.new_id();
        let begins = id.len().saturating_sub(COMMIT_ID_LENGTH);
        id.get(begins..).unwrap_or(&id).to_owned()
    }

    /// Returns the state of a run; 404 if it does not exist.
    pub async fn get(&self, tenant: &Tenant, run_id: &str) -> Result<RunState> {
        let found = self.services.store.find(tenant, run_id).await?;
        found.ok_or_else(|| Error::not_found("workflow run", run_id))
    }

    /// Returns the whole history of a run; large payloads stay references.
    pub async fn history(&self, tenant: &Tenant, state: &RunState) -> Result<Vec<Event>> {
        let mut history = match state.tail_begins() {
            1 => Vec::new(),
            _ => self.services.store.history(tenant, &state.run_id).await?,
        };
        // Another writer may have appended events since. The stored part ends where the tail of this state
        // begins.
        history.truncate(usize::try_from(state.tail_begins() - 1).unwrap_or(usize::MAX));
        history.extend(state.tail.iter().cloned());
        if history.len() as u64 != state.last_event {
            return Err(Error::internal(format!(
                "run {} has {} events in place of {}",
                state.run_id,
                history.len(),
                state.last_event
            )));
        }
        Ok(history)
    }
}
