//! `GET /workflows/types`: lists the workflow types of this installation, so that clients can discover them.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::ReadWorkflowTypes;
use platform::http::{Call, Reply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;

/// A workflow type.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WorkflowType")]
pub struct WorkflowTypeView {
    /// Name of the type, as subscriptions and child runs give it.
    pub name: String,
    /// Signals that the type's code listens for.
    pub signals: Vec<String>,
    /// Queries that the type's code answers; every type also answers `__stack` and `__signals`.
    pub queries: Vec<String>,
}

/// Workflow types, by name.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WorkflowTypePage")]
pub struct WorkflowTypes {
    /// Types of this installation, sorted by name.
    pub types: Vec<WorkflowTypeView>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listWorkflowTypes")
        .tag("workflow runs")
        .summary("List workflow types")
        .description(
            "Answers the workflow types that this installation has, with the signals and queries of each. The type that carries \
             out webhook deliveries is not among them, because only the service starts its runs.",
        )
        .response::<200, axum::Json<WorkflowTypes>>()
}

async fn handler(call: Call<ReadWorkflowTypes>, State(app): State<App>) -> Result<Reply<WorkflowTypes>> {
    // Every endpoint below `/workflows` refuses a token without a project.
    call.tenant()?;
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let types = app.workflows.engine.registry().public_workflow_types();
    let types = types.map(|(name, interactions)| WorkflowTypeView {
        name: name.to_owned(),
        signals: names(interactions.signals),
        queries: names(interactions.queries),
    });
    Ok(Reply::ok(WorkflowTypes {
        types: types.collect(),
    }))
}
