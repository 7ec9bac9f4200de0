//! Holds a version of an interaction with everything that it refers to.

use prompts::records::interactions::{McpServer, TokenLimit};
use prompts::records::prompts::ContentType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An interaction before its prompts are rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// Id of the interaction; its reference where it is built in.
    pub id: String,
    /// Name of the interaction; its reference where it is built in.
    pub name: String,
    /// From 1.
    pub version: u64,
    pub is_system: bool,
    /// Description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In the order of the conversation.
    pub messages: Vec<MessageTemplate>,
    /// Replaces the configured model; of the same provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Maximum number of output tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "TokenLimit::is_default")]
    pub on_token_limit: TokenLimit,
    /// 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Names of the tools that an agent may call; None for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that the agent's tool `call_https` may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
}

/// A message before it is rendered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageTemplate {
    pub role: Role,
    pub content_type: ContentType,
    /// Template in the language of `content_type`.
    pub content: String,
    /// Id and version of the prompt template; None where it is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<(String, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions before the conversation.
    System,
    User,
    Assistant,
}

impl Role {
    /// Maps the role of a prompt template to one of the three roles that models know; a template may have any
    /// role name.
    pub fn named(role: &str) -> Self {
        match role.trim().to_ascii_lowercase().as_str() {
            "system" | "safety" => Self::System,
            "assistant" => Self::Assistant,
            _ => Self::User,
        }
    }
}
