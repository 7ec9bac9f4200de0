//! Executes `AgentConversation`: a language model with tools works on a task, turn by turn.
//!
//! The loop is workflow code (`turns`); each model turn is one activity, and so is each tool call with
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
mod fault;
mod input;
mod model_turn;
mod partial_text;
mod prepare;
mod services;
mod shortened;
mod tool_call;
mod tools;
mod turns;

use workflow::Registry;

pub use definition::{Agent, Agents, RemoteTool};
pub use input::{CONVERSATION, ConversationInput, USER_INPUT, WORKFLOW_TYPE, about};
pub use model_turn::MODEL_TURN;
pub use prepare::PREPARE;
pub use services::Services;
pub use tool_call::TOOL;

pub fn add(registry: Registry) -> Registry {
    registry.workflow(WORKFLOW_TYPE, turns::run)
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
