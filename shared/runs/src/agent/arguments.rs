//! Parses the arguments that a model writes, and defines the refusals that it reads.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a tool call was refused or failed, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses the arguments of a tool. Rejects unknown fields, so that a model learns that they have no effect.
pub fn read<T: DeserializeOwned>(tool: &str, arguments: &Value) -> Result<T, Refusal> {
    T::deserialize(arguments)
        .map_err(|error| Refusal(format!("The arguments of '{tool}' are not valid: {error}.")))
}
