//! Runs going on: one file an operation, and all of them through one function that writes.
//!
//! Everything here may be cut off at any place, be done twice, or be done by two at the same time; what a run has come to is decided by
//! the version condition of its state alone. What has to follow outside of a run (a child run, a message to the parent,
//! an event on the bus) is written with the change as an [`Effect`](crate::state::Effect) and removed once it was done; what
//! has to happen later is found by its time. Messages only say where to look.

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

use platform::api::Api;
use platform::bus::Bus;
use platform::queue::{BoxFuture, Queue};
use platform::{Clock, Error, Result, Tenant};

use crate::event::Event;
use crate::listing::Viewer;
use crate::registry::Registry;
use crate::state::RunState;
use crate::store::Store;
use crate::turn_runner::TurnRunner;

pub use caller::Caller;
pub use delivery::link_of;
pub use describe::HistoryForm;
pub use effects::document_of;
pub use hint::Hint;
pub use platform::records::runs::DueRun;
pub use start::{IdReuse, MAX_WORKFLOW_ID, StartRun, StartedRun, is_workflow_id};
pub use update::PostedUpdate;

/// Characters of a write's id, hexadecimal: of the few dozen that a state remembers, no two are the same.
const COMMIT_ID_LENGTH: usize = 12;

/// A run, for somebody who asks for it by its workflow id as well. 404 where that is another one, or where he may not see it.
pub fn visible(state: RunState, workflow_id: Option<&str>, viewer: &Viewer) -> Result<RunState> {
    let named = workflow_id.is_none_or(|id| id == state.workflow_id);
    if named && viewer.sees(state.about.visibility, &state.about.initiated_by) {
        return Ok(state);
    }
    Err(Error::not_found("workflow run", &state.run_id))
}

/// Waiting, passed in as time is.
pub trait Sleep: Send + Sync {
    /// Done after so many milliseconds.
    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()>;
}

/// Waits by the machine's clock.
pub struct TokioSleep;

impl Sleep for TokioSleep {
    fn sleep(&self, millis: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(millis)))
    }
}

/// Where new ids come from: chance, or for tests that must come out the same again, counting.
#[derive(Clone, Debug)]
pub enum Ids {
    /// Ids as everywhere.
    Random,
    /// Numbers, each once.
    Counted(Arc<std::sync::atomic::AtomicU64>),
}

/// Hears that there is something new about a run: updates, or its end.
pub trait Listener: Send + Sync {
    /// There is something new about this run.
    fn changed(&self, tenant: &Tenant, run_id: &str);
}

/// What an engine works with.
pub struct Services {
    /// The records.
    pub store: Arc<dyn Store>,
    /// The workflow types and activities.
    pub registry: Arc<Registry>,
    /// Where hints go.
    pub queue: Arc<dyn Queue>,
    /// Where events of the platform go.
    pub bus: Arc<dyn Bus>,
    /// The time.
    pub clock: Clock,
    /// New ids.
    pub ids: Ids,
    /// Waiting.
    pub sleep: Arc<dyn Sleep>,
    /// Who runs the code of workflows.
    pub turn_runner: Arc<dyn TurnRunner>,
    /// Who wants to hear of changes, where there is somebody in this process.
    pub listener: Option<Arc<dyn Listener>>,
    /// The platform's API, which activities call; None in a process that carries out no activities.
    pub api: Option<Arc<Api>>,
    /// The name of this process among those that carry out activities.
    pub worker: String,
}

/// The engine. A clone is the same engine.
#[derive(Clone)]
pub struct Engine {
    services: Arc<Services>,
    sharing: Arc<sharing::Sharing>,
}

impl Engine {
    /// With its services.
    pub fn new(services: Services) -> Self {
        Self {
            services: Arc::new(services),
            sharing: Arc::default(),
        }
    }

    /// The workflow types and activities.
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

    /// An id that no other write of the last of a run has: the end of a new id, which is chance.
    fn new_commit_id(&self) -> String {
        let id = self.new_id();
        let begins = id.len().saturating_sub(COMMIT_ID_LENGTH);
        id.get(begins..).unwrap_or(&id).to_owned()
    }

    /// Where a run stands. 404 where there is no such run.
    pub async fn get(&self, tenant: &Tenant, run_id: &str) -> Result<RunState> {
        let found = self.services.store.find(tenant, run_id).await?;
        found.ok_or_else(|| Error::not_found("workflow run", run_id))
    }

    /// The whole history of a run, as it is kept.
    pub async fn history(&self, tenant: &Tenant, state: &RunState) -> Result<Vec<Event>> {
        let mut history = match state.tail_begins() {
            1 => Vec::new(),
            _ => self.services.store.history(tenant, &state.run_id).await?,
        };
        // Somebody may have written on meanwhile: what is not in the tail ends where the tail begins.
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
