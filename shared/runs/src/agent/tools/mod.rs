//! Defines the tools of agents, one file per tool.

pub mod ask_user;
pub mod call_https;
mod describe;
pub mod finish;
pub mod list_runs;
pub mod mcp;
pub mod post_update;
pub mod query_data_store;
pub mod read_prompt;
pub mod read_run;

use models::Tool;
use prompts::records::interactions::McpServer;

use super::definition::{Agent, RemoteTool};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    AskUser,
    CallHttps,
    Finish,
    ListRuns,
    PostUpdate,
    QueryDataStore,
    ReadPrompt,
    ReadRun,
}

impl BuiltIn {
    pub const ALL: [Self; 8] = [
        Self::AskUser,
        Self::CallHttps,
        Self::Finish,
        Self::ListRuns,
        Self::PostUpdate,
        Self::QueryDataStore,
        Self::ReadPrompt,
        Self::ReadRun,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::AskUser => ask_user::NAME,
            Self::CallHttps => call_https::NAME,
            Self::Finish => finish::NAME,
            Self::ListRuns => list_runs::NAME,
            Self::PostUpdate => post_update::NAME,
            Self::QueryDataStore => query_data_store::NAME,
            Self::ReadPrompt => read_prompt::NAME,
            Self::ReadRun => read_run::NAME,
        }
    }

    /// Returns whether a lost attempt may be repeated: true for tools that only read.
    pub const fn is_repeatable(self) -> bool {
        !matches!(self, Self::CallHttps)
    }

    fn is_of(self, agent: &Agent) -> bool {
        let is_listed = agent
            .tools
            .as_ref()
            .is_none_or(|tools| tools.iter().any(|name| name == self.name()));
        match self {
            Self::CallHttps => is_listed && !agent.allowed_hosts.is_empty(),
            Self::Finish => is_listed || agent.output_schema.is_some(),
            _ => is_listed,
        }
    }

    fn tool(self, agent: &Agent) -> Tool {
        match self {
            Self::AskUser => ask_user::tool(),
            Self::CallHttps => call_https::tool(&agent.allowed_hosts),
            Self::Finish => finish::tool(agent.output_schema.as_ref()),
            Self::ListRuns => list_runs::tool(),
            Self::PostUpdate => post_update::tool(),
            Self::QueryDataStore => query_data_store::tool(),
            Self::ReadPrompt => read_prompt::tool(),
            Self::ReadRun => read_run::tool(),
        }
    }
}

pub enum Found<'a> {
    BuiltIn(BuiltIn),
    Remote(&'a RemoteTool, &'a McpServer),
}

/// Finds a tool by name among the tools of the agent.
pub fn find<'a>(agent: &'a Agent, name: &str) -> Option<Found<'a>> {
    let built_in = BuiltIn::ALL.into_iter().find(|tool| tool.name() == name);
    if let Some(tool) = built_in {
        return tool.is_of(agent).then_some(Found::BuiltIn(tool));
    }
    let remote = agent.remote_tools.iter().find(|tool| tool.name == name)?;
    let server = agent
        .mcp_servers
        .iter()
        .find(|server| server.name == remote.server)?;
    Some(Found::Remote(remote, server))
}

/// Returns the tools of an agent as the model sees them.
pub fn offered(agent: &Agent) -> Vec<Tool> {
    let built_in = BuiltIn::ALL.into_iter().filter(|tool| tool.is_of(agent));
    let remote = agent.remote_tools.iter().map(RemoteTool::tool);
    built_in.map(|tool| tool.tool(agent)).chain(remote).collect()
}

/// Returns the message for the model about an unknown tool.
pub fn unknown(name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    format!("There is no tool '{name}'. Use the tools that you were given.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_has_the_tools_that_it_lists_and_no_others() {
        let names = |agent: &Agent| {
            offered(agent)
                .into_iter()
                .map(|tool| tool.name)
                .collect::<Vec<_>>()
        };
        let all = names(&Agent::default());
        assert_eq!(all.len(), 7, "call_https needs a host: {all:?}");
        let listed = |tools: &[&str]| Agent {
            tools: Some(tools.iter().map(|name| (*name).to_owned()).collect()),
            ..Agent::default()
        };
        assert_eq!(names(&listed(&[])), [""; 0]);
        assert_eq!(
            names(&listed(&["read_prompt", "call_https", "drop_table"])),
            ["read_prompt"]
        );
        assert!(find(&listed(&["read_prompt"]), "list_runs").is_none());
        let with_host = Agent {
            allowed_hosts: vec!["api.example.com".to_owned()],
            ..listed(&["call_https"])
        };
        assert_eq!(names(&with_host), ["call_https"]);
        let with_schema = Agent {
            output_schema: Some(json!({ "type": "object" })),
            ..listed(&[])
        };
        assert_eq!(names(&with_schema), ["finish"]);
    }

    #[test]
    fn each_tool_describes_its_arguments() {
        let agent = Agent {
            allowed_hosts: vec!["api.example.com".to_owned()],
            ..Agent::default()
        };
        for tool in offered(&agent) {
            assert!(tool.description.len() > 20, "{tool:?}");
            jsonschema::validator_for(&tool.input_schema).unwrap();
        }
    }
}
