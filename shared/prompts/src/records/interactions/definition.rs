//! Defines the parts of an interaction, as in the operator's file.

use std::fmt;

use platform::error::{Error, Result};
use platform::http::text::{check_name, check_resource_id};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 10_000;
/// Maximum length of a model's name, a URL, a role or a secret's name, in characters.
const MAX_TEXT: usize = 2_048;
/// Maximum number of tools, and of MCP servers, of a version.
const MAX_ENTRIES: usize = 50;
/// Maximum length of a tool's name, in characters; the limit of the models' wire formats.
const MAX_TOOL_NAME: usize = 64;
/// Maximum length of a host with its port, in bytes.
const MAX_HOST: usize = 260;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interaction {
    /// Unique in the project.
    pub id: String,
    /// Target of `app:<name>`. Need not be unique.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The version with the highest number is used.
    pub versions: Vec<InteractionVersion>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InteractionVersion {
    /// From 1.
    pub version: u64,
    /// Prompt templates, in the order of the conversation.
    pub prompts: Vec<PromptUse>,
    /// For people, and for models that choose between interactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Model of the service's provider, in place of the service's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// JSON Schema of the answer, with `"type": "object"` at its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Maximum number of tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// What becomes of an agent's answer that has more tokens.
    #[serde(default, skip_serializing_if = "TokenLimit::is_default")]
    pub on_token_limit: TokenLimit,
    /// 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Tools that an agent may call; None allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Hosts that an agent's tool `call_https` may request, each `host` or `host:port`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    /// Servers whose tools an agent may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
}

/// What becomes of an agent's answer that the limit of tokens cuts off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimit {
    /// The answer is the result, with a mark.
    #[default]
    Mark,
    /// The model is asked to continue, a few times.
    Continue,
    /// The run fails.
    Fail,
}

impl TokenLimit {
    /// Returns whether it is the default, which is not written.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A template that an interaction uses. In a file, a plain id means its published version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptUse {
    pub id: String,
    /// None for the published version; the newest where none is published.
    pub version: Option<u64>,
    /// Replaces the template's role.
    pub role: Option<String>,
}

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Unique in the version; prefix of the names of the server's tools.
    pub name: String,
    /// URL of the streamable HTTP endpoint.
    pub url: String,
    /// Name of the secret with the request headers, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers_secret: Option<String>,
}

/// Form of a [`PromptUse`] with more than an id.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptFields {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
}

impl PromptUse {
    /// Uses the published version of a template, with the template's role.
    pub fn published(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: None,
            role: None,
        }
    }
}

impl Serialize for PromptUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.version.is_none() && self.role.is_none() {
            return self.id.serialize(serializer);
        }
        PromptFields {
            id: self.id.clone(),
            version: self.version,
            role: self.role.clone(),
        }
        .serialize(serializer)
    }
}

/// Written by hand, because an untagged enum would not name the fault.
impl<'de> Deserialize<'de> for PromptUse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = PromptUse;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a prompt template, or an object with `id`, `version` and `role`")
            }

            fn visit_str<E: serde::de::Error>(self, id: &str) -> std::result::Result<PromptUse, E> {
                Ok(PromptUse::published(id))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<PromptUse, A::Error> {
                let fields = PromptFields::deserialize(MapAccessDeserializer::new(map))?;
                if fields.version == Some(0) {
                    return Err(A::Error::custom("`version` is from 1"));
                }
                Ok(PromptUse {
                    id: fields.id,
                    version: fields.version,
                    role: fields.role,
                })
            }
        }

        deserializer.deserialize_any(Form)
    }
}

impl Interaction {
    /// Returns the used version: the one with the highest number.
    pub fn latest(&self) -> Option<&InteractionVersion> {
        self.versions.iter().max_by_key(|version| version.version)
    }

    /// 400 that names the invalid field.
    pub fn check(&self) -> Result<()> {
        check_resource_id("id", &self.id)?;
        if self.id.starts_with("app:") || self.id.starts_with("sys:") {
            return Err(Error::invalid_field(
                "id",
                format!("is '{}'; an id does not begin with 'app:' or 'sys:'.", self.id),
            ));
        }
        check_name("name", &self.name)?;
        check_filled("description", self.description.as_deref(), MAX_DESCRIPTION)?;
        for (index, version) in self.versions.iter().enumerate() {
            version.check(&format!("versions[{index}]"))?;
        }
        Ok(())
    }
}

