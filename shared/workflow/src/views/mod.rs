//! Describes runs to callers, in the shapes of the API.

mod detail;
mod events;
mod failure;
mod history;
mod listed;
mod shown;
mod tasks;
mod update;

pub use detail::{PendingActivityView, PendingWorkflowTask, WorkflowRun};
pub use events::{HistoryEvent, history_events};
pub use failure::RunFailure;
pub use history::{EventHistory, History, TaskHistory};
pub use listed::{WorkflowRunPage, WorkflowRunSummary};
pub use shown::Shown;
pub use tasks::{HistoryTask, HistoryTaskStatus, history_tasks};
pub use update::{RunUpdate, RunUpdatePage};
