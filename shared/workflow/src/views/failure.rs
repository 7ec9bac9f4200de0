//! A failure as callers see it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::shown;
use crate::failure::Failure;

/// Why something failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureView {
    /// One sentence.
    pub message: String,
    /// What kind of failure it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it comes from, such as an activity's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// More.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl FailureView {
    /// A failure that has only a sentence.
    pub(super) fn new(kind: &str, message: &str) -> Self {
        Self {
            message: message.to_owned(),
            kind: kind.to_owned(),
            source: None,
            details: None,
        }
    }
}

impl From<&Failure> for FailureView {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.message.clone(),
            kind: failure.kind.clone(),
            source: failure.source.clone(),
            details: failure.details.as_ref().map(shown),
        }
    }
}