impl InteractionVersion {
    fn check(&self, at: &str) -> Result<()> {
        let invalid = |what: &str| Err(Error::invalid(format!("The field '{at}.{what}.")));
        for (place, prompt) in self.prompts.iter().enumerate() {
            check_resource_id(&format!("{at}.prompts[{place}]"), &prompt.id)?;
            check_filled(
                &format!("{at}.prompts[{place}].role"),
                prompt.role.as_deref(),
                MAX_TEXT,
            )?;
        }
        check_filled(
            &format!("{at}.description"),
            self.description.as_deref(),
            MAX_DESCRIPTION,
        )?;
        check_filled(&format!("{at}.model"), self.model.as_deref(), MAX_TEXT)?;
        if self.max_output_tokens == Some(0) {
            return invalid("max_output_tokens' is 0; an answer has at least one token");
        }
        if self
            .temperature
            .is_some_and(|temperature| !(0.0..=2.0).contains(&temperature))
        {
            return invalid("temperature' is not from 0 to 2");
        }
        let is_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
        if self
            .output_schema
            .as_ref()
            .is_some_and(|schema| !is_object(schema))
        {
            return invalid("output_schema' must be a JSON Schema with \"type\": \"object\" at its root");
        }
        let tools = self.tools.iter().flatten();
        if self.tools.as_ref().is_some_and(|tools| tools.len() > MAX_ENTRIES)
            || !tools.map(String::as_str).all(is_tool_name)
        {
            return invalid(
                "tools' has at most 50 names, each of 1 to 64 letters, digits, hyphens or underscores",
            );
        }
        if self.allowed_hosts.len() > MAX_ENTRIES || !self.allowed_hosts.iter().all(|host| is_host(host)) {
            return invalid(
                "allowed_hosts' has at most 50 entries, each a host or 'host:port', such as api.example.com",
            );
        }
        if self.mcp_servers.len() > MAX_ENTRIES {
            return invalid("mcp_servers' has at most 50 entries");
        }
        for (place, server) in self.mcp_servers.iter().enumerate() {
            let before = self.mcp_servers.iter().take(place);
            if !is_tool_name(&server.name) || before.clone().any(|other| other.name == server.name) {
                return invalid(&format!(
                    "mcp_servers[{place}].name' must be 1 to 64 letters, digits, hyphens or underscores, and the name of one server"
                ));
            }
            let at = format!("{at}.mcp_servers[{place}]");
            check_filled(&format!("{at}.url"), Some(&server.url), MAX_TEXT)?;
            check_filled(
                &format!("{at}.headers_secret"),
                server.headers_secret.as_deref(),
                MAX_TEXT,
            )?;
        }
        Ok(())
    }
}

/// Checks an optional text: unlike descriptions in the API, one that is given is not blank.
fn check_filled(field: &str, text: Option<&str>, most: usize) -> Result<()> {
    match text.is_some_and(|text| text.trim().is_empty() || text.chars().count() > most) {
        true => Err(Error::invalid_field(
            field,
            format!("has 1 to {most} characters."),
        )),
        false => Ok(()),
    }
}

/// Whether a text can be the host of a URL, with or without a port.
pub fn is_host(text: &str) -> bool {
    let bytes = text.bytes();
    (1..=MAX_HOST).contains(&text.len())
        && bytes
            .into_iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
}

pub fn is_tool_name(name: &str) -> bool {
    (1..=MAX_TOOL_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> std::result::Result<Interaction, String> {
        let read: Interaction = serde_json::from_value(value).map_err(|error| error.to_string())?;
        read.check().map_err(|error| error.message().to_owned())?;
        Ok(read)
    }

    fn with(version: Value) -> Value {
        json!({ "id": "i", "name": "n", "versions": [version] })
    }

    #[test]
    fn a_file_of_an_older_release_is_read_and_written_as_it_was() {
        let old = json!({
            "id": "i", "name": "n",
            "versions": [{ "version": 2, "prompts": ["p", "q"] }, { "version": 1, "prompts": [] }],
        });
        let read = read(old.clone()).unwrap();
        assert_eq!(read.latest().unwrap().version, 2);
        assert_eq!(read.versions[0].prompts[1], PromptUse::published("q"));
        assert_eq!(serde_json::to_value(&read).unwrap(), old);
    }

    #[test]
    fn everything_is_read_and_written() {
        let whole = with(json!({
            "version": 1,
            "prompts": [{ "id": "p", "version": 3 }, { "id": "q", "role": "safety" }],
            "description": "d", "model": "m", "output_schema": { "type": "object" }, "max_output_tokens": 7,
            "on_token_limit": "continue", "temperature": 0.5, "tools": ["finish"],
            "allowed_hosts": ["api.example.com", "api.example.com:8443"],
            "mcp_servers": [{ "name": "docs", "url": "https://example.com/mcp", "headers_secret": "docs-key" }],
        }));
        assert_eq!(serde_json::to_value(read(whole.clone()).unwrap()).unwrap(), whole);
    }

    #[test]
    fn each_fault_is_named() {
        let version = |field: &str, value: Value| {
            let mut version = json!({ "version": 1, "prompts": [] });
            version[field] = value;
            with(version)
        };
        let server = |name: &str| json!({ "name": name, "url": "https://example.com" });
        for (file, named) in [
            (
                json!({ "id": "sys:x", "name": "n", "versions": [] }),
                "'app:' or 'sys:'",
            ),
            (version("prompts", json!([7])), "the id of a prompt template"),
            (
                version("prompts", json!([{ "id": "p", "rol": "x" }])),
                "unknown field `rol`",
            ),
            (version("prompts", json!([{ "id": "p", "version": 0 }])), "from 1"),
            (
                version("prompts", json!([{ "id": "a#b" }])),
                "versions[0].prompts[0]",
            ),
            (version("model", json!(" ")), "versions[0].model"),
            (version("temperature", json!(3)), "versions[0].temperature"),
            (
                version("max_output_tokens", json!(0)),
                "versions[0].max_output_tokens",
            ),
            (
                version("output_schema", json!({ "type": "array" })),
                "versions[0].output_schema",
            ),
            (version("tools", json!(["a b"])), "versions[0].tools"),
            (
                version("allowed_hosts", json!(["https://example.com"])),
                "versions[0].allowed_hosts",
            ),
            (version("allowed_hosts", json!([""])), "versions[0].allowed_hosts"),
            (
                version("mcp_servers", json!([server("a"), server("a")])),
                "mcp_servers[1].name",
            ),
        ] {
            let refusal = read(file).unwrap_err();
            assert!(refusal.contains(named), "{refusal}");
        }
    }
}
