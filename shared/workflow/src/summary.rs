//! What a listing shows of a run.

use platform::records::runs::RunStanding;
use platform::{Result, UtcTime};
use serde::{Deserialize, Serialize};

use crate::list_filter::RunFields;
use crate::state::{About, RunState};
use crate::status::RunStatus;

/// What a listing shows of a run, and what it filters by. The text of a summary, which indexes carry, lacks
/// what changes: each change would be a write to each of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Status; of a summary that was just read, [`RunStatus::Running`].
    #[serde(skip, default = "running")]
    pub status: RunStatus,
    /// When it began.
    pub started_at: UtcTime,
    /// When it ended. Summaries of runs that ended before this was left out have it.
    #[serde(default, skip_serializing)]
    pub closed_at: Option<UtcTime>,
    /// Its run id.
    pub run_id: String,
    /// Its workflow id.
    pub workflow_id: String,
    /// Its type.
    pub workflow_type: String,
    /// What it is about. Its memo is not listed.
    pub about: About,
}

const fn running() -> RunStatus {
    RunStatus::Running
}

impl RunSummary {
    /// Adds what the text of a summary lacks.
    pub fn complete(&mut self, standing: &RunStanding) -> Result<()> {
        self.status = standing.status.parse()?;
        self.closed_at = standing.closed_at.or(self.closed_at);
        Ok(())
    }

    /// Of a run.
    pub fn of(state: &RunState) -> Self {
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

    /// How long it took, in seconds; None while it goes on.
    pub fn execution_duration(&self) -> Option<f64> {
        execution_duration(self.started_at, self.closed_at)
    }

    /// What the list filter asks for.
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

/// How long a run took, in seconds; None while it goes on.
pub fn execution_duration(started_at: UtcTime, closed_at: Option<UtcTime>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a run does not take 285,000 years")]
    closed_at.map(|closed_at| closed_at.millis_since(started_at) as f64 / 1_000.0)
}
