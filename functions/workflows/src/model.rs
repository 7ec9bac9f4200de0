//! Defines what the endpoints share: the run in the path, and which callers may see it.

use platform::Result;
use platform::auth::Viewer;
use platform::auth::permission::UseRuns;
use platform::http::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workflow::engine::visible;
use workflow::state::RunState;

use crate::App;

/// The path of a run.
#[derive(Deserialize, JsonSchema)]
pub struct RunPath {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id.
    pub run_id: String,
}

pub fn viewer(call: &Call<UseRuns>) -> Viewer {
    Viewer::from_principal(&call.principal)
}

/// Loads the run in the path. 404 where there is none, where the workflow id does not belong to the run, and
/// where the run is private to another caller.
pub async fn run(app: &App, call: &Call<UseRuns>, workflow_id: &str, run_id: &str) -> Result<RunState> {
    let tenant = call.tenant()?;
    let state = app.workflows.engine.get(&tenant, run_id).await?;
    let state = visible(state, Some(workflow_id), &viewer(call))?;
    call.is_private_to(state.about.private_to());
    Ok(state)
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub struct Message {
    /// Sentence for people.
    pub message: String,
}
