//! Describes tools to models.

use models::Tool;
use serde_json::{Value, json};

/// Builds a tool whose arguments are an object with these properties.
pub fn described(name: &str, description: &str, properties: &Value, required: &[&str]) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
    }
}
