//! `POST /workflows/runs/{workflow_id}/{run_id}/actions/{action}`: cancels or terminates a run.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::openapi::problem;
use platform::http::text::Act;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::engine::Caller;

use crate::model::{Message, run};
use crate::{App, audience};

/// The path of an action on a run.
#[derive(Deserialize, JsonSchema)]
pub struct ActPath {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id.
    pub run_id: String,
    /// `cancel` asks the run to stop, so that its code can clean up first; `terminate` ends it at once.
    #[schemars(extend("enum" = ["cancel", "terminate"]))]
    pub action: String,
}

pub fn route(platform: &Platform, app: &App) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "workflow")
        .identified_by("run_id")
        .on(audience::layered(app, post_with(handler, doc)))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("actOnWorkflowRun")
        .tag("workflow runs")
        .summary("Cancel or terminate a workflow run")
        .description(
            "Stops a run. `cancel` asks it: the code of the workflow sees the request, may clean up, and ends with the status \
             `CANCELED`; a run whose code ignores it goes on. `terminate` ends the run at once with the status `TERMINATED`: its \
             code does not run again. Child runs end as their starter chose.\n\n\
             Side effects: an audit record of the action `update`, and an event of the category `workflow` when the run ends.",
        )
        .response::<200, axum::Json<Message>>()
        .with(problem(
            ErrorKind::Conflict,
            "The run has ended.",
            "The run '0197f3c2-8a41-7d0e-9b1c-000000000012' has ended; it is COMPLETED.",
        ))
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<ActPath>,
    OptionalJson(body): OptionalJson<Act>,
) -> Result<Reply<Message>> {
    let tenant = call.tenant()?;
    let reason = body.reason()?;
    let (engine, reference) = (&app.workflows.engine, call.principal.reference());
    let caller = Caller {
        reference: &reference,
        tenant_id: call.principal.tenant_id.as_deref(),
    };
    if !["cancel", "terminate"].contains(&path.action.as_str()) {
        return Err(Error::invalid(format!(
            "There is no action '{}'; there are cancel and terminate.",
            path.action
        )));
    }
    let run_id = run(&app, &call, &path.workflow_id, &path.run_id).await?.run_id;
    let done = if path.action == "cancel" {
        engine.cancel(&tenant, &run_id, reason, caller).await?;
        "is asked to stop (cancel)"
    } else {
        engine.terminate(&tenant, &run_id, reason, caller).await?;
        "has ended (terminate)"
    };
    Ok(Reply::ok(Message {
        message: format!("The run {run_id} of workflow {} {done}.", path.workflow_id),
    }))
}
