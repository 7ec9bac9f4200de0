//! Runs as callers see them: the shapes of the API.

mod detail;
mod events;
mod failure;
mod listed;
mod tasks;
mod update;

pub use detail::{PendingActivityView, PendingWorkflowTask, RunDetail};
pub use events::{EventView, event_views};
pub use failure::FailureView;
pub use listed::{RunListing, RunSummaryView};
pub use tasks::{TaskStatus, TaskView, task_views};
pub use update::{UpdateListing, UpdateMessageView};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::payload::Payload;
use crate::state::About;

/// The history of a run, in one of its two forms.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum HistoryView {
    /// The events, as the engine wrote them.
    Events {
        /// The events, oldest first.
        events: Vec<EventView>,
        /// Where the rest begins that does not fit into this answer: ask again with `history_after` of this value.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_after: Option<u64>,
    },
    /// Each activity, timer, child run and signal as one object.
    Tasks {
        /// The tasks, in the order in which they were asked for or came.
        tasks: Vec<TaskView>,
        /// Whether the answer ends before the last of them.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
}

/// Who started a run, as the API says it.
fn initiated_by(about: &About) -> String {
    match about.initiated_by.as_str() {
        "" => "unknown".to_owned(),
        somebody => somebody.to_owned(),
    }
}

/// A payload in a history: itself, or its size where it is kept elsewhere because it is large.
fn shown(payload: &Payload) -> Value {
    match payload.stored() {
        Some(stored) if !payload.is_fetched() => json!({ "$stored": { "bytes": stored.bytes } }),
        _ => payload.to_value(),
    }
}

/// As the array that the contract has for inputs and results.
fn shown_array(payload: &Payload) -> Vec<Value> {
    match shown(payload) {
        Value::Null => Vec::new(),
        value => vec![value],
    }
}
