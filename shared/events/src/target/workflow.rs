//! Defines the target that starts a workflow run for each event.

use platform::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{add_type, check_size};
use crate::path::{self, MAX_PATH_CHARACTERS};
use crate::template::{self, warnings};

/// Maximum length of the name of a workflow type, in characters.
const MAX_ENDPOINT: usize = 200;

/// Maximum length of the name of a signal, in characters.
const MAX_SIGNAL_NAME: usize = 200;

/// What an event does whose workflow id has an open run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnRunning {
    /// Nothing: events with the same id start one run in all, also after its end.
    #[default]
    Ignore,
    /// The open run gets the event as a signal; without an open run, the event starts one.
    Signal,
    /// The event starts a run once those of earlier events have ended, in the order of their arrival.
    Queue,
}

/// A workflow run that is started for each event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = of_type_workflow)]
pub struct WorkflowTarget {
    /// Workflow type of the run; 1 to 200 characters.
    pub endpoint: String,
    /// Label that is copied to the run's memo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_class: Option<String>,
    /// Path into the event to the run's workflow id, such as `details.payload.order_id`: a text or an
    /// integer. Events with the same id start one run in all, unless `on_running` says otherwise. Default: an
    /// id for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub workflow_id: Option<String>,
    /// What happens where the workflow id has an open run; needs `workflow_id`. Default: `ignore`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "platform::http::strict::optional_name"
    )]
    pub on_running: Option<OnRunning>,
    /// Name of the signal, for the `on_running` `signal`. Its data is what the input of a run would be; it
    /// may come twice, with the same `delivery.id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_SIGNAL_NAME))]
    pub signal_name: Option<String>,
    /// Data that is merged into the run's input, with event templates; at most 65,536 bytes of JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    /// Values that the run's input has under `vars`; at most 65,536 bytes of JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
}

fn of_type_workflow(schema: &mut Schema) {
    add_type(schema, "workflow");
}

impl WorkflowTarget {
    pub(super) fn check(&self) -> Result<()> {
        if !(1..=MAX_ENDPOINT).contains(&self.endpoint.chars().count()) {
            return Err(Error::invalid_field(
                "target.endpoint",
                format!("names a workflow type in 1 to {MAX_ENDPOINT} characters."),
            ));
        }
        let class = self.workflow_class.as_ref();
        if class.is_some_and(|class| class.chars().count() > MAX_ENDPOINT) {
            return Err(Error::invalid_field(
                "target.workflow_class",
                format!("has at most {MAX_ENDPOINT} characters."),
            ));
        }
        if let Some(path) = &self.workflow_id {
            path::check("target.workflow_id", path)?;
        }
        self.check_on_running()?;
        check_size("target.vars", &self.vars)?;
        check_size("target.data", &self.data)?;
        template::check_fields("target.data", &self.data)
    }

    fn check_on_running(&self) -> Result<()> {
        let signals = self.on_running() == OnRunning::Signal;
        if self.on_running.is_some() && self.workflow_id.is_none() {
            return Err(Error::invalid_field(
                "target.on_running",
                "is for runs that share a workflow id; set 'target.workflow_id' too.",
            ));
        }
        match &self.signal_name {
            None if signals => Err(Error::invalid_field(
                "target.signal_name",
                "is missing; it names the signal of 'target.on_running' signal.",
            )),
            Some(_) if !signals => Err(Error::invalid_field(
                "target.signal_name",
                "is not used; set 'target.on_running' to signal, or leave it out.",
            )),
            Some(name) if !(1..=MAX_SIGNAL_NAME).contains(&name.chars().count()) => {
                Err(Error::invalid_field(
                    "target.signal_name",
                    format!("has 1 to {MAX_SIGNAL_NAME} characters."),
                ))
            }
            _ => Ok(()),
        }
    }

    pub fn on_running(&self) -> OnRunning {
        self.on_running.unwrap_or_default()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let reason =
            "a workflow's vars have no templates; its input has the event, and 'target.data' has templates";
        let vars = warnings::of_constants("target.vars", &self.vars, reason);
        let class = self.workflow_class.iter();
        let class = class.filter_map(|class| warnings::of_constant("target.workflow_class", class, reason));
        let path = self.workflow_id.iter();
        let id = path.filter_map(|path| warnings::of_path("target.workflow_id", path));
        let data = warnings::of_templates("target.data", &self.data);
        vars.into_iter().chain(class).chain(id).chain(data).collect()
    }
}
