//! Describes a run in a listing.

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::shown::initiated_by;
use crate::state::Visibility;
use crate::summary::RunSummary;

/// A workflow run in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkflowRunSummary {
    /// `RUNNING`, `COMPLETED`, `FAILED`, `CANCELED`, `TERMINATED`, `CONTINUED_AS_NEW` or `TIMED_OUT`.
    pub status: String,
    /// Time at which the run began.
    pub started_at: UtcTime,
    /// Time at which the run ended; absent while it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// Time from start to end, in seconds; absent while the run is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_duration: Option<f64>,
    /// Id of this run, unique in the project.
    pub run_id: String,
    /// Id that the starter gave; later runs may have it again.
    pub workflow_id: String,
    /// Workflow type, whose code the run executes.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// Principal that started the run, such as `user:<user_id>`, or `unknown`.
    pub initiated_by: String,
    /// Name of the interaction of a conversation with an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_name: Option<String>,
    /// The same as `type`.
    pub service_workflow_type: String,
    /// Which callers of the project see the run.
    pub visibility: Visibility,
}

impl From<RunSummary> for WorkflowRunSummary {
    fn from(run: RunSummary) -> Self {
        Self {
            status: run.status.as_str().to_owned(),
            started_at: run.started_at,
            closed_at: run.closed_at,
            execution_duration: run.execution_duration(),
            run_id: run.run_id,
            workflow_id: run.workflow_id,
            service_workflow_type: run.workflow_type.clone(),
            workflow_type: run.workflow_type,
            initiated_by: initiated_by(&run.about),
            interaction_name: run.about.interaction_name,
            visibility: run.about.visibility,
        }
    }
}

/// A page of workflow runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkflowRunPage {
    /// The runs, newest first.
    pub runs: Vec<WorkflowRunSummary>,
    /// `next_page_token` of the next request, base64; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// True where a next page exists.
    pub has_more: bool,
}
