//! A version of an interaction with everything that it refers to.

use platform::records::interactions::McpServer;
use platform::records::prompts::ContentType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model is asked with, before data is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// Id of the interaction; its reference where it is built in.
    pub id: String,
    /// Its name; the reference where it is built in.
    pub name: String,
    /// From 1.
    pub version: u64,
    /// Whether it is built in.
    pub is_system: bool,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In the order of the conversation.
    pub messages: Vec<MessageTemplate>,
    /// Instead of the model of the service, of the same provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Names of the tools that an agent may call; None for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that the tool `call_https` of an agent may ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    /// Servers whose tools an agent may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
}

/// A message before data is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageTemplate {
    /// Role in the conversation with the model.
    pub role: Role,
    /// Language of the content.
    pub content_type: ContentType,
    /// A template of that language.
    pub content: String,
    /// Id and version of the prompt template; None where it is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<(String, u64)>,
}

/// Role of a message in a conversation with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions before the conversation.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role that a prompt template's own one stands for. Models know three; a template may have any name.
    pub fn named(role: &str) -> Self {
        match role.trim().to_ascii_lowercase().as_str() {
            "system" | "safety" => Self::System,
            "assistant" => Self::Assistant,
            _ => Self::User,
        }
    }
}
