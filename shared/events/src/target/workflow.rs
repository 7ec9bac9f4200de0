//! Defines the target that starts a workflow run for each event.

use platform::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{add_type, check_size};
use crate::path::{self, MAX_PATH_CHARACTERS};
use crate::template::warnings;

/// Maximum length of the name of a workflow type, in characters.
const MAX_ENDPOINT: usize = 200;

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
    /// integer. Events with the same id start one run in all. Default: an id for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub workflow_id: Option<String>,
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
        check_size("target.vars", &self.vars)
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let reason = "a workflow's vars have no templates, and its input has the event";
        let vars = warnings::of_constants("target.vars", &self.vars, reason);
        let class = self.workflow_class.iter();
        let class = class.filter_map(|class| warnings::of_constant("target.workflow_class", class, reason));
        let path = self.workflow_id.iter();
        let id = path.filter_map(|path| warnings::of_path("target.workflow_id", path));
        vars.into_iter().chain(class).chain(id).collect()
    }
}
