//! `GET /workflows/runs/{workflow_id}/{run_id}/updates`: lists a run's update messages: the newest 1,000 of
//! the last 90 days.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Query, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::updates::updates_since;
use workflow::views::{RunUpdate, RunUpdatePage};

use crate::App;
use crate::model::{RunPath, run};

/// Which update messages to list.
#[derive(Deserialize, JsonSchema)]
pub struct UpdatesQuery {
    /// Timestamp after which messages are answered, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub since: i64,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listRunUpdates")
        .tag("workflow runs")
        .summary("List the update messages of a workflow run")
        .description(
            "Answers the update messages of a run, oldest first: those that its code or a caller published. Where `has_more` is \
             true, ask again with the last timestamp as `since`. `streamRunUpdates` follows a run without polling.\n\n\
             Limits: the last 1,000 messages of a run are kept, for 90 days.",
        )
        .response::<200, axum::Json<RunUpdatePage>>()
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<RunPath>,
    Query(query): Query<UpdatesQuery>,
) -> Result<Reply<RunUpdatePage>> {
    let run_id = run(&app, &call, &path.workflow_id, &path.run_id).await?.run_id;
    let engine = &app.workflows.engine;
    let (tenant, runs) = (call.tenant()?, &app.workflows.runs);
    let (messages, has_more) = updates_since(engine, runs, &tenant, &run_id, query.since).await?;
    let messages = messages
        .into_iter()
        .map(|message| RunUpdate::new(&run_id, message));
    Ok(Reply::ok(RunUpdatePage {
        messages: messages.collect(),
        has_more,
    }))
}
