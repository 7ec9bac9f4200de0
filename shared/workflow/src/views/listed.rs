//! A run in a listing.

use platform::UtcTime;
use schemars::JsonSchema;
use serde::Serialize;

use super::initiated_by;
use crate::state::Visibility;
use crate::summary::RunSummary;

/// A run in a listing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunSummaryView {
    /// Whether it goes on, and how it ended.
    pub status: String,
    /// When it began.
    pub started_at: UtcTime,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<UtcTime>,
    /// How long it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_duration: Option<f64>,
    /// Its run id.
    pub run_id: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub workflow_type: String,
    /// Who started it: `user:<id>`, or `unknown`.
    pub initiated_by: String,
    /// The interaction of an agent's conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_name: Option<String>,
    /// Its type once more.
    pub service_workflow_type: String,
    /// Who may see it.
    pub visibility: Visibility,
}

impl From<RunSummary> for RunSummaryView {
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

/// A page of runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunListing {
    /// The runs, newest first.
    pub runs: Vec<RunSummaryView>,
    /// What the next page is asked for with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// Whether there is a next page.
    pub has_more: bool,
}
