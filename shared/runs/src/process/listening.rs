//! Registers a run as a listener for events, for as long as a task listens.

use events::listening::filter_of;
use events::records::listeners::Listener;
use process::definition::Strategy;
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Context, Failure, RetryPolicy};

use super::fault::Fault;
use super::frame::View;
use super::services::ProcessServices;

/// Starts the delivery of events to the run.
pub(super) const LISTEN: ActivityType<Wanted, ()> = ActivityType::new("process_listen");
/// Ends the delivery of events to the run.
pub(super) const UNLISTEN: ActivityType<String, ()> = ActivityType::new("process_unlisten");

/// Attempts to deregister a listener; the matcher itself notices when the run has ended.
const ATTEMPTS: u32 = 10;

/// Events that a task waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// Name of the listener within its run.
    pub listener_id: String,
    /// Attributes that an event must have.
    pub filter: String,
}

pub(super) async fn listen(
    services: ProcessServices,
    context: ActivityContext,
    wanted: Wanted,
) -> Result<(), Failure> {
    let listener = Listener {
        run_id: context.run_id.clone(),
        listener_id: wanted.listener_id,
        filter: wanted.filter,
        created_at: context.scheduled_at,
    };
    Ok(services.listening.begin(&context.tenant, &listener).await?)
}

pub(super) async fn unlisten(
    services: ProcessServices,
    context: ActivityContext,
    listener_id: String,
) -> Result<(), Failure> {
    let ended = services
        .listening
        .end(&context.tenant, &context.run_id, &listener_id);
    Ok(ended.await?)
}

/// Registration of a run as a listener, until it is dropped.
pub(super) struct Hearing {
    context: Context,
    listener_id: String,
}

impl Hearing {
    /// Registers the run for the events that a strategy may need.
    pub async fn begin(view: &View<'_>, strategy: &Strategy) -> Result<Self, Fault> {
        let context = &view.frame.context;
        let listener_id = context.new_id();
        let wanted = Wanted {
            listener_id: listener_id.clone(),
            filter: filter_of(strategy),
        };
        let begun = context.run(LISTEN, &wanted).retry(RetryPolicy::default()).await;
        begun.map_err(|failure| Fault::from_failure(&failure, context, view.pointer))?;
        // Deregister also when the task is cancelled.
        let context = context.shielded();
        Ok(Self { context, listener_id })
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        // An abandoned turn must not schedule the activity. After the end of a turn, the engine ignores it.
        if !std::thread::panicking() {
            let end = self.context.run(UNLISTEN, &self.listener_id);
            drop(end.retry(RetryPolicy::attempts(ATTEMPTS)).start());
        }
    }
}
