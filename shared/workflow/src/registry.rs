//! The workflow types and activities that there are, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use platform::{Tenant, UtcTime};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::payload::Payload;
use crate::turn::{Code, Context, Running};

/// A running activity.
pub type RunningActivity = Pin<Box<dyn Future<Output = Result<Payload, Failure>> + Send>>;
/// The code of an activity.
pub type ActivityCode = Arc<dyn Fn(ActivityContext, Payload) -> RunningActivity + Send + Sync>;

/// Tells the engine that an attempt is alive; what it says is kept for the next attempt.
pub type Heartbeat =
    Arc<dyn Fn(Payload) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync>;

/// What the code of an activity works with.
#[derive(Clone)]
pub struct ActivityContext {
    /// The account and project.
    pub tenant: Tenant,
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
    /// The activity's id in its run, the same in every attempt: together with the run's id it tells a repeated call.
    pub activity_id: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// When the activity was asked for.
    pub scheduled_at: UtcTime,
    /// What the attempt before it said of itself last.
    pub last_heartbeat: Option<Payload>,
    pub(crate) heartbeat: Heartbeat,
}

impl ActivityContext {
    /// Says that the attempt is alive, and how far it is. A failure where nobody wants the attempt any longer: the code should
    /// end then.
    pub async fn heartbeat(&self, details: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let details = Payload::of(details)?;
        (self.heartbeat)(details).await
    }
}

/// The workflow types and activities that there are, by name.
#[derive(Clone, Default)]
pub struct Registry {
    workflows: BTreeMap<String, Code>,
    activities: BTreeMap<String, ActivityCode>,
    unannounced: BTreeSet<String>,
}

impl Registry {
    /// Without anything in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a workflow type. The code's input is read from JSON; a run whose input does not have its shape fails.
    #[must_use]
    pub fn workflow<I, O, F, R>(mut self, name: &str, code: F) -> Self
    where
        I: DeserializeOwned,
        O: Serialize,
        F: Fn(Context, I) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + 'static,
    {
        let code: Code = Arc::new(move |context, input| {
            let running = input.read::<I>().map(|input| code(context, input));
            let running: Running = Box::pin(async move { Payload::of(&running?.await?) });
            running
        });
        self.workflows.insert(name.to_owned(), code);
        self
    }

    /// Adds an activity. Its input is read from JSON; an attempt whose input does not have its shape fails for good.
    #[must_use]
    pub fn activity<I, O, F, R>(mut self, name: &str, code: F) -> Self
    where
        I: DeserializeOwned + Send,
        O: Serialize,
        F: Fn(ActivityContext, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let code: ActivityCode = Arc::new(move |context, input| {
            let running = input.read::<I>().map(|input| code(context, input));
            let running: RunningActivity = Box::pin(async move {
                match running {
                    Ok(running) => Payload::of(&running.await?),
                    Err(failure) => Err(Failure {
                        non_retryable: true,
                        ..failure
                    }),
                }
            });
            running
        });
        self.activities.insert(name.to_owned(), code);
        self
    }

    /// Lets the runs of a type begin and end without an event: what carries out deliveries must not bring more of them.
    #[must_use]
    pub fn unannounced(mut self, name: &str) -> Self {
        self.unannounced.insert(name.to_owned());
        self
    }

    /// Whether the runs of a type begin and end without an event.
    pub fn is_unannounced(&self, name: &str) -> bool {
        self.unannounced.contains(name)
    }

    /// The code of a workflow type.
    pub fn find_workflow(&self, name: &str) -> Option<&Code> {
        self.workflows.get(name)
    }

    /// The code of an activity.
    pub fn find_activity(&self, name: &str) -> Option<&ActivityCode> {
        self.activities.get(name)
    }

    /// The names of the workflow types that a caller may start, sorted; those that carry out deliveries are left out.
    pub fn workflow_names(&self) -> Vec<String> {
        self.workflow_types()
            .filter(|name| !self.is_unannounced(name))
            .map(str::to_owned)
            .collect()
    }

    /// The names of the workflow types.
    pub fn workflow_types(&self) -> impl Iterator<Item = &str> {
        self.workflows.keys().map(String::as_str)
    }
}
