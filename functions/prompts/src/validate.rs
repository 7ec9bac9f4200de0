//! Validates a template before it is written, on create and on update alike. Only fast checks are here; the
//! sandbox does the rest.

use platform::http::text::{check_name, check_tags};
use platform::{Error, ErrorKind, Result};
use prompts::records::prompts::PromptRecord;
use serde_json::Value;

/// Maximum number of bytes of a template's texts. A body is smaller, but updates add up; an item of DynamoDB
/// has at most 400 KB.
const MAX_BYTES: usize = 350_000;

/// Refuses invalid names, sizes and types with 400 or 413.
pub fn check(prompt: &PromptRecord) -> Result<()> {
    check_name("role", &prompt.role)?;
    check_tags(&prompt.tags)?;
    check_size(prompt)?;
    check_object("test_data", prompt.test_data.as_ref())?;
    check_object("inputSchema", prompt.input_schema.as_ref())
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
        Some(_) => Err(Error::invalid_field(field, "must be an object.")),
    }
}
