//! Tells the platform that a run waits for events, for as long as a task does.

use events::listening::filter_of;
use platform::records::listeners::Listener;
use process::definition::Strategy;
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Context, Failure, RetryPolicy};

use super::fault::Fault;
use super::frame::View;
use super::services::ProcessServices;

/// From now on the run is told of events.
pub(super) const LISTEN: ActivityType<Wanted, ()> = ActivityType::new("process_listen");
/// From now on it is no longer.
pub(super) const UNLISTEN: ActivityType<String, ()> = ActivityType::new("process_unlisten");

/// Attempts to tell that a run no longer waits; the matcher finds out by itself when the run has ended.
const ATTEMPTS: u32 = 10;

/// Which events a task waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wanted {
    /// Name of the wait in its run.
    pub listener_id: String,
    /// Attributes that an event must have.
    pub filter: String,
}

/// The activity [`LISTEN`].
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

/// The activity [`UNLISTEN`].
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

/// A run that is told of events, until this is dropped.
pub(super) struct Hearing {
    context: Context,
    listener_id: String,
}

impl Hearing {
    /// Begins to be told of events that a strategy may want.
    pub async fn begin(view: &View<'_>, strategy: &Strategy) -> Result<Self, Fault> {
        let context = &view.frame.context;
        let listener_id = context.new_id();
        let wanted = Wanted {
            listener_id: listener_id.clone(),
            filter: filter_of(strategy),
        };
        let begun = context.run(LISTEN, &wanted).retry(RetryPolicy::default()).await;
        begun.map_err(|failure| Fault::of(&failure, context, view.pointer))?;
        // The end is told also where the task is cancelled.
        let context = context.shielded();
        Ok(Self { context, listener_id })
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        // A turn that is given up asks for nothing more. One that is over does not either: the engine sees to
        // that.
        if !std::thread::panicking() {
            let end = self.context.run(UNLISTEN, &self.listener_id);
            drop(end.retry(RetryPolicy::attempts(ATTEMPTS)).start());
        }
    }
}
