//! The workflow types that there are, one module each.
//!
//! A team adds its own here: a module with the code of the type and of its activities, and a line in [`registry`] for each of
//! them. `docs/workflow-types.md` shows one from beginning to end, with its test.

pub mod batch_agent;
pub mod delivery;
pub mod redelivery;
pub mod webhook_delivery;

use webhook_delivery::Webhooks;
use workflow::Registry;

/// All workflow types: enough to start, ask and replay runs.
pub fn registry() -> Registry {
    Registry::new()
        .workflow(batch_agent::WORKFLOW_TYPE, batch_agent::run)
        .workflow(webhook_delivery::WORKFLOW_TYPE, webhook_delivery::run)
        .unannounced(webhook_delivery::WORKFLOW_TYPE)
}

/// Adds the activities, for whoever carries them out.
pub fn with_activities(registry: Registry, webhooks: Webhooks) -> Registry {
    registry.activity(webhook_delivery::ATTEMPT, move |context, input| {
        webhook_delivery::attempt(webhooks.clone(), context, input)
    })
}
