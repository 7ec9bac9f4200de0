//! Defines the targets of subscriptions, one module per type.

mod agent;
mod fields;
mod process;
mod retry;
mod webhook;
mod workflow;

use std::borrow::Cow;

use platform::http::parse_part;
use platform::outbound::Outbound;
use platform::{Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::template::{event_paths, warnings};

pub use self::process::{MAX_DEFINITION_BYTES, PROCESS_TYPE, ProcessTarget, RunType};
pub use agent::{AGENT_TYPE, AgentTarget, MAX_ITERATIONS};
pub use fields::MAX_DATA_BYTES;
pub use retry::{RETRY_SCHEDULE_MS, Retry, StatusRule};
pub use webhook::{
    ALLOWED_HEADERS, DEFAULT_TIMEOUT_MS, PayloadMode, SigningMode, WEBHOOK, WebhookTarget, of_type_webhook,
};
pub use workflow::{OnRunning, WorkflowTarget};

const TYPES: &str = "webhook, workflow, agent and process";
/// Names of the types of targets.
pub const TARGET_TYPES: [&str; 4] = [WEBHOOK, "workflow", "agent", "process"];

/// Receiver of the events of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Target {
    /// Posted to a URL.
    Webhook(WebhookTarget),
    /// Handed to a run that is started for them.
    Workflow(WorkflowTarget),
    Agent(AgentTarget),
    /// Handed to a process.
    Process(ProcessTarget),
}

/// Implemented by hand, because the derived schema repeats each target inline, without a name for generated
/// code.
impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Receiver of the events of a subscription.",
            "oneOf": [
                generator.subschema_for::<WebhookTarget>(),
                generator.subschema_for::<WorkflowTarget>(),
                generator.subschema_for::<AgentTarget>(),
                generator.subschema_for::<ProcessTarget>(),
            ],
        })
    }
}

impl Target {
    /// Parses the field `target` of a body. Fails with 400 and the fault.
    pub fn parse(mut fields: Map<String, Value>) -> Result<Self> {
        let Some(Value::String(kind)) = fields.remove("type") else {
            return Err(Error::invalid_field(
                "target.type",
                format!(
                    "must say what kind of target it is: {}.",
                    TYPES.replace(" and ", " or ")
                ),
            ));
        };
        let fields = Value::Object(fields);
        match kind.as_str() {
            WEBHOOK => parse_part("target", fields).map(Self::Webhook),
            "workflow" => parse_part("target", fields).map(Self::Workflow),
            "agent" => parse_part("target", fields).map(Self::Agent),
            "process" => parse_part("target", fields).map(Self::Process),
            other => Err(Error::invalid_field(
                "target.type",
                format!("names '{other}'; there are {TYPES}."),
            )),
        }
    }

    /// Returns the type as in `target.type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Webhook(_) => WEBHOOK,
            Self::Workflow(_) => "workflow",
            Self::Agent(_) => "agent",
            Self::Process(_) => "process",
        }
    }

    /// True if deliveries are signed.
    pub fn is_signed(&self) -> bool {
        matches!(self, Self::Webhook(webhook) if webhook.is_signed())
    }

    /// Returns the workflow type that it starts; None for a webhook.
    pub fn endpoint(&self) -> Option<&str> {
        match self {
            Self::Webhook(_) => None,
            Self::Workflow(workflow) => Some(&workflow.endpoint),
            Self::Agent(_) => Some(AGENT_TYPE),
            Self::Process(_) => Some(PROCESS_TYPE),
        }
    }

    /// Fails with 400 for a target that breaks a rule of its type.
    pub async fn check(&self, outbound: &Outbound) -> Result<()> {
        match self {
            Self::Webhook(webhook) => webhook.check(outbound).await,
            Self::Workflow(workflow) => workflow.check(),
            Self::Agent(agent) => agent.check(),
            Self::Process(process) => process.check(),
        }
    }

    /// Fails with 400 for a target whose workflow type is not one of `names`.
    pub fn check_endpoint(&self, names: &[String]) -> Result<()> {
        let is_there = |wanted: &str| names.iter().any(|name| name == wanted);
        let Some(endpoint) = self.endpoint() else {
            return Ok(());
        };
        let is_own = [AGENT_TYPE, PROCESS_TYPE].contains(&endpoint);
        match self {
            Self::Agent(_) | Self::Process(_) if !is_there(endpoint) => {
                let kinds = [("agent", AGENT_TYPE), ("process", PROCESS_TYPE)];
                let kinds = kinds.iter().filter(|(_, own)| is_there(own));
                let kinds: String = kinds.map(|(kind, _)| format!(" and {kind}")).collect();
                Err(Error::invalid(format!(
                    "This installation delivers to targets of the types webhook and workflow{kinds}, and not to '{}'.",
                    self.kind()
                )))
            }
            Self::Workflow(_) if is_own && is_there(endpoint) => Err(Error::invalid_field(
                "target.endpoint",
                format!(
                    "names the workflow type '{endpoint}', which targets of another type start; set \
                 'target.type' to agent or process."
                ),
            )),
            Self::Workflow(_) if !is_there(endpoint) => Err(Error::invalid_field(
                "target.endpoint",
                format!(
                    "names the workflow type '{endpoint}', which does not exist; there are {}.",
                    names
                        .iter()
                        .filter(|name| ![AGENT_TYPE, PROCESS_TYPE].contains(&name.as_str()))
                        .cloned()
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Returns advice about an accepted target that the caller should change.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Webhook(webhook) => webhook.warnings(),
            Self::Workflow(workflow) => workflow.warnings(),
            Self::Agent(agent) => {
                let data = warnings::of_templates("target.data", &agent.data);
                data.into_iter().chain(self.id_warning()).collect()
            }
            Self::Process(process) => {
                let definition = process.definition.iter();
                let texts = definition
                    .flat_map(|definition| warnings::of_definition("target.definition", definition));
                let data = warnings::of_templates("target.data", &process.data);
                data.into_iter().chain(texts).chain(self.id_warning()).collect()
            }
        }
    }

    fn id_warning(&self) -> Option<String> {
        warnings::of_path("target.workflow_id", self.workflow_id_path()?)
    }

    /// Returns the paths into an event that a delivery cannot do without.
    pub fn event_paths(&self) -> Vec<String> {
        let (template, data) = match self {
            Self::Webhook(webhook) => (webhook.template.as_ref(), None),
            Self::Workflow(workflow) => (None, Some(&workflow.data)),
            Self::Agent(agent) => (None, Some(&agent.data)),
            Self::Process(process) => (None, Some(&process.data)),
        };
        let of_data = data.into_iter().flat_map(|data| data.values());
        let templates = template.into_iter().chain(of_data);
        let paths = templates.flat_map(event_paths).chain(self.workflow_id_path());
        paths.map(str::to_owned).collect()
    }

    /// Returns the path to the workflow id in an event; None where each event has its own run.
    pub fn workflow_id_path(&self) -> Option<&str> {
        match self {
            Self::Webhook(_) => None,
            Self::Workflow(workflow) => workflow.workflow_id.as_deref(),
            Self::Agent(agent) => agent.workflow_id.as_deref(),
            Self::Process(process) => process.workflow_id.as_deref(),
        }
    }

    /// Returns what an event does whose workflow id has an open run.
    pub fn on_running(&self) -> OnRunning {
        match self {
            Self::Workflow(workflow) => workflow.on_running(),
            Self::Webhook(_) | Self::Agent(_) | Self::Process(_) => OnRunning::Ignore,
        }
    }
}
