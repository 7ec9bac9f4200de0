//! `POST /workflows/runs/{workflow_id}/{run_id}/actions/{action}`: asks a run to stop, or ends it.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::text::check_text;
use platform::http::{Call, OptionalJson, Path, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::model::{Message, run};

/// What to do with which run.
#[derive(Deserialize, JsonSchema)]
pub struct ActPath {
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
    /// `cancel` asks the run to stop: its code gets to clean up. `terminate` ends it at once.
    pub action: String,
}

/// Why.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Act {
    /// Why; kept in the run's history.
    pub reason: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("actOnWorkflowRun")
        .tag("workflow runs")
        .summary("Cancel or terminate a workflow run")
        .response::<200, axum::Json<Message>>()
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<ActPath>,
    OptionalJson(body): OptionalJson<Act>,
) -> Result<Reply<Message>> {
    let tenant = call.tenant()?;
    check_text("reason", body.reason.as_deref())?;
    let reason = body.reason.as_deref().filter(|reason| !reason.is_empty());
    let (engine, identity) = (&app.workflows.engine, call.principal.reference());
    if !["cancel", "terminate"].contains(&path.action.as_str()) {
        return Err(Error::invalid(format!(
            "There is no action '{}'; there are cancel and terminate.",
            path.action
        )));
    }
    let run_id = run(&app, &call, &path.workflow_id, &path.run_id).await?.run_id;
    let done = if path.action == "cancel" {
        engine.cancel(&tenant, &run_id, reason, &identity).await?;
        "is asked to stop (cancel)"
    } else {
        engine.terminate(&tenant, &run_id, reason, &identity).await?;
        "has ended (terminate)"
    };
    Ok(Reply::ok(Message {
        message: format!("The run {run_id} of workflow {} {done}.", path.workflow_id),
    }))
}
