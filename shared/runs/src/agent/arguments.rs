//! Parses the arguments that a model writes.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fault::Refusal;

/// Parses the arguments of a tool. Rejects unknown fields, so that a model learns that they have no effect.
pub fn read<T: DeserializeOwned>(tool: &str, arguments: &Value) -> Result<T, Refusal> {
    T::deserialize(arguments)
        .map_err(|error| Refusal(format!("The arguments of '{tool}' are not valid: {error}.")))
}
