//! Describes the history of a run to callers.

use schemars::JsonSchema;
use serde::Serialize;

use super::{HistoryEvent, HistoryTask};

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
