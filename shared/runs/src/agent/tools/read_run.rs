//! Implements `read_run`: reads one workflow run of the project, without its history.

use models::Tool;
use serde::Deserialize;
use serde_json::{Value, json};
use workflow::ActivityContext;
use workflow::api::Call;

use super::super::arguments::read;
use super::super::fault::Fault;
use super::describe::described;

pub const NAME: &str = "read_run";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    workflow_id: String,
    run_id: String,
}

pub fn tool() -> Tool {
    described(
        NAME,
        "Reads one workflow run of the project: its status, input, result or error.",
        &json!({
            "workflow_id": { "type": "string", "description": "Workflow id of the run." },
            "run_id": { "type": "string", "description": "Run id." },
        }),
        &["workflow_id", "run_id"],
    )
}

pub async fn call(context: &ActivityContext, arguments: &Value) -> Result<String, Fault> {
    let asked: Arguments = read(NAME, arguments)?;
    let path = [
        "workflows",
        "runs",
        asked.workflow_id.as_str(),
        asked.run_id.as_str(),
    ];
    Ok(context.call(&Call::get(path)).await?.to_string())
}
