//! Describes update messages to callers.

use schemars::JsonSchema;
use serde::Serialize;

use super::Shown;
use crate::updates::UpdateMessage;

/// An update message of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunUpdate {
    /// Time of publication, in milliseconds since the Unix epoch; later than that of the message before.
    pub timestamp: i64,
    /// Id of the run that the message is about.
    pub workflow_run_id: String,
    /// Type that the publisher chose, such as `PROGRESS`; the service ends a run's messages with `complete`
    /// or `terminated`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text for people.
    pub message: String,
    /// Data for programs, any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Shown>,
    /// Part of the run that the message is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workstream_id: Option<String>,
}

impl RunUpdate {
    pub fn new(run_id: &str, message: UpdateMessage) -> Self {
        Self {
            timestamp: message.timestamp,
            workflow_run_id: run_id.to_owned(),
            kind: message.kind,
            message: message.message,
            details: message.details.as_ref().map(Shown::new),
            workstream_id: message.workstream_id,
        }
    }
}

/// The update messages of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunUpdatePage {
    /// The messages, oldest first.
    pub messages: Vec<RunUpdate>,
    /// True where more messages follow than fit into an answer: ask again with the last timestamp as `since`.
    pub has_more: bool,
}
