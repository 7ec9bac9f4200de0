//! Implements the activity that resolves an agent from its reference.

use models::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use workflow::{ActivityContext, ActivityType, Failure};

use super::definition::Agent;
use super::services::Services;
use super::tools::mcp;

/// Resolves an agent, renders its prompts and lists the tools of its servers, once per run.
pub const PREPARE: ActivityType<AgentRequest, Prepared> = ActivityType::new("agent_prepare");

/// Maximum size of the instructions, the schema and the lists of an agent.
const MAX_AGENT_BYTES: usize = 600_000;

#[derive(Serialize, Deserialize)]
pub struct AgentRequest {
    pub(super) reference: String,
    pub(super) data: Map<String, Value>,
}

/// Agent and the first messages of its conversation.
#[derive(Serialize, Deserialize)]
pub struct Prepared {
    pub(super) agent: Agent,
    pub(super) opening: Vec<Message>,
    /// Servers whose tools could not be listed, with the reason.
    #[serde(default)]
    pub(super) missing_servers: Vec<(String, String)>,
}

pub(super) async fn prepare(
    services: Services,
    context: ActivityContext,
    request: AgentRequest,
) -> Result<Prepared, Failure> {
    let found = services
        .agents
        .agent(&context.tenant, &request.reference, &request.data);
    let mut agent = found.await?;
    let mut missing_servers = Vec::new();
    for server in &agent.mcp_servers {
        match mcp::list(&services, &context.tenant, server).await {
            Ok(tools) => agent.remote_tools.extend(tools),
            Err(refusal) => missing_servers.push((server.name.clone(), refusal.to_string())),
        }
    }
    let opening = std::mem::take(&mut agent.opening);
    let bytes = serde_json::to_string(&agent).map_or(usize::MAX, |json| json.len());
    if bytes > MAX_AGENT_BYTES {
        return Err(Failure::permanent(
            "AgentTooLarge",
            format!(
                "The system prompt, the schema and the tools of the agent have {bytes} bytes; {MAX_AGENT_BYTES} is the most. \
                 Shorten them."
            ),
        ));
    }
    Ok(Prepared {
        agent,
        opening,
        missing_servers,
    })
}
