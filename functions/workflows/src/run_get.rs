//! `GET /workflows/runs/{workflow_id}/{run_id}`: returns one run in full, with its history on request.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Query, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::engine::HistoryForm;
use workflow::views::WorkflowRun;

use crate::App;
use crate::model::{RunPath, run};

/// What to answer about the run.
#[derive(Deserialize, JsonSchema)]
pub struct DetailQuery {
    /// Whether the answer has the run's history.
    #[serde(default)]
    pub include_history: bool,
    /// Format of the history: `events` (default), `tasks`, or `agent`, which answers as `events` does.
    #[schemars(extend("enum" = ["events", "tasks", "agent"]))]
    pub history_format: Option<String>,
    /// Number of the event after which the history begins: `next_after` of the answer before.
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

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getWorkflowRun")
        .tag("workflow runs")
        .summary("Read a workflow run")
        .description(
            "Answers the status, input, result and pending activities of a run and, with `include_history=true`, its history: as \
             `events`, which are complete, or as `tasks`, one object for each activity, timer, child run and signal. A history \
             that is too large for one answer is continued with `history_after`.\n\n\
             A value of more than 100 KB in the history is answered as `{\"$stored\": {\"bytes\": …}}`.",
        )
        .response::<200, axum::Json<WorkflowRun>>()
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<RunPath>,
    Query(query): Query<DetailQuery>,
) -> Result<Reply<WorkflowRun>> {
    let form = query.form()?;
    let state = run(&app, &call, &path.workflow_id, &path.run_id).await?;
    let detail = app
        .workflows
        .engine
        .describe(&call.tenant()?, &state, form)
        .await?;
    Ok(Reply::ok(detail))
}
