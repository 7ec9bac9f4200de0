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
pub mod lanes;
pub mod model_usage;
pub mod process;
pub mod queued_start;
pub mod records;
mod redaction;
pub mod redelivery;
pub mod redrive;
pub mod secrets;
mod services;
pub mod webhook_delivery;

use workflow::Registry;

pub use services::Services;

/// Functions that add each workflow type.
const TYPES: &[fn(Registry) -> Registry] = &[
    agent::add,
    batch_agent::add,
    evaluation::add,
    process::add,
    queued_start::add,
    redrive::add,
    webhook_delivery::add,
];

pub fn registry() -> Registry {
    TYPES.iter().fold(Registry::new(), |registry, add| add(registry))
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
    let registry = redrive::with_activities(registry, &services.redelivery);
    let (turns, queues) = (webhooks.turns.clone(), webhooks.clone());
    let registry = registry.activity(lanes::LEAVE, move |context, place| {
        let turns = turns.clone();
        async move { turns.leave(context, place).await }
    });
    let registry = registry.activity(queued_start::LOOK, move |context, look| {
        queued_start::look(queues.clone(), context, look)
    });
    registry.activity(webhook_delivery::ATTEMPT, move |context, input| {
        webhook_delivery::attempt(webhooks.clone(), context, input)
    })
}
