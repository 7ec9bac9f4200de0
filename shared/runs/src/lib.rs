//! The workflow types that there are, one module each.
//!
//! A team adds its own here: a module with the code of the type and of its activities, and a line in [`registry`] for each of
//! them. `docs/workflow-types.md` shows one from beginning to end, with its test.

pub mod batch_agent;
pub mod delivery;
pub mod interactions;
pub mod redelivery;
pub mod webhook_delivery;

use webhook_delivery::Webhooks;
use workflow::Registry;

/// What adds each workflow type and its activities.
const TYPES: &[fn(Registry) -> Registry] = &[batch_agent::add, webhook_delivery::add];

/// All workflow types.
pub fn registry() -> Registry {
    TYPES.iter().fold(Registry::new(), |registry, add| add(registry))
}

/// Adds the activity that only the worker carries out, because it needs the client of webhooks.
pub fn with_activities(registry: Registry, webhooks: Webhooks) -> Registry {
    registry.activity(webhook_delivery::ATTEMPT, move |context, input| {
        webhook_delivery::attempt(webhooks.clone(), context, input)
    })
}
