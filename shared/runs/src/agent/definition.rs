//! Defines an agent: its prompts, its model, its tools and its limits.

use async_trait::async_trait;
use models::{Message, Tool};
use platform::{Result, Tenant};
use prompts::records::interactions::{McpServer, TokenLimit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::interactions::InteractionResolver;

/// Agent of one run, resolved once when the run starts, so that a later change does not affect the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Name of the interaction.
    pub name: String,
    /// Id of the interaction; its reference for a built-in agent.
    pub id: String,
    /// Version of the interaction; None for a built-in agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// System prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// First messages of the conversation.
    #[serde(skip)]
    pub opening: Vec<Message>,
    /// Replaces the configured model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Maximum number of output tokens of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// What becomes of an answer that has more.
    #[serde(skip_serializing_if = "TokenLimit::is_default")]
    pub on_token_limit: TokenLimit,
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// JSON Schema of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Names of the platform's tools; None for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that `call_https` may call, each `host` or `host:port`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// Tools of these servers, as listed when the run started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote_tools: Vec<RemoteTool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteTool {
    /// Name for the model: `<server>__<tool>`, or one with a hash.
    pub name: String,
    pub server: String,
    /// Name at the server.
    pub remote_name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
}

impl RemoteTool {
    /// Returns the tool as the model sees it.
    pub fn tool(&self) -> Tool {
        Tool {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
        }
    }
}

#[async_trait]
pub trait Agents: Send + Sync {
    /// Returns the agent that a reference names, with its prompts rendered with `data`. An error that is not
    /// transient fails the run.
    async fn agent(&self, tenant: &Tenant, reference: &str, data: &Map<String, Value>) -> Result<Agent>;
}

/// Finds the interactions of a project and the built-in ones.
#[async_trait]
impl Agents for InteractionResolver {
    async fn agent(&self, tenant: &Tenant, reference: &str, data: &Map<String, Value>) -> Result<Agent> {
        let resolved = self.resolve(tenant, reference).await?;
        let data = Value::from(data.clone());
        let rendered = self.render(&resolved, &data)?.ending_with(&data);
        Ok(Agent {
            name: resolved.name,
            id: resolved.id,
            version: (!resolved.is_system).then_some(resolved.version),
            system: rendered.system,
            opening: rendered.messages,
            model: resolved.model,
            max_output_tokens: resolved.max_output_tokens,
            on_token_limit: resolved.on_token_limit,
            temperature: resolved.temperature,
            output_schema: resolved.output_schema,
            tools: resolved.tools,
            allowed_hosts: resolved.allowed_hosts,
            mcp_servers: resolved.mcp_servers,
            remote_tools: Vec::new(),
        })
    }
}

impl Agent {
    /// Returns the parts of the agent that a tool call needs: the activity receives nothing else.
    pub(super) fn for_tool(&self, name: &str) -> Self {
        let remote = self.remote_tools.iter().find(|tool| tool.name == name);
        let server =
            remote.and_then(|tool| self.mcp_servers.iter().find(|server| server.name == tool.server));
        Self {
            name: self.name.clone(),
            tools: self.tools.clone(),
            allowed_hosts: self.allowed_hosts.clone(),
            output_schema: self.output_schema.clone(),
            mcp_servers: server.into_iter().cloned().collect(),
            remote_tools: remote.into_iter().cloned().collect(),
            ..Self::default()
        }
    }
}
