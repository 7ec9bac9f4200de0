//! Runs conversations with agents in a project of the test's own, against a stand-in model.

use serde_json::{Value, json};

use crate::model::{ModelRequest, ModelServer, Reply};
use crate::runs::{Run, Runs};
use crate::unique;

pub struct Agents {
    pub runs: Runs,
    pub model: ModelServer,
}

impl Agents {
    /// Starts a new local service.
    pub async fn start_local() -> Self {
        Self::start_local_with(&[]).await
    }

    /// Starts a new local service with these variables in its environment as well.
    pub async fn start_local_with(more: &[(&str, &str)]) -> Self {
        let model = ModelServer::start().await;
        let variables = [&model.variables()[..], more].concat();
        let runs = Runs::start_local_with(&variables).await;
        Self { runs, model }
    }

    /// Starts a conversation with the role reader.
    pub fn begin(&self, input: &Value) -> Run {
        self.begin_as("reader", input)
    }

    /// Starts a conversation with a role.
    pub fn begin_as(&self, role: &str, input: &Value) -> Run {
        let id = unique("agent");
        self.runs
            .begin_with("AgentConversation", &id, input, &["--role", role])
            .0
    }

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

    /// Creates a prompt template. Returns its id.
    pub async fn prompt(&self, token: &str, content: &str) -> String {
        let body = json!({ "name": "P", "role": "user", "content_type": "handlebars", "content": content });
        self.runs
            .service
            .post(token, "/prompts", &body)
            .await
            .expect_status(201)
            .id()
    }

    /// Returns the messages of a conversation.
    pub async fn messages(&self, run: &Run) -> Vec<Value> {
        let answer = self
            .runs
            .get(run, "/query/Conversation")
            .await
            .expect_status(200)
            .body;
        answer["messages"].as_array().expect("there are messages").clone()
    }

    /// Returns the results of the tools, in their order.
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

/// Calls these tools in the first turn, and then ends the conversation.
pub fn calling(calls: Vec<(&'static str, Value)>) -> impl Fn(&ModelRequest) -> Reply + Send + Sync {
    move |request| match request.texts("tool").is_empty() {
        true => Reply::Calls(calls.clone()),
        false => Reply::Text("Done.".to_owned()),
    }
}

/// Returns the input of the system's agent with a task.
pub fn task(text: &str) -> Value {
    json!({ "data": { "task": text } })
}
