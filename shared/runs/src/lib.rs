//! Registers the workflow types, one module each.
//!
//! A team adds its own here: a module with the code of the type and its activities, and a line in
//! [`registry`] for each of them. `docs/workflow-types.md` shows a complete example with its test.

pub mod agent;
pub mod batch_agent;
pub mod delivery;
pub mod document_processed;
pub mod evaluation;
mod hosts;
pub mod interactions;
pub mod model_usage;
pub mod process;
pub mod records;
mod redaction;
pub mod redelivery;
pub mod secrets;
pub mod webhook_delivery;

use std::sync::Arc;

use document_processed::DocumentEvents;
use events::publish::Publisher;
use interactions::InteractionResolver;
use model_usage::ModelUsage;
use models::{Connect, Model, ModelConfig};
use platform::bus::Bus;
use platform::config::{AwsEnvironment, ConfigError, variables};
use platform::deployment::Deployment;
use platform::records::Table;
use process::{Evaluator, ProcessServices};
use secrets::{SealedSecrets, Secrets};
use webhook_delivery::Webhooks;
use workflow::Registry;

use crate::records::process_secrets::ProcessSecrets;

/// Functions that add each workflow type.
const TYPES: &[fn(Registry) -> Registry] = &[
    agent::add,
    batch_agent::add,
    evaluation::add,
    process::add,
    webhook_delivery::add,
];

pub fn registry() -> Registry {
    TYPES.iter().fold(Registry::new(), |registry, add| add(registry))
}

/// Services of the activities, which only the worker carries out.
#[derive(Clone)]
pub struct Services {
    pub webhooks: Webhooks,
    pub interactions: InteractionResolver,
    pub model: Arc<dyn Model>,
    /// Reports the cost of model calls.
    pub model_usage: ModelUsage,
    pub documents: DocumentEvents,
    pub processes: ProcessServices,
    pub secrets: Arc<dyn Secrets>,
}

impl Services {
    /// `bedrock` connects to the provider of that name, and is missing in a program that is built without
    /// AWS; `evaluator` evaluates the expressions of processes.
    pub fn from_deployment(
        deployment: &Deployment,
        bedrock: Option<&Connect<'_>>,
        evaluator: Evaluator,
    ) -> Result<Self, ConfigError> {
        let config = ModelConfig::from_deployment(deployment)?;
        let model = config.connect(bedrock, &AwsEnvironment::read(), deployment.clock())?;
        Ok(Self::new(
            Webhooks::from_deployment(deployment)?,
            deployment.table(variables::RECORDS_TABLE)?,
            deployment.bus(variables::EVENT_BUS)?,
            (model, config.provider()),
            evaluator,
        ))
    }

    /// `provider` is the name that `MILLRACE_MODEL_PROVIDER` has for the model's provider.
    pub fn new(
        webhooks: Webhooks,
        records: Table,
        bus: Arc<dyn Bus>,
        (model, provider): (Arc<dyn Model>, &'static str),
        evaluator: Evaluator,
    ) -> Self {
        let publisher = Publisher::new(webhooks.events.clone(), webhooks.objects.clone(), bus);
        let documents = DocumentEvents::new(publisher.clone(), webhooks.clock.clone());
        let secrets: Arc<dyn Secrets> = Arc::new(SealedSecrets {
            secrets: ProcessSecrets::new(records.clone()),
            sealer: Arc::clone(&webhooks.sealer),
        });
        let shared = Arc::clone(&secrets);
        Self {
            processes: ProcessServices::new(&records, &webhooks, publisher.clone(), shared, evaluator),
            documents,
            secrets,
            interactions: InteractionResolver::new(records),
            model,
            model_usage: ModelUsage::new(publisher, provider, webhooks.clock.clone()),
            webhooks,
        }
    }
}

/// Adds the activities that only the worker carries out.
pub fn with_activities(registry: Registry, services: &Services) -> Registry {
    let (webhooks, evaluator) = (services.webhooks.clone(), services.clone());
    let registry = registry.activity(evaluation::EVALUATE, move |context, question| {
        evaluation::evaluate(evaluator.clone(), context, question)
    });
    let registry = document_processed::with_activities(registry, &services.documents);
    let registry = process::with_activities(registry, &services.processes);
    let registry = agent::with_activities(registry, &agent::Services::new(services));
    registry.activity(webhook_delivery::ATTEMPT, move |context, input| {
        webhook_delivery::attempt(webhooks.clone(), context, input)
    })
}
