//! Implements `finish`: ends the run with a result, which must fit the output schema of the interaction.

use models::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::{Refusal, read};
use super::super::definition::Agent;
use super::described;

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

/// Checks the result against the output schema. The refusal lists the faults.
pub fn check(agent: &Agent, arguments: &Value) -> Result<String, Refusal> {
    let finished = finished(arguments)?;
    let Some(schema) = &agent.output_schema else {
        return Ok(String::new());
    };
    let validator = jsonschema::validator_for(schema)
        .map_err(|_| Refusal("The output schema of the interaction is no JSON Schema.".to_owned()))?;
    let faults: Vec<_> = validator
        .iter_errors(&finished.result)
        .take(MAX_FAULTS)
        .map(|fault| {
            let what: String = fault.to_string().chars().take(300).collect();
            format!("at '{}': {what}", fault.instance_path())
        })
        .collect();
    match faults.is_empty() {
        true => Ok(String::new()),
        false => Err(Refusal(format!(
            "The argument 'result' does not fit its schema: {}. Call 'finish' once more with a result that fits.",
            faults.join("; ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_held_against_the_schema() {
        let agent = Agent {
            output_schema: Some(json!({
                "type": "object", "properties": { "total": { "type": "number" } }, "required": ["total"],
            })),
            ..Agent::default()
        };
        assert!(check(&agent, &json!({ "result": { "total": 7 } })).is_ok());
        let refusal = check(&agent, &json!({ "result": { "total": "7" } })).unwrap_err();
        assert!(refusal.to_string().contains("at '/total'"), "{refusal}");
        assert!(check(&agent, &json!({})).is_err());
        assert!(check(&Agent::default(), &json!({ "result": [1] })).is_ok());
        assert!(check(&agent, &json!({ "result": { "total": 7 }, "run_id": "x" })).is_err());
    }
}
