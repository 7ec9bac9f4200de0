//! What an agent is: its prompts, its model, what it may use.

use std::sync::Arc;

use models::Message;
use platform::config::Secret;
use platform::queue::BoxFuture;
use platform::records::interactions::McpServer;
use platform::records::process_secrets::ProcessSecrets;
use platform::sealing::Sealer;
use platform::{Result, Tenant};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tools::mcp::RemoteTool;
use crate::interactions::Interactions;

/// An agent as a run has it: resolved once, at the run's beginning, so that a later change does not touch the
/// run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// Name of the interaction.
    pub name: String,
    /// Id of the interaction; the reference of an agent of the system.
    pub id: String,
    /// Version of the interaction; None for an agent of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Instructions before the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What the conversation begins with.
    #[serde(skip)]
    pub opening: Vec<Message>,
    /// Instead of the configured model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Most tokens of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// JSON Schema of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Names of the platform's tools; None for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that `call_https` may ask, each `host` or `host:port`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    /// Servers whose tools it may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// The tools of these servers, as they were at the run's beginning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote_tools: Vec<RemoteTool>,
}

/// Finds agents.
pub trait Agents: Send + Sync {
    /// The agent that a reference names, with its prompts rendered with `data`. An error that is not
    /// transient fails the run.
    fn agent<'a>(
        &'a self,
        tenant: &'a Tenant,
        reference: &'a str,
        data: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Agent>>;
}

/// Opens secrets by name.
pub trait Secrets: Send + Sync {
    /// The secret of a project; None where there is none.
    fn open<'a>(&'a self, tenant: &'a Tenant, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>>>;
}

/// The secrets that the operator sets with `ops process secret set`.
pub struct SealedSecrets {
    /// The records.
    pub secrets: ProcessSecrets,
    /// Opens them.
    pub sealer: Arc<dyn Sealer>,
}

impl Secrets for SealedSecrets {
    fn open<'a>(&'a self, tenant: &'a Tenant, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>>> {
        Box::pin(self.secrets.open(self.sealer.as_ref(), tenant, name))
    }
}

/// The interactions of a project and those that are built in.
impl Agents for Interactions {
    fn agent<'a>(
        &'a self,
        tenant: &'a Tenant,
        reference: &'a str,
        data: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Agent>> {
        Box::pin(async move {
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
                temperature: resolved.temperature,
                output_schema: resolved.output_schema,
                tools: resolved.tools,
                allowed_hosts: resolved.allowed_hosts,
                mcp_servers: resolved.mcp_servers,
                remote_tools: Vec::new(),
            })
        })
    }
}

impl Agent {
    /// What of the agent decides about a call of a tool: an activity is given no more.
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
