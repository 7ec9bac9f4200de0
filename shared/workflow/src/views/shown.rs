//! Shows values of runs to callers.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::payload::Payload;
use crate::state::About;

/// A payload as it is shown: the value with all digits of its numbers, or its size where it is stored outside
/// the history because it is large.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Shown(Box<RawValue>);

impl Shown {
    pub fn new(payload: &Payload) -> Self {
        let text = match payload.stored() {
            Some(stored) if !payload.is_fetched() => {
                json!({ "$stored": { "bytes": stored.bytes } }).to_string()
            }
            _ => payload.json().to_owned(),
        };
        Self(RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Returns the payload as an array, which the contract requires for inputs and results.
    pub(super) fn array(payload: &Payload) -> Vec<Self> {
        match payload.is_null() {
            true => Vec::new(),
            false => vec![Self::new(payload)],
        }
    }
}

impl From<Value> for Shown {
    fn from(value: Value) -> Self {
        Self(RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl JsonSchema for Shown {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

/// Returns the principal that started a run.
pub(super) fn initiated_by(about: &About) -> String {
    match about.initiated_by.as_str() {
        "" => "unknown".to_owned(),
        principal => principal.to_owned(),
    }
}
