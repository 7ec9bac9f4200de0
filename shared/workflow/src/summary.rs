//! Summarizes a run for listings.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

use crate::list_filter::RunFields;
use crate::records::RunStanding;
use crate::state::{About, RunState};
use crate::status::RunStatus;

/// Fields of a run that a listing shows and filters. The stored text, which indexes carry, omits everything
/// that changes, because each change would be a write to each index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// [`RunStatus::Running`] in a summary that was only read from an index.
    #[serde(skip, default = "running")]
    pub status: RunStatus,
    pub started_at: UtcTime,
    /// Present in the stored text of older summaries.
    #[serde(default, skip_serializing)]
    pub closed_at: Option<UtcTime>,
    pub run_id: String,
    pub workflow_id: String,
    pub workflow_type: String,
    /// Without the memo.
    pub about: About,
}

const fn running() -> RunStatus {
    RunStatus::Running
}

impl RunSummary {
    /// Adds the fields that the stored text omits.
    pub fn complete(&mut self, standing: &RunStanding) -> platform::Result<()> {
        self.status = standing.status.parse()?;
        self.closed_at = standing.closed_at.or(self.closed_at);
        Ok(())
    }

    pub fn from_state(state: &RunState) -> Self {
        Self {
            status: state.status,
            started_at: state.started_at,
            closed_at: state.closed_at,
            run_id: state.run_id.clone(),
            workflow_id: state.workflow_id.clone(),
            workflow_type: state.workflow_type.clone(),
            about: About {
                memo: serde_json::Map::new(),
                ..state.about.clone()
            },
        }
    }

    /// In seconds; None for an open run.
    pub fn execution_duration(&self) -> Option<f64> {
        execution_duration(self.started_at, self.closed_at)
    }

    /// Returns the fields of the list filter.
    pub fn fields(&self) -> RunFields<'_> {
        RunFields {
            workflow_id: &self.workflow_id,
            run_id: &self.run_id,
            workflow_type: &self.workflow_type,
            status: self.status.as_str(),
            start_time: self.started_at.as_millis(),
            close_time: self.closed_at.map(UtcTime::as_millis),
            initiated_by: Some(&self.about.initiated_by),
            document_id: self.about.document_id.as_deref(),
            event_name: self.about.event_name.as_deref(),
            rule_id: self.about.rule_id.as_deref(),
        }
    }
}

/// In seconds; None for an open run.
pub fn execution_duration(started_at: UtcTime, closed_at: Option<UtcTime>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a run does not take 285,000 years")]
    closed_at.map(|closed_at| closed_at.millis_since(started_at) as f64 / 1_000.0)
}
