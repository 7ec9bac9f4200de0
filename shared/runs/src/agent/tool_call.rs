//! Implements the activity that carries out a tool call.

use models::ToolCall;
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Failure};

use super::conversation::MAX_MESSAGE_BYTES;
use super::definition::Agent;
use super::fault::{Fault, Refusal};
use super::services::Services;
use super::shortened::shortened;
use super::tools::{self, BuiltIn};

pub const TOOL: ActivityType<Wanted, Given> = ActivityType::new("agent_tool");

#[derive(Serialize, Deserialize)]
pub struct Wanted {
    pub(super) call: ToolCall,
    /// The parts of the agent that decide about the call.
    pub(super) agent: Agent,
}

/// Result of a tool, as the model reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Given {
    pub(super) text: String,
    pub(super) is_error: bool,
}

pub(super) async fn call(
    services: Services,
    context: ActivityContext,
    wanted: Wanted,
) -> Result<Given, Failure> {
    let Wanted { call, agent } = wanted;
    let carried_out = match tools::find(&agent, &call.name) {
        Some(tools::Found::BuiltIn(tool)) => match tool {
            BuiltIn::QueryDataStore => tools::query_data_store::call(&context, &call.arguments).await,
            BuiltIn::ReadPrompt => tools::read_prompt::call(&context, &call.arguments).await,
            BuiltIn::ListRuns => tools::list_runs::call(&context, &call.arguments).await,
            BuiltIn::ReadRun => tools::read_run::call(&context, &call.arguments).await,
            BuiltIn::CallHttps => {
                tools::call_https::call(&services.outbound, &agent.allowed_hosts, &call.arguments).await
            }
            BuiltIn::Finish => {
                let account = context.tenant.account();
                tools::finish::check(&services.evaluator, account, &agent, &call.arguments).await
            }
            // The workflow code carries these out.
            BuiltIn::PostUpdate | BuiltIn::AskUser => Err(Refusal(tools::unknown(&call.name)).into()),
        },
        Some(tools::Found::Remote(tool, server)) => {
            tools::mcp::call(&services, &context.tenant, (server, tool), &call.arguments).await
        }
        None => Err(Refusal(tools::unknown(&call.name)).into()),
    };
    let (text, is_error) = match carried_out {
        Ok(text) => (text, false),
        Err(Fault::Refused(refusal)) => (refusal.to_string(), true),
        Err(Fault::Failed(failure)) => return Err(failure),
    };
    Ok(Given {
        text: shortened(
            text,
            MAX_MESSAGE_BYTES,
            "ask for less, such as fewer rows or one part",
        ),
        is_error,
    })
}
