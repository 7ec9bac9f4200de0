//! Registers workflow types and activities by name.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use events::publish::RunOrigin;
use platform::auth::RunPrincipal;
use platform::config::ConfigError;
use platform::{Tenant, UtcTime};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{Api, Call};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::payload::Payload;
use crate::stub::{ActivityName, Interactions, WorkflowName};
use crate::turn::{Code, Context, NewUpdate, Running};

pub type RunningActivity = Pin<Box<dyn Future<Output = Result<Payload, Failure>> + Send>>;
pub type ActivityCode = Arc<dyn Fn(ActivityContext, Payload) -> RunningActivity + Send + Sync>;

/// Reports that an attempt is alive. The details are kept for the next attempt.
pub type Heartbeat =
    Arc<dyn Fn(Payload) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync>;

/// Publishes an update of the run.
pub type Publish =
    Arc<dyn Fn(NewUpdate) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync>;

/// Context of an activity's code.
#[derive(Clone)]
pub struct ActivityContext {
    pub tenant: Tenant,
    pub workflow_id: String,
    pub run_id: String,
    pub workflow_type: String,
    /// Id within the run, the same in every attempt. Together with the run id it is an idempotency key.
    pub activity_id: String,
    /// From 1.
    pub attempt: u32,
    pub scheduled_at: UtcTime,
    /// Details of the previous attempt's last heartbeat.
    pub last_heartbeat: Option<Payload>,
    /// Identity of the run inside the platform; None for a run without a role.
    pub principal: Option<RunPrincipal>,
    /// Owner of a private run. Events that the attempt publishes reach only those who may see the run.
    pub private_to: Option<String>,
    /// Subscriptions that led to the run. Events that the attempt publishes carry them, so that no
    /// subscription matches its own results.
    pub lineage: Vec<String>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) publish: Publish,
    pub(crate) api: Option<Arc<Api>>,
    pub(crate) engine: Option<Engine>,
}

impl ActivityContext {
    /// Returns the run as the origin of events that the attempt publishes.
    pub fn origin(&self) -> RunOrigin {
        RunOrigin {
            private_to: self.private_to.clone(),
            lineage: self.lineage.clone(),
        }
    }

    /// Reports that the attempt is alive, with its progress. Fails if the attempt is no longer needed: the
    /// code should end then.
    pub async fn heartbeat(&self, details: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let details = Payload::from_value(details)?;
        (self.heartbeat)(details).await
    }

    /// Publishes an update of the run during the activity, once for each attempt that gets here. Workflow
    /// code publishes with its own context, once.
    pub async fn publish(&self, update: NewUpdate) -> Result<(), Failure> {
        (self.publish)(update).await
    }

    /// Returns the engine that drives the run, for activities of the platform's own work: it asks for no
    /// permission. Fails in a test without an engine.
    pub fn engine(&self) -> Result<&Engine, Failure> {
        let missing = || Failure::permanent("NoEngine", "This process has no engine.");
        self.engine.as_ref().ok_or_else(missing)
    }

    /// Calls the platform's API as the run, with the permissions of its role only. Returns the body of a
    /// success. The failure of a refused call has the error's code as its type and is not retried. A call
    /// whose response is lost may have been executed, and the next attempt repeats it.
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
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a workflow type. Its input is read from JSON; a run with an input of another shape fails.
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
            let running: Running = Box::pin(async move { Payload::from_value(&running?.await?) });
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

    /// Adds an activity. Its input is read from JSON; an attempt with an input of another shape fails without
    /// a retry.
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
                    Ok(running) => Payload::from_value(&running.await?),
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

    /// Refuses a name with two functions, because the second would silently replace the first.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self.duplicates.first() {
            Some(duplicate) => Err(ConfigError::new(duplicate.clone())),
            None => Ok(()),
        }
    }

    /// Removes an activity, so that other code can take its name.
    #[must_use]
    pub fn without_activity(mut self, name: &str) -> Self {
        self.activities.remove(name);
        self
    }

    /// Removes a workflow type, so that other code can take its name.
    #[must_use]
    pub fn without_workflow(mut self, name: &str) -> Self {
        self.workflows.remove(name);
        self.interactions.remove(name);
        self
    }

    /// Lets runs of a type start and end without an event, because runs that carry out deliveries must not
    /// cause further deliveries.
    #[must_use]
    pub fn unannounced(mut self, name: &str) -> Self {
        self.unannounced.insert(name.to_owned());
        self
    }

    /// Whether runs of a type start and end without an event.
    pub fn is_unannounced(&self, name: &str) -> bool {
        self.unannounced.contains(name)
    }

    pub fn find_workflow(&self, name: &str) -> Option<&Code> {
        self.workflows.get(name).map(|registered| &registered.code)
    }

    pub fn find_activity(&self, name: &str) -> Option<&ActivityCode> {
        self.activities.get(name).map(|registered| &registered.code)
    }

    /// Returns the sorted names of the types that callers may start, without those that carry out deliveries.
    pub fn workflow_names(&self) -> Vec<String> {
        self.public_workflow_types()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    pub fn workflow_types(&self) -> impl Iterator<Item = &str> {
        self.workflows.keys().map(String::as_str)
    }

    /// Returns the types that callers start and talk to, with their signals and queries, without those of the
    /// platform's own work.
    pub fn public_workflow_types(&self) -> impl Iterator<Item = (&str, Interactions)> {
        let names = self.workflow_types().filter(|name| !self.is_unannounced(name));
        names.map(|name| (name, self.interactions(name).unwrap_or_default()))
    }

    /// Returns the signals and queries of a type; None if it was registered by a name alone.
    pub fn interactions(&self, name: &str) -> Option<Interactions> {
        self.interactions.get(name).copied()
    }
}

/// Adds code. Returns the error for a name that has code.
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
