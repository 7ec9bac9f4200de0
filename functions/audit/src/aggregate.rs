//! `POST /audit-trail/aggregate`: counts and meters of events, by time and by properties.
//!
//! Counts each platform event once, archived or not. The operation is a read, so it leaves no audit record.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use event_log::aggregate::{AggregateEvents, Aggregation};
use platform::Result;
use platform::auth::{Permission, Viewer, permission};
use platform::http::{Call, Json, Reply};

use crate::App;
use crate::scope::project;

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("aggregateEvents")
        .tag("audit trail")
        .summary("Aggregate events and meters")
        .description(
            "Counts events and sums their meters, such as pages per day or documents by verdict. An event counts \
             once, within about a second of its acceptance. Callers with a token of a project see that project; \
             callers with `account:admin`, or with `audit:read` and a token without a project, see the account, or the \
             project `projectId`. Events of private runs count for the owner of the run and for callers with \
             `workflow_superadmin`.\n\n\
             Without `groupBy` the answer has one row. With the dimension `time` alone, every period of the \
             range has a row: an empty one has 0 for counts and sums and null for averages. Otherwise only \
             groups with events have one.\n\n\
             Limits: a range of 366 days, 20 metrics, 5 dimensions, 100 values for a condition and 1,000 rows.",
        )
        .response_with::<200, axum::Json<Aggregation>, _>(|response| {
            response.description("One row for each group.")
        })
}

async fn handler(
    call: Call<permission::AggregateEvents>,
    State(app): State<App>,
    Json(body): Json<AggregateEvents>,
) -> Result<Reply<Aggregation>> {
    let principal = &call.principal;
    let reads_account = principal.project_id.is_none() && principal.require(&[Permission::AuditRead]).is_ok();
    let project = project(&call, body.project_id.as_deref(), reads_account)?;
    let plan = body.plan(call.now)?;
    let account = &call.principal.account_id;
    let answer = app
        .log
        .aggregate(
            account,
            project.as_deref(),
            &plan,
            &Viewer::from_principal(principal),
        )
        .await?;
    Ok(Reply::ok(answer))
}
