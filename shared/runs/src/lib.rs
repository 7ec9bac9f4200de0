//! The workflow types that there are, one module each.
//!
//! A team adds its own here: a module with the code of the type and of its activities, and a line in [`registry`] for each of
//! them. `docs/workflow-types.md` shows one from beginning to end, with its test.

pub mod agent;
pub mod batch_agent;
pub mod delivery;
pub mod document_processed;
pub mod evaluation;
pub mod interactions;
pub mod model_usage;
pub mod process;
pub mod redelivery;
pub mod webhook_delivery;

use std::sync::Arc;

use document_processed::DocumentEvents;
use events::publish::Publisher;
use interactions::Interactions;
use model_usage::ModelUsage;
use models::Model;
use platform::bus::Bus;
use platform::records::Table;
use platform::records::process_secrets::ProcessSecrets;
use process::{Evaluator, ProcessServices};
use webhook_delivery::Webhooks;
use workflow::Registry;

/// What adds each workflow type and its activities.
const TYPES: &[fn(Registry) -> Registry] = &[
    agent::add,
    batch_agent::add,
    evaluation::add,
    process::add,
    webhook_delivery::add,
];

/// All workflow types.
pub fn registry() -> Registry {
    TYPES.iter().fold(Registry::new(), |registry, add| add(registry))
}

/// What activities work with that only the worker carries out.
#[derive(Clone)]
pub struct Services {
    /// Of deliveries.
    pub webhooks: Webhooks,
    /// Of every project.
    pub interactions: Interactions,
    /// The configured one.
    pub model: Arc<dyn Model>,
    /// Tells what its calls cost.
    pub model_usage: ModelUsage,
    /// Tells of processed documents.
    pub documents: DocumentEvents,
    /// Of processes.
    pub processes: ProcessServices,
    /// Named secrets of projects.
    pub secrets: ProcessSecrets,
}

impl Services {
    /// Over the table of records and the bus, with a model and its provider as `MILLRACE_MODEL_PROVIDER`
    /// names it, and with what evaluates expressions of processes.
    pub fn new(
        webhooks: Webhooks,
        records: Table,
        bus: Arc<dyn Bus>,
        (model, provider): (Arc<dyn Model>, &'static str),
        evaluator: Evaluator,
    ) -> Self {
        let publisher = Publisher::new(webhooks.events.clone(), webhooks.objects.clone(), bus);
        let documents = DocumentEvents::new(publisher.clone(), webhooks.clock.clone());
        Self {
            processes: ProcessServices::new(&records, &webhooks, publisher.clone(), evaluator),
            documents,
            secrets: ProcessSecrets::new(records.clone()),
            interactions: Interactions::new(records),
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
    let registry = agent::with_activities(registry, &agent::Services::of(services));
    registry.activity(webhook_delivery::ATTEMPT, move |context, input| {
        webhook_delivery::attempt(webhooks.clone(), context, input)
    })
}
