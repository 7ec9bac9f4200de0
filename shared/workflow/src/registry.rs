//! The workflow types and activities that there are, by name.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use platform::api::{Api, Call};
use platform::auth::RunPrincipal;
use platform::config::ConfigError;
use platform::{Tenant, UtcTime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::payload::Payload;
use crate::stub::{ActivityName, Interactions, WorkflowName};
use crate::turn::{Code, Context, NewUpdate, Running};

/// A running activity.
pub type RunningActivity = Pin<Box<dyn Future<Output = Result<Payload, Failure>> + Send>>;
/// The code of an activity.
pub type ActivityCode = Arc<dyn Fn(ActivityContext, Payload) -> RunningActivity + Send + Sync>;

/// Tells the engine that an attempt is alive; what it says is kept for the next attempt.
pub type Heartbeat =
    Arc<dyn Fn(Payload) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync>;

/// Publishes an update message of the run.
pub type Publish =
    Arc<dyn Fn(NewUpdate) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync>;

/// What the code of an activity works with.
#[derive(Clone)]
pub struct ActivityContext {
    /// The account and project.
    pub tenant: Tenant,
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
    /// The run's type.
    pub workflow_type: String,
    /// The activity's id in its run, the same in every attempt: together with the run's id it tells a repeated call.
    pub activity_id: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// When the activity was asked for.
    pub scheduled_at: UtcTime,
    /// What the attempt before it said of itself last.
    pub last_heartbeat: Option<Payload>,
    /// The identity of the run inside the platform; None for a run without a role.
    pub principal: Option<RunPrincipal>,
    /// Subscriptions that led to the run: what an event that the attempt publishes carries on, so that none
    /// matches what it led to.
    pub lineage: Vec<String>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) publish: Publish,
    pub(crate) api: Option<Arc<Api>>,
}

impl ActivityContext {
    /// Says that the attempt is alive, and how far it is. A failure where nobody wants the attempt any longer: the code should
    /// end then.
    pub async fn heartbeat(&self, details: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let details = Payload::of(details)?;
        (self.heartbeat)(details).await
    }

    /// Publishes an update message of the run while the activity is under way, once for each attempt that
    /// comes here. Workflow code publishes with its own context, once.
    pub async fn publish(&self, update: NewUpdate) -> Result<(), Failure> {
        (self.publish)(update).await
    }

    /// Calls the platform's API as the run, with the permissions of its role and no others. The body of a success; the
    /// failure of a refused call has the error's code as its type and is not retried. A call whose answer is lost may
    /// have been carried out, and the next attempt repeats it.
    pub async fn call(&self, call: &Call) -> Result<Value, Failure> {
        let Some(principal) = &self.principal else {
            return Err(Failure::permanent(
                "NoRole",
                "This run has no role and cannot call the platform. Runs of a subscription have its 'run_as_role'; \
                 'ops run start' gives one with --role.",
            ));
        };
        let Some(api) = &self.api else {
            return Err(Failure::permanent(
                "NoApi",
                "This process was started without the URL of the platform's API.",
            ));
        };
        Ok(api.call(principal, call).await?.success()?)
    }
}

/// The workflow types and activities that there are, by name.
#[derive(Clone, Default)]
pub struct Registry {
    workflows: BTreeMap<String, Registered<Code>>,
    activities: BTreeMap<String, Registered<ActivityCode>>,
    interactions: BTreeMap<String, Interactions>,
    unannounced: BTreeSet<String>,
    duplicates: Vec<String>,
}

#[derive(Clone)]
struct Registered<T> {
    code: T,
    /// Path of the function, for the error about a second one.
    path: &'static str,
}

impl Registry {
    /// Without anything in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a workflow type. The code's input is read from JSON; a run whose input does not have its shape fails.
    #[must_use]
    pub fn workflow<I, O, F, R>(mut self, name: impl WorkflowName<I, O>, code: F) -> Self
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
        let (name, interactions) = (name.workflow_name().to_owned(), name.interactions());
        self.interactions
            .extend(interactions.map(|interactions| (name.clone(), interactions)));
        let duplicate = insert(
            &mut self.workflows,
            "workflow types",
            name,
            code,
            type_name::<F>(),
        );
        self.duplicates.extend(duplicate);
        self
    }

    /// Adds an activity. Its input is read from JSON; an attempt whose input does not have its shape fails for good.
    #[must_use]
    pub fn activity<I, O, F, R>(mut self, name: impl ActivityName<I, O>, code: F) -> Self
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
        let name = name.activity_name().to_owned();
        let duplicate = insert(&mut self.activities, "activities", name, code, type_name::<F>());
        self.duplicates.extend(duplicate);
        self
    }

    /// Refuses a name under which two functions are registered: the second would take the place of the first unseen.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.duplicates.first() {
            Some(duplicate) => Err(ConfigError::new(duplicate.clone())),
            None => Ok(()),
        }
    }

    /// The same without an activity, so that other code can take its name.
    #[must_use]
    pub fn without_activity(mut self, name: &str) -> Self {
        self.activities.remove(name);
        self
    }

    /// The same without a workflow type, so that other code can take its name.
    #[must_use]
    pub fn without_workflow(mut self, name: &str) -> Self {
        self.workflows.remove(name);
        self.interactions.remove(name);
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
        self.workflows.get(name).map(|registered| &registered.code)
    }

    /// The code of an activity.
    pub fn find_activity(&self, name: &str) -> Option<&ActivityCode> {
        self.activities.get(name).map(|registered| &registered.code)
    }

    /// The names of the workflow types that a caller may start, sorted; those that carry out deliveries are left out.
    pub fn workflow_names(&self) -> Vec<String> {
        self.public_workflow_types()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The names of the workflow types.
    pub fn workflow_types(&self) -> impl Iterator<Item = &str> {
        self.workflows.keys().map(String::as_str)
    }

    /// The workflow types that callers start and talk to, with their signals and queries: those of the platform's own work are
    /// left out.
    pub fn public_workflow_types(&self) -> impl Iterator<Item = (&str, Interactions)> {
        let names = self.workflow_types().filter(|name| !self.is_unannounced(name));
        names.map(|name| (name, self.interactions(name).unwrap_or_default()))
    }

    /// Signals and queries of a workflow type; None where it is registered by a text.
    pub fn interactions(&self, name: &str) -> Option<Interactions> {
        self.interactions.get(name).copied()
    }
}

/// Adds code; the sentence about a duplicate where the name has code already.
fn insert<T>(
    known: &mut BTreeMap<String, Registered<T>>,
    what: &str,
    name: String,
    code: T,
    path: &'static str,
) -> Option<String> {
    let before = known.insert(name.clone(), Registered { code, path })?;
    Some(format!(
        "Two {what} are registered as '{name}': {} and {path}. Names are global: give one of the two another name.",
        before.path
    ))
}
