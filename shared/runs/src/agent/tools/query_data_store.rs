//! Implements `query_data_store`: one read-only SQL statement, with the permissions of the run's role.

use models::Tool;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use workflow::ActivityContext;
use workflow::api::Call;

use super::super::arguments::read;
use super::super::fault::{Fault, Refusal};
use super::describe::described;

pub const NAME: &str = "query_data_store";
/// Maximum number of rows where the call sets none.
const DEFAULT_LIMIT: u32 = 100;
/// Maximum number of rows: the result is cut beyond that anyway.
const MAX_LIMIT: u32 = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    store_id: String,
    sql: String,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    limit: Option<u32>,
}

pub fn tool() -> Tool {
    described(
        NAME,
        "Runs one read-only SQL statement (a SELECT of DuckDB) over a data store and answers its rows. {{name}} in the statement \
         stands for the value of a parameter.",
        &json!({
            "store_id": { "type": "string", "description": "Id of the data store." },
            "sql": { "type": "string", "description": "One SELECT." },
            "params": { "type": "object", "description": "Values of the parameters by name." },
            "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "Most rows. Default: 100." },
        }),
        &["store_id", "sql"],
    )
}

pub async fn call(context: &ActivityContext, arguments: &Value) -> Result<String, Fault> {
    let asked: Arguments = read(NAME, arguments)?;
    let limit = asked.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Refusal(format!("The argument 'limit' is from 1 to {MAX_LIMIT}.")).into());
    }
    let body = json!({ "sql": asked.sql, "params": asked.params, "limit": limit });
    let call = Call::post(["data", asked.store_id.as_str(), "query"], body);
    Ok(context.call(&call).await?.to_string())
}
