//! `GET /workflows/runs/{workflow_id}/{run_id}/query/{query_name}`: what a run's code says about itself. Nothing of the run changes.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::{Call, Path, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::App;
use crate::model::run;

/// What to ask which run.
#[derive(Deserialize, JsonSchema)]
pub struct QueryPath {
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
    /// The query's name, as the run's code answers it; every run answers `__state` and `__stack`.
    pub query_name: String,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryWorkflowRun")
        .tag("workflow runs")
        .summary("Query a workflow run")
        .response::<200, axum::Json<Value>>()
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<QueryPath>,
) -> Result<Reply<Value>> {
    for (name, value) in [
        ("workflow_id", &path.workflow_id),
        ("run_id", &path.run_id),
        ("query_name", &path.query_name),
    ] {
        if value.trim().is_empty() {
            return Err(Error::invalid(format!("The {name} of the path is missing.")));
        }
    }
    let state = run(&app, &call, &path.workflow_id, &path.run_id).await?;
    let answer = app
        .workflows
        .engine
        .query(&call.tenant()?, &state.run_id, &path.query_name)
        .await?;
    Ok(Reply::ok(answer.to_value()))
}

/// 400: the path ends before the name of the query.
pub async fn without_name(_: Call<UseRuns>) -> Error {
    Error::invalid("The query_name of the path is missing; write it as in …/query/__state.")
}
