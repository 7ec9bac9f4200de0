//! Implements `finish`: ends the run with a result, which must fit the output schema of the interaction.

use models::Tool;
use process::Data;
use process::expression::{Evaluator, ExpressionFailure};
use serde::Deserialize;
use serde_json::{Value, json};
use workflow::Failure;

use super::super::arguments::read;
use super::super::definition::Agent;
use super::super::fault::{Fault, Refusal};
use super::describe::described;

pub const NAME: &str = "finish";
/// Maximum number of faults reported to the model.
const MAX_FAULTS: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finished {
    #[serde(default)]
    pub result: Value,
    #[serde(default)]
    pub message: Option<String>,
}

pub fn tool(schema: Option<&Value>) -> Tool {
    let result = schema
        .cloned()
        .unwrap_or_else(|| json!({ "description": "The result, any JSON." }));
    let required: &[&str] = if schema.is_some() { &["result"] } else { &[] };
    described(
        NAME,
        "Ends the task. Call it once, alone, when everything is done.",
        &json!({
            "result": result,
            "message": { "type": "string", "description": "What was done, in a few sentences, for people." },
        }),
        required,
    )
}

pub fn finished(arguments: &Value) -> Result<Finished, Refusal> {
    read(NAME, arguments)
}

/// Checks the result against the output schema, in a child process: the schema, with its patterns, is text of
/// a caller. The refusal lists the faults.
pub async fn check(
    evaluator: &Evaluator,
    account: &str,
    agent: &Agent,
    arguments: &Value,
) -> Result<String, Fault> {
    let finished = finished(arguments)?;
    let Some(schema) = &agent.output_schema else {
        return Ok(String::new());
    };
    let (schema, result) = (Data::from(schema), Data::from(finished.result));
    let checked = evaluator
        .validate_for(account, &schema, &result, MAX_FAULTS)
        .await;
    match checked.map_err(Failure::from)? {
        Ok(()) => Ok(String::new()),
        Err(ExpressionFailure::Invalid { reason }) => Err(Refusal(format!(
            "The argument 'result' does not fit its schema: {reason}. Call 'finish' once more with a result that fits."
        ))
        .into()),
        Err(failure) => Err(Refusal(failure.to_string()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(agent: &Agent, arguments: &Value) -> Result<String, String> {
        let checked = super::check(&Evaluator::in_process(), "acme", agent, arguments).await;
        checked.map_err(|fault| match fault {
            Fault::Refused(refusal) => refusal.to_string(),
            Fault::Failed(failure) => panic!("{failure:?}"),
        })
    }

    #[tokio::test]
    async fn a_result_is_held_against_the_schema() {
        let agent = Agent {
            output_schema: Some(json!({
                "type": "object", "properties": { "total": { "type": "number" } }, "required": ["total"],
            })),
            ..Agent::default()
        };
        assert!(check(&agent, &json!({ "result": { "total": 7 } })).await.is_ok());
        let refusal = check(&agent, &json!({ "result": { "total": "7" } }))
            .await
            .unwrap_err();
        assert!(refusal.contains("at '/total'"), "{refusal}");
        assert!(check(&agent, &json!({})).await.is_err());
        assert!(check(&Agent::default(), &json!({ "result": [1] })).await.is_ok());
        assert!(
            check(&agent, &json!({ "result": { "total": 7 }, "run_id": "x" }))
                .await
                .is_err()
        );
    }

    /// Its engine goes back and forth, for as long as the result is ambiguous.
    #[tokio::test]
    async fn a_schema_with_a_pattern_of_another_engine_is_refused() {
        let agent = Agent {
            output_schema: Some(
                json!({ "type": "object", "additionalProperties": { "pattern": "^(?=a)(a|a)*$" } }),
            ),
            ..Agent::default()
        };
        let result = json!({ "result": { "text": "a".repeat(30) + "b" } });
        let refusal = check(&agent, &result).await.unwrap_err();
        assert!(refusal.contains("JSON Schema is not valid"), "{refusal}");
    }
}
