//! Describes and checks fields that several types of targets have.

use platform::{Error, Result};
use schemars::Schema;
use serde_json::{Map, Value, json};

/// Maximum size of `vars` and `data`, in bytes of JSON.
pub const MAX_DATA_BYTES: usize = 65_536;

/// Adds the type of a target to its schema.
pub(super) fn add_type(schema: &mut Schema, kind: &str) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("type".to_owned(), json!({ "type": "string", "const": kind }));
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        required.push(json!("type"));
    }
}

/// Fails with 400 for an object above the maximum size.
pub(super) fn check_size(field: &str, object: &Map<String, Value>) -> Result<()> {
    check_bytes(field, serde_json::to_vec(object).map_err(Error::internal)?.len())
}

/// Fails with 400 for a value above the maximum size.
pub(super) fn check_value_size(field: &str, value: &Value) -> Result<()> {
    check_bytes(field, serde_json::to_vec(value).map_err(Error::internal)?.len())
}

fn check_bytes(field: &str, bytes: usize) -> Result<()> {
    if bytes > MAX_DATA_BYTES {
        return Err(Error::invalid_field(
            field,
            format!("has at most {MAX_DATA_BYTES} bytes."),
        ));
    }
    Ok(())
}
