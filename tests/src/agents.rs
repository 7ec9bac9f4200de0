//! Conversations with agents in a project of their own, and the model that they ask.

use serde_json::{Value, json};

use crate::model::{Asked, ModelServer, Said};
use crate::runs::{Run, Runs};
use crate::unique;

/// A service with a model, and the runs of a project in it.
pub struct Agents {
    /// The service and the runs.
    pub runs: Runs,
    /// The model.
    pub model: ModelServer,
}

impl Agents {
    /// In a new local service. None where [`Runs::start_local`] skips.
    pub async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// The same with further variables in the environment of the service.
    pub async fn start_with(more: &[(&str, &str)]) -> Option<Self> {
        let model = ModelServer::start().await;
        let variables = [&model.variables()[..], more].concat();
        let runs = Runs::start_local_with(&variables).await?;
        Some(Self { runs, model })
    }

    /// A conversation with the role reader.
    pub fn begin(&self, input: &Value) -> Run {
        self.begin_as("reader", input)
    }

    /// A conversation with a role.
    pub fn begin_as(&self, role: &str, input: &Value) -> Run {
        let id = unique("agent");
        self.runs
            .begin_with("AgentConversation", &id, input, &["--role", role])
            .0
    }

    /// Loads an interaction with one version.
    pub fn load(&self, name: &str, version: &Value) {
        let mut version = version.clone();
        version["version"] = 1.into();
        let file = self.runs.service.folder().join("interactions.json");
        let interactions = json!([{ "id": format!("int-{name}"), "name": name, "versions": [version] }]);
        std::fs::write(&file, interactions.to_string()).expect("the file is written");
        let loaded = self
            .runs
            .scope
            .ops(&["interaction", "load", file.to_str().expect("a path in UTF-8")]);
        loaded.expect_success();
    }

    /// The id of a new prompt template.
    pub async fn prompt(&self, token: &str, content: &str) -> String {
        let body = json!({ "name": "P", "role": "user", "content_type": "handlebars", "content": content });
        self.runs
            .service
            .post(token, "/prompts", &body)
            .await
            .expect_status(201)
            .id()
    }

    /// The messages of a conversation.
    pub async fn messages(&self, run: &Run) -> Vec<Value> {
        let answer = self
            .runs
            .get(run, "/query/Conversation")
            .await
            .expect_status(200)
            .body;
        answer["messages"].as_array().expect("there are messages").clone()
    }

    /// The results of the tools, in their order.
    pub async fn results(&self, run: &Run) -> Vec<Value> {
        let messages = self.messages(run).await;
        let of_tools = messages.iter().filter(|message| message["role"] == "tool");
        of_tools
            .flat_map(|message| {
                message["results"]
                    .as_array()
                    .expect("a tool gives results")
                    .clone()
            })
            .collect()
    }
}

/// Calls these tools in the first turn, and then ends.
pub fn calling(calls: Vec<(&'static str, Value)>) -> impl Fn(&Asked) -> Said + Send + Sync {
    move |asked| match asked.texts("tool").is_empty() {
        true => Said::Calls(calls.clone()),
        false => Said::Text("Done.".to_owned()),
    }
}

/// The input of the agent of the system with a task.
pub fn task(text: &str) -> Value {
    json!({ "data": { "task": text } })
}
