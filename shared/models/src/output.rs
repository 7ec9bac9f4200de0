//! Implements structured output: describes the schema to a model, and checks its answer.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::answer::Content;
use crate::error::{ModelError, ModelErrorKind};
use crate::request::{Message, OutputSchema};

/// Maximum size of a schema as JSON: it is sent with each request.
const MAX_SCHEMA_BYTES: usize = 64 * 1_024;
/// Maximum size of a compiled pattern of a schema, in bytes.
const MAX_PATTERN_BYTES: usize = 1_024 * 1_024;
/// Maximum length of a fault that is sent to the model, in characters: it may quote the answer.
const MAX_FAULT_CHARS: usize = 1_000;

pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema. Fails where it is invalid, too large, has external references, or does not describe
    /// an object.
    pub(crate) fn compile(output: &OutputSchema) -> Result<Self, ModelError> {
        let refused = |why: &str| {
            let message = format!("The output schema of the request to the language model {why}.");
            ModelError::new(ModelErrorKind::BadRequest, message)
        };
        if output.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(refused("must have \"type\": \"object\" at its root"));
        }
        if output.schema.to_string().len() > MAX_SCHEMA_BYTES {
            return Err(refused("has more than 64 KiB"));
        }
        // The model determines the text, so matching must take linear time.
        let linear = PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES);
        let options = jsonschema::options().with_pattern_options(linear);
        let accepted = output.accepted.as_ref().unwrap_or(&output.schema);
        let validator = options.build(accepted).map_err(|error| {
            refused("is not a valid JSON Schema without references to elsewhere")
                .with_detail(&error.masked().to_string())
        })?;
        Ok(Self(validator))
    }

    /// Returns the value in an answer's text; else the fault for the model, which may quote the text.
    pub(crate) fn read(&self, text: &str) -> Result<Value, String> {
        let value = parse(text)?;
        let fault = match self.0.validate(&value) {
            Ok(()) => return Ok(value),
            Err(error) => format!("at '{}': {error}", error.instance_path()),
        };
        Err(fault.chars().take(MAX_FAULT_CHARS).collect())
    }
}

/// Parses the JSON of a text: the whole text, a fenced block, or the part between the outer braces, because
/// models often add words around it.
fn parse(text: &str) -> Result<Value, String> {
    let fault = match serde_json::from_str(text.trim()) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // Servers without support for reasoning leave it in the text.
    let text = text.rsplit_once("</think>").map_or(text, |(_, rest)| rest);
    let fenced = text
        .split_once("```")
        .and_then(|(_, rest)| rest.split_once('\n'))
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(block, _)| block);
    let braces = text.find('{').zip(text.rfind('}'));
    let braces = braces.and_then(|(start, end)| text.get(start..=end));
    [fenced, braces]
        .into_iter()
        .flatten()
        .find_map(|part| serde_json::from_str(part.trim()).ok())
        .ok_or_else(|| format!("it is not JSON ({fault})"))
}

/// Describes the schema in words, for a provider without structured output of its own.
pub(crate) fn instruction(output: &OutputSchema) -> String {
    format!(
        "Answer with one JSON object named '{}' and nothing else: no text around it, no code fence. It must satisfy this JSON \
         Schema:\n{}",
        output.name, output.schema
    )
}

/// Returns the messages of a repair round: the answer, and its fault.
pub(crate) fn repair(output: &OutputSchema, text: &str, fault: &str) -> Vec<Message> {
    let text = match text.trim() {
        "" => "(empty)",
        text => text,
    };
    vec![
        Message::Assistant {
            content: vec![Content::of_text(text)],
        },
        Message::user(format!(
            "This answer cannot be used: {fault}. Give the whole answer again. {}",
            instruction(output)
        )),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: Value) -> Result<Schema, ModelError> {
        Schema::compile(&OutputSchema {
            name: "verdict".to_owned(),
            schema,
            accepted: None,
        })
    }

    #[test]
    fn json_is_found_in_what_models_write_around_it() {
        let schema = schema(json!({ "type": "object", "required": ["yes"] })).unwrap();
        let marked = json!({ "yes": "</think> ``` {" });
        assert_eq!(schema.read(&marked.to_string()), Ok(marked));
        for text in [
            r#"{"yes":true}"#,
            "  {\"yes\":true}\n",
            "```json\n{\"yes\":true}\n```",
            "Sure! Here it is:\n```\n{\"yes\":true}\n```\nAnything else?",
            "<think>Is it {so}?</think>\nYes: {\"yes\":true}",
            "The answer is {\"yes\":true}.",
        ] {
            assert_eq!(schema.read(text), Ok(json!({ "yes": true })), "{text}");
        }
        for text in [
            "",
            "yes",
            "{",
            "}{",
            "```",
            "```json",
            "{\"yes\":",
            "\u{0}",
            "[]",
            "é{é",
        ] {
            assert!(schema.read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_fault_names_its_place_and_is_short() {
        let schema = schema(json!({
            "type": "object",
            "properties": { "rank": { "type": "integer", "maximum": 5 }, "name": { "const": "a" } },
        }))
        .unwrap();
        let fault = schema.read(r#"{"rank":7}"#).unwrap_err();
        assert_eq!(fault, "at '/rank': 7 is greater than the maximum of 5");
        let long = json!({ "name": "é".repeat(100_000) }).to_string();
        assert!(schema.read(&long).unwrap_err().chars().count() <= MAX_FAULT_CHARS);
    }

    #[test]
    fn schemas_that_cannot_be_kept_are_refused() {
        for (refused, reason) in [
            (json!(true), "at its root"),
            (json!({ "type": "array" }), "at its root"),
            (json!({ "type": "object", "title": "x".repeat(70_000) }), "64 KiB"),
            (
                json!({ "type": "object", "required": 1 }),
                "not a valid JSON Schema",
            ),
            (
                json!({ "type": "object", "$ref": "https://example.com/x" }),
                "not a valid JSON Schema",
            ),
            (
                json!({ "type": "object", "$ref": "file:///etc/passwd" }),
                "not a valid JSON Schema",
            ),
            (
                json!({ "type": "object", "properties": { "a": { "pattern": "(a*)*\\1" } } }),
                "not a valid JSON Schema",
            ),
        ] {
            let refusal = schema(refused).err().unwrap().to_string();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
