//! `GET /workflows/runs/{workflow_id}/{run_id}/updates`: what a run has told those who follow it: its newest 1,000 messages of the last 90 days.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Query, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::updates::updates_since;
use workflow::views::{UpdateListing, UpdateMessageView};

use crate::App;
use crate::model::{RunPath, run};

/// Which messages to list.
#[derive(Deserialize, JsonSchema)]
pub struct UpdatesQuery {
    /// Only messages after this timestamp, in milliseconds since the Unix epoch; 0 where it is left out.
    #[serde(default)]
    pub since: i64,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listRunUpdates")
        .tag("workflow runs")
        .summary("List the update messages of a workflow run")
        .response::<200, axum::Json<UpdateListing>>()
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<RunPath>,
    Query(query): Query<UpdatesQuery>,
) -> Result<Reply<UpdateListing>> {
    let run_id = run(&app, &call, &path.workflow_id, &path.run_id).await?.run_id;
    let engine = &app.workflows.engine;
    let (tenant, runs) = (call.tenant()?, &app.workflows.runs);
    let (messages, has_more) = updates_since(engine, runs, &tenant, &run_id, query.since).await?;
    let messages = messages
        .into_iter()
        .map(|message| UpdateMessageView::new(&run_id, message));
    Ok(Reply::ok(UpdateListing {
        messages: messages.collect(),
        has_more,
    }))
}
