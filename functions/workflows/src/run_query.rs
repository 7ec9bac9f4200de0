//! `GET /workflows/runs/{workflow_id}/{run_id}/query/{query_name}`: asks a run's code for its state. The run
//! does not change.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Reply};
use platform::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use workflow::views::Shown;

use crate::App;
use crate::model::run;

/// The path of a query of a run.
#[derive(Deserialize, JsonSchema)]
pub struct QueryPath {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id.
    pub run_id: String,
    /// Name of the query: one that the workflow's code answers, or `__state`, `__stack` or `__signals`,
    /// which every run answers.
    pub query_name: String,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("queryWorkflowRun")
        .tag("workflow runs")
        .summary("Query a workflow run")
        .description(
            "Asks the code of a run about its state, without changing it: `__state` answers what its code exposes, `__stack` what \
             the run waits for, in words, and `__signals` the names of the signals that it waits for. Runs that have ended answer as well. The shape of the answer depends on the query.",
        )
        .response_with::<200, axum::Json<Shown>, _>(|response| response.description("Answer of the workflow's code, any JSON."))
        .with(problem(
            ErrorKind::InvalidRequest,
            "The workflow id, the run id or the name of the query is missing.",
            "The query_name of the path is missing.",
        ))
        .with(problem(
            ErrorKind::NotFound,
            "The run does not exist, or its code answers no query of this name.",
            "Runs of type 'Approval' answer no query 'progress'.",
        ))
        .with(problem(
            ErrorKind::Internal,
            "The query failed in the workflow's code.",
            "The query failed in the workflow's code.",
        ))
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<QueryPath>,
) -> Result<Reply<Shown>> {
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
    Ok(Reply::ok(Shown::new(&answer)))
}

/// Answers 400 for a path that ends before the name of the query.
pub async fn without_name(_: Call<UseRuns>) -> Error {
    Error::invalid("The query_name of the path is missing; write it as in …/query/__state.")
}
