//! Executes `AgentConversation`: a language model with tools works on a task, turn by turn.
//!
//! The loop is workflow code (`conversing`); each model turn is one activity, and so is each tool call with
//! effects outside the run. A crash therefore repeats at most the activity that was under way. The model's
//! output has no authority of its own: a tool call goes through the platform's API with the role of the run,
//! or to a host that the interaction allows, whatever a text in the data demands.
//!
//! **Invariants:** a tool that the agent does not have is not carried out; a refused call goes back to the
//!  model and never ends the run; no update message holds a secret or the whole result of a tool.

mod arguments;
mod calling;
mod conversation;
mod conversing;
mod cut_off;
mod definition;
mod input;
mod model_turn;
mod partial_text;
mod prepare;
mod shortened;
mod tool_call;
mod tools;

use std::sync::Arc;

use models::Model;
use platform::outbound::Outbound;
use process::expression::Evaluator;
use serde_json::Value;
use workflow::{Registry, WorkflowType};

use crate::model_usage::ModelUsage;
use crate::secrets::Secrets;

pub use definition::{Agent, Agents};
pub use input::{ConversationInput, about};
pub use model_turn::MODEL_TURN;
pub use prepare::PREPARE;
pub use tool_call::TOOL;
pub use tools::mcp::RemoteTool;

pub const WORKFLOW_TYPE: WorkflowType<ConversationInput, Value> = WorkflowType::new("AgentConversation")
    .signals(&[USER_INPUT])
    .queries(&[CONVERSATION, "__state"]);
/// Signal that continues a conversation.
pub const USER_INPUT: &str = "UserInput";
/// Query that returns the messages.
pub const CONVERSATION: &str = "Conversation";

/// Services of the activities of agents.
#[derive(Clone)]
pub struct Services {
    pub model: Arc<dyn Model>,
    pub agents: Arc<dyn Agents>,
    /// HTTP client for addresses that a model or an interaction names.
    pub outbound: Outbound,
    /// Secrets that hold the headers for MCP servers.
    pub secrets: Arc<dyn Secrets>,
    /// Validates results against the output schemas of interactions.
    pub evaluator: Evaluator,
    /// Reports the cost of model calls; None in tests.
    pub usage: Option<ModelUsage>,
}

impl Services {
    /// Builds them from the services of the worker.
    pub fn new(services: &crate::Services) -> Self {
        Self {
            model: Arc::clone(&services.model),
            agents: Arc::new(services.interactions.clone()),
            outbound: services.webhooks.outbound.clone(),
            secrets: Arc::clone(&services.secrets),
            evaluator: services.processes.evaluator.clone(),
            usage: Some(services.model_usage.clone()),
        }
    }
}

pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, conversing::run)
}

/// Adds the activities, which only the worker carries out.
pub fn with_activities(registry: Registry, services: &Services) -> Registry {
    let (preparing, turning, calling) = (services.clone(), services.clone(), services.clone());
    registry
        .activity(PREPARE, move |context, asked| {
            prepare::prepare(preparing.clone(), context, asked)
        })
        .activity(MODEL_TURN, move |context, turn| {
            model_turn::model_turn(turning.clone(), context, turn)
        })
        .activity(TOOL, move |context, call| {
            tool_call::call(calling.clone(), context, call)
        })
}
