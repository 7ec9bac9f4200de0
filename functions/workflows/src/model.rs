//! What the endpoints have in common: the run in the path, and who may see it.

use platform::Result;
use platform::auth::permission::UseRuns;
use platform::http::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workflow::engine::visible;
use workflow::listing::Viewer;
use workflow::state::RunState;

use crate::App;

/// The run in the path.
#[derive(Deserialize, JsonSchema)]
pub struct RunPath {
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
}

/// What the caller may see.
pub fn viewer(call: &Call<UseRuns>) -> Viewer {
    Viewer::of(&call.principal)
}

/// The run in the path. 404 where there is none, where the workflow id is another one's, and where it is private to somebody else.
pub async fn run(app: &App, call: &Call<UseRuns>, workflow_id: &str, run_id: &str) -> Result<RunState> {
    let tenant = call.tenant()?;
    let state = app.workflows.engine.get(&tenant, run_id).await?;
    visible(state, Some(workflow_id), &viewer(call))
}

/// An answer of one sentence.
#[derive(Serialize, JsonSchema)]
pub struct Message {
    /// The sentence.
    pub message: String,
}
