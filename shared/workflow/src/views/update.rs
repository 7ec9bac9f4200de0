//! Update messages as callers see them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::shown;
use crate::updates::UpdateMessage;

/// An update message of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UpdateMessageView {
    /// When it was published, in milliseconds since the Unix epoch; later than the message before it.
    pub timestamp: i64,
    /// The run.
    pub workflow_run_id: String,
    /// Its type, such as `PROGRESS`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    pub message: String,
    /// For code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Which part of the run it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workstream_id: Option<String>,
}

impl UpdateMessageView {
    /// A message of a run.
    pub fn new(run_id: &str, message: UpdateMessage) -> Self {
        Self {
            timestamp: message.timestamp,
            workflow_run_id: run_id.to_owned(),
            kind: message.kind,
            message: message.message,
            details: message.details.as_ref().map(shown),
            workstream_id: message.workstream_id,
        }
    }
}

/// The update messages of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UpdateListing {
    /// The messages, oldest first.
    pub messages: Vec<UpdateMessageView>,
    /// Whether more messages than one answer takes come after these: ask again with the last timestamp as
    /// `since`.
    pub has_more: bool,
}
