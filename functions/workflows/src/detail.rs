//! `GET /workflows/runs/{workflow_id}/{run_id}`: one run in full, with its history where that is wanted.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Query, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::engine::HistoryForm;
use workflow::views::RunDetail;

use crate::App;
use crate::model::{RunPath, run};

/// How much to tell of the run.
#[derive(Deserialize, JsonSchema)]
pub struct DetailQuery {
    /// Whether to tell its history; not where this is left out.
    #[serde(default)]
    pub include_history: bool,
    /// `events` (where it is left out), `tasks`, or `agent`, which is the same as `events`.
    pub history_format: Option<String>,
    /// Of the events, only those after this one: for histories that do not fit into one answer.
    #[serde(default)]
    pub history_after: u64,
}

impl DetailQuery {
    fn form(&self) -> Result<Option<HistoryForm>> {
        let events = HistoryForm::Events {
            after: self.history_after,
        };
        let form = match self.history_format.as_deref() {
            None | Some("events" | "agent") => events,
            Some("tasks") => HistoryForm::Tasks,
            Some(other) => {
                return Err(Error::invalid(format!(
                    "The query parameter 'history_format' is '{other}'; it is events, tasks or agent."
                )));
            }
        };
        Ok(self.include_history.then_some(form))
    }
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getWorkflowRun")
        .tag("workflow runs")
        .summary("Read a workflow run")
        .response::<200, axum::Json<RunDetail>>()
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<RunPath>,
    Query(query): Query<DetailQuery>,
) -> Result<Reply<RunDetail>> {
    let form = query.form()?;
    let state = run(&app, &call, &path.workflow_id, &path.run_id).await?;
    let detail = app
        .workflows
        .engine
        .describe(&call.tenant()?, &state, form)
        .await?;
    Ok(Reply::ok(detail))
}
