//! Describes runs to callers, in the shapes of the API.

mod detail;
mod events;
mod failure;
mod listed;
mod tasks;
mod update;

pub use detail::{PendingActivityView, PendingWorkflowTask, WorkflowRun};
pub use events::{HistoryEvent, history_events};
pub use failure::RunFailure;
pub use listed::{WorkflowRunPage, WorkflowRunSummary};
pub use tasks::{HistoryTask, HistoryTaskStatus, history_tasks};
pub use update::{RunUpdate, RunUpdatePage};

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::payload::Payload;
use crate::state::About;

/// History of a run, in the format that the caller asked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum History {
    /// `history_format=events`.
    Events(EventHistory),
    /// `history_format=tasks`.
    Tasks(TaskHistory),
}

/// Events of a run, as the engine wrote them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventHistory {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "events"))]
    kind: &'static str,
    /// The events, oldest first.
    pub events: Vec<HistoryEvent>,
    /// Present where the rest does not fit into the answer: `history_after` of the next request.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<u64>,
}

/// Activities, timers, child runs and signals of a run, each as one object.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskHistory {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "tasks"))]
    kind: &'static str,
    /// The tasks, in the order in which they were scheduled or received.
    tasks: Vec<HistoryTask>,
    /// True where later tasks do not fit into the answer; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl History {
    /// Makes a page of events; `next_after` is where the next page starts.
    pub fn events(events: Vec<HistoryEvent>, next_after: Option<u64>) -> Self {
        Self::Events(EventHistory {
            kind: "events",
            events,
            next_after,
        })
    }

    pub fn tasks(tasks: Vec<HistoryTask>, truncated: bool) -> Self {
        Self::Tasks(TaskHistory {
            kind: "tasks",
            tasks,
            truncated,
        })
    }
}

fn initiated_by(about: &About) -> String {
    match about.initiated_by.as_str() {
        "" => "unknown".to_owned(),
        principal => principal.to_owned(),
    }
}

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
    fn array(payload: &Payload) -> Vec<Self> {
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
