//! What every written template must satisfy, on create and on update alike.

use platform::http::text::{check_name, check_tags};
use platform::records::prompts::PromptRecord;
use platform::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::{complexity, templates};

/// Most bytes of a template's texts. A body is smaller, but updates add up; DynamoDB's item ends at 400 KB.
const MAX_BYTES: usize = 350_000;

/// Refuses with 400 a template that could never be rendered, or whose own test data its schema refuses.
pub fn check(prompt: &PromptRecord) -> Result<()> {
    check_name("role", &prompt.role)?;
    check_tags(&prompt.tags)?;
    check_size(prompt)?;
    templates::check(prompt.content_type, &prompt.content)?;
    check_object("test_data", prompt.test_data.as_ref())?;
    check_object("inputSchema", prompt.input_schema.as_ref())?;
    let Some(schema) = &prompt.input_schema else {
        return Ok(());
    };
    let empty = Value::Object(serde_json::Map::new());
    for data in [&empty, prompt.test_data.as_ref().unwrap_or(&empty)] {
        complexity::check(schema, data)
            .map_err(|reason| Error::invalid(format!("The field 'inputSchema' {reason}.")))?;
    }
    let validator = jsonschema::validator_for(schema).map_err(|error| {
        Error::invalid(format!(
            "The field 'inputSchema' is not a valid JSON Schema: {}.",
            error.masked()
        ))
    })?;
    let Some(data) = &prompt.test_data else {
        return Ok(());
    };
    validator.validate(data).map_err(|error| {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() {
            String::new()
        } else {
            format!(" at {place}")
        };
        Error::invalid(format!(
            "The field 'test_data' does not satisfy 'inputSchema'{place}: {}.",
            error.masked()
        ))
    })
}

fn check_size(prompt: &PromptRecord) -> Result<()> {
    let json = |value: &Option<Value>| value.as_ref().map_or(0, |value| value.to_string().len());
    let description = prompt.description.as_ref().map_or(0, String::len);
    let tags: usize = prompt.tags.iter().map(String::len).sum();
    let bytes =
        prompt.content.len() + description + tags + json(&prompt.test_data) + json(&prompt.input_schema);
    if bytes > MAX_BYTES {
        let message = format!("The template would have {bytes} bytes; {MAX_BYTES} is the most.");
        return Err(Error::new(ErrorKind::PayloadTooLarge, message));
    }
    Ok(())
}

fn check_object(field: &str, value: Option<&Value>) -> Result<()> {
    match value {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err(Error::invalid(format!("The field '{field}' must be an object."))),
    }
}
