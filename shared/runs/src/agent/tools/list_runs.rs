//! Implements `list_runs`: lists the workflow runs of the project, newest first.

use models::Tool;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use workflow::ActivityContext;
use workflow::api::Call;

use super::super::arguments::read;
use super::super::fault::{Fault, Refusal};
use super::describe::described;

pub const NAME: &str = "list_runs";
/// Maximum number of runs in one result.
const MAX_LIMIT: u32 = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default, rename = "type")]
    workflow_type: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
}

pub fn tool() -> Tool {
    described(
        NAME,
        "Lists workflow runs of the project, newest first, with their workflow id, run id, type and status.",
        &json!({
            "type": { "type": "string", "description": "Workflow type." },
            "status": { "type": "string", "description": "Statuses, separated by commas, such as RUNNING,FAILED." },
            "query": { "type": "string", "description": "Condition, such as: WorkflowType STARTS_WITH 'Batch'." },
            "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Most runs. Default: 20." },
        }),
        &[],
    )
}

pub async fn call(context: &ActivityContext, arguments: &Value) -> Result<String, Fault> {
    let asked: Arguments = read(NAME, arguments)?;
    let limit = asked.limit.unwrap_or(20);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Refusal(format!("The argument 'limit' is from 1 to {MAX_LIMIT}.")).into());
    }
    let given = [
        ("type", asked.workflow_type),
        ("status", asked.status),
        ("query", asked.query),
    ];
    let mut body: Map<String, Value> = given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
        .collect();
    body.insert("page_size".to_owned(), limit.into());
    let call = Call::post(["workflows", "runs"], Value::from(body));
    Ok(context.call(&call).await?.to_string())
}
