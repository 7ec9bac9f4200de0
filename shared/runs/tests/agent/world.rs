//! Runs a conversation in memory: the model's answers are scripted, and everything else is the code of the
//! service.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use models::{
    Answer, Content, Message, Model, ModelError, ModelErrorKind, Request, Sink, StopReason, ToolCall, Usage,
};
use platform::config::{AwsEnvironment, Secret};
use platform::outbound::Outbound;
use platform::{Result, Tenant};
use process::expression::Evaluator;
use runs::agent::{self, Agent, Agents, Services};
use runs::records::process_secrets::Holder;
use runs::secrets::{OpenSecret, Secrets, Withheld};
use serde_json::{Map, Value, json};
use workflow::Registry;
use workflow::testing::TestRun;

/// Next step of the model.
pub type Step = std::result::Result<Answer, ModelErrorKind>;

/// Model that gives these answers in turn, and then repeats the last one.
pub struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(steps.into_iter().collect()),
            asked: Mutex::default(),
        })
    }

    /// Returns the requests that the model received.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the tool results in the last message of a request.
    pub fn results(&self, request: usize) -> Vec<(String, bool)> {
        let asked = self.asked();
        let Some(Message::Tool { results }) = asked[request].messages.last() else {
            panic!("no results of tools in request {request}");
        };
        results
            .iter()
            .map(|result| (result.text.clone(), result.failed))
            .collect()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn converse(
        &self,
        request: &Request,
        sink: Option<&mut dyn Sink>,
    ) -> std::result::Result<Answer, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let mut steps = self.steps.lock().unwrap();
        let step = if steps.len() > 1 {
            steps.pop_front()
        } else {
            steps.front().cloned()
        };
        let answer = step.expect("the script has an answer");
        let answer = answer.map_err(|kind| ModelError::new(kind, "The model failed."))?;
        if let Some(sink) = sink
            && !answer.text().is_empty()
        {
            sink.text(&answer.text());
        }
        Ok(answer)
    }
}

/// Returns the same agent for every reference except `missing`.
struct Fixed(Agent);

#[async_trait]
impl Agents for Fixed {
    async fn agent(&self, _: &Tenant, reference: &str, _: &Map<String, Value>) -> Result<Agent> {
        match reference {
            "missing" => Err(platform::Error::not_found("interaction", reference)),
            _ => Ok(self.0.clone()),
        }
    }
}

/// The secret `docs-key`, for the hosts of the agent's servers but for `elsewhere.example`.
struct OneSecret {
    hosts: Vec<String>,
}

#[async_trait]
impl Secrets for OneSecret {
    async fn open(
        &self,
        _: &Tenant,
        name: &str,
        holder: Holder<'_>,
    ) -> Result<std::result::Result<OpenSecret, Withheld>> {
        let is_for = holder == Holder::McpServer("docs") && name == "docs-key";
        let secret = is_for.then(|| OpenSecret {
            json: Secret::new(r#"{ "authorization": "Bearer hunter2-key" }"#),
            hosts: self.hosts.clone(),
        });
        Ok(secret.ok_or_else(|| Withheld(format!("The secret '{name}' does not exist."))))
    }
}

pub fn says(text: &str) -> Answer {
    Answer {
        content: vec![Content::of_text(text)],
        output: None,
        stop: StopReason::End,
        usage: Usage {
            input_tokens: 10,
            output_tokens: 5,
            cached_tokens: None,
        },
        model: "scripted".to_owned(),
    }
}

/// Builds a turn with tool calls.
pub fn calls(calls: &[(&str, Value)]) -> Answer {
    let content = calls.iter().enumerate().map(|(place, (name, arguments))| {
        Content::ToolCall(ToolCall {
            id: format!("call_{place}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        })
    });
    Answer {
        content: content.collect(),
        stop: StopReason::ToolUse,
        ..says("")
    }
}

pub fn agent() -> Agent {
    Agent {
        name: "Helper".to_owned(),
        opening: vec![Message::user("Work.")],
        ..Agent::default()
    }
}

/// Builds an agent whose result has a number `total`.
pub fn with_schema() -> Agent {
    Agent {
        output_schema: Some(json!({
            "type": "object", "properties": { "total": { "type": "number" } }, "required": ["total"],
        })),
        ..agent()
    }
}

pub fn registry(model: &Arc<Scripted>, agent: Agent) -> Registry {
    let urls = agent.mcp_servers.iter().map(|server| server.url.as_str());
    let hosts = urls
        .filter_map(|url| url.split('/').nth(2))
        .filter(|host| *host != "elsewhere.example");
    let secrets = OneSecret {
        hosts: hosts.map(str::to_owned).collect(),
    };
    let services = Services {
        evaluator: Evaluator::in_process(),
        model: model.clone(),
        agents: Arc::new(Fixed(agent)),
        outbound: Outbound::local(&AwsEnvironment::default()).unwrap(),
        secrets: Arc::new(secrets),
        usage: None,
    };
    agent::with_activities(agent::add(Registry::new()), &services)
}

pub fn conversation(model: &Arc<Scripted>, agent: Agent, input: &Value) -> TestRun {
    TestRun::new(&registry(model, agent), "AgentConversation", input)
}
