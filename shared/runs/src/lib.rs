//! The workflow types that there are, one module each.
//!
//! A team adds its own here: a module with the code of the type and of its activities, and a line in [`registry`] for each of
//! them. `docs/workflow-types.md` shows one from beginning to end, with its test.

pub mod batch_agent;

use workflow::Registry;

/// All workflow types and activities.
pub fn registry() -> Registry {
    Registry::new().workflow(batch_agent::WORKFLOW_TYPE, batch_agent::run)
}
