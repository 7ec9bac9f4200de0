//! Defines the target that starts a process for each event.

use platform::error::Fault;
use platform::{Error, Result, Tenant, low_priority};
use process::records::processes::{ProcessRef, Processes};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fields::{add_type, check_size};
use crate::path::{self, MAX_PATH_CHARACTERS};
use crate::template;

/// Workflow type of processes' runs.
pub const PROCESS_TYPE: &str = "Process";
/// Maximum size of a definition in a subscription, in bytes of JSON.
pub const MAX_DEFINITION_BYTES: usize = 65_536;

/// Who decides about the tasks of a process that act outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunType {
    /// The process runs by itself.
    #[default]
    Programmatic,
    /// The process waits for the signal `Approve` before each task that acts outside.
    Supervised,
}

/// A process that is started for each event. It has either `process_ref` or `definition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = of_type_process)]
pub struct ProcessTarget {
    /// Stored process: `namespace/name` for the highest version when an event matches, or
    /// `namespace/name@version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_ref: Option<String>,
    /// Definition of the process: a document of the CNCF Serverless Workflow DSL 1.0, at most 65,536 bytes of
    /// JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Map<String, Value>>,
    /// Whether tasks that act outside wait for an approval. Default: `programmatic`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub run_type: RunType,
    /// Path into the event to the run's workflow id, such as `details.payload.order_id`: a text or an
    /// integer. Events with the same id start one run in all. Default: an id for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub workflow_id: Option<String>,
    /// Data that is merged into the input of the process, with event templates; at most 65,536 bytes of JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

fn of_type_process(schema: &mut Schema) {
    add_type(schema, "process");
}

impl ProcessTarget {
    pub(super) fn check(&self) -> Result<()> {
        match (&self.process_ref, &self.definition) {
            (Some(reference), None) => {
                ProcessRef::parse("target.process_ref", reference)?;
            }
            (None, Some(definition)) => {
                let bytes = text(definition)?.len();
                if bytes > MAX_DEFINITION_BYTES {
                    return Err(Error::invalid_field(
                        "target.definition",
                        format!(
                            "has {bytes} bytes, and at most {MAX_DEFINITION_BYTES} are taken; store the \
                         process with 'ops process load' and name it in 'target.process_ref'."
                        ),
                    ));
                }
            }
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "The target has both 'target.process_ref' and 'target.definition'; remove one.",
                ));
            }
            (None, None) => {
                return Err(Error::invalid(
                    "The target names no process; set 'target.process_ref' or 'target.definition'.",
                ));
            }
        }
        if let Some(path) = &self.workflow_id {
            path::check("target.workflow_id", path)?;
        }
        check_size("target.data", &self.data)?;
        template::check_fields("target.data", &self.data)
    }

    /// Stores the text of an inline definition and returns its digest; None where the target names a stored
    /// process. Fails with 400 for a definition with faults, for one that names secrets where the project
    /// does not allow that, and for a process that does not exist.
    pub(crate) async fn settle(&self, tenant: &Tenant, processes: &Processes) -> Result<Option<String>> {
        if let Some(reference) = &self.process_ref {
            let reference = ProcessRef::parse("target.process_ref", reference)?;
            processes
                .require(tenant, "target.process_ref", &reference)
                .await?;
        }
        let Some(definition) = &self.definition else {
            return Ok(None);
        };
        let text = text(definition)?;
        let checked = text.clone();
        // A check takes up to some hundred milliseconds.
        let checked = low_priority::run(tenant.account(), async move { process::check(&checked) });
        let definition = checked.await?.map_err(refused)?;
        if let Some(secret) = definition.secrets.first()
            && !processes.allows_inline_secrets(tenant).await?
        {
            return Err(Error::invalid_field(
                "target.definition",
                format!(
                    "names the secret '{secret}', which only a stored process may: have the operator store \
                 it ('ops process load') and name it in 'target.process_ref', or allow secrets in inline definitions of the project \
                 ('ops project inline-secrets allow')."
                ),
            ));
        }
        processes.insert_text(tenant, None, &text).await.map(Some)
    }
}

fn text(definition: &Map<String, Value>) -> Result<String> {
    serde_json::to_string(definition).map_err(Error::internal)
}

fn refused(faults: Vec<process::Fault>) -> Error {
    let count = match faults.len() {
        1 => "a fault".to_owned(),
        count => format!("{count} faults"),
    };
    let first = faults.first().map(ToString::to_string).unwrap_or_default();
    let faults = faults.into_iter().map(|fault| Fault {
        pointer: fault.pointer,
        message: fault.message,
    });
    Error::invalid_field("target.definition", format!("has {count}; the first: {first}"))
        .with_faults(faults.collect())
}
