//! `POST /workflows/conversations`: lists the runs that are conversations with an agent. Deprecated: the
//! listing of runs has a `type`.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::UseRuns;
use platform::http::{Call, OptionalJson, Reply};
use runs::agent::WORKFLOW_TYPE;
use workflow::views::WorkflowRunPage;

use crate::App;
use crate::run_list::{ListRuns, page};

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listConversations")
        .tag("workflow runs")
        .summary("List agent conversations")
        .description(
            "Answers the runs of conversations with agents. Deprecated: `listWorkflowRuns` with `type` answers the same and \
             takes the same filters. Private conversations are answered to their owner, and to callers with the permission \
             `workflow_superadmin`.",
        )
        .response::<200, axum::Json<WorkflowRunPage>>()
        .with(|mut operation| {
            operation.inner_mut().deprecated = true;
            operation
        })
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    OptionalJson(body): OptionalJson<ListRuns>,
) -> Result<Reply<WorkflowRunPage>> {
    page(&call, &app, body, Some(WORKFLOW_TYPE.name())).await
}
