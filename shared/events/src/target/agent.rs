//! Defines the target that starts a conversation with an agent for each event.

use platform::http::text::check_name;
use platform::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{add_type, check_size};
use crate::path::{self, MAX_PATH_CHARACTERS};
use crate::template;

/// Workflow type of agents' runs.
pub const AGENT_TYPE: &str = "AgentConversation";
/// Maximum number of model turns between two user messages.
pub const MAX_ITERATIONS: u32 = 100;

/// A conversation with an agent that is started for each event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = of_type_agent)]
pub struct AgentTarget {
    /// Interaction that the agent follows: its id, `app:<name>` or `sys:<name>`. Default: the general-purpose
    /// system agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_ref: Option<String>,
    /// Data that the agent is given, with event templates; at most 65,536 bytes of JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// Path into the event to the run's workflow id, such as `details.payload.order_id`: a text or an
    /// integer. Events with the same id start one run in all. Default: an id for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub workflow_id: Option<String>,
    /// Maximum number of turns of the language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_ITERATIONS))]
    pub max_iterations: Option<u32>,
}

fn of_type_agent(schema: &mut Schema) {
    add_type(schema, "agent");
}

impl AgentTarget {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(interaction) = &self.interaction_ref {
            check_name("target.interaction_ref", interaction)?;
        }
        let iterations = self.max_iterations.unwrap_or(1);
        if !(1..=MAX_ITERATIONS).contains(&iterations) {
            return Err(Error::invalid_field(
                "target.max_iterations",
                format!("must be from 1 to {MAX_ITERATIONS}."),
            ));
        }
        if let Some(path) = &self.workflow_id {
            path::check("target.workflow_id", path)?;
        }
        check_size("target.data", &self.data)?;
        template::check_fields("target.data", &self.data)
    }
}
