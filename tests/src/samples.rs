//! Provides bodies that the service accepts.

use serde_json::{Value, json};

/// Returns a minimal prompt template.
pub fn prompt(name: &str) -> Value {
    json!({ "name": name, "role": "user", "content_type": "handlebars", "content": "Hello {{name}}!" })
}

/// Returns a prompt template with every field.
pub fn whole_prompt(name: &str) -> Value {
    json!({
        "name": name,
        "role": "assistant",
        "description": "Greets somebody.",
        "content_type": "jst",
        "content": "Hello ${name}!",
        "test_data": { "name": "Ada" },
        "inputSchema": {
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"]
        },
        "tags": ["greeting", "short"]
    })
}
