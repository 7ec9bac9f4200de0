//! The durable workflow engine.
//!
//! A *run* is code that outlives the process that executes it. [`make_turn`](turn::make_turn), which is pure,
//! replays the code over the run's *history* ([`event`]). One conditional write appends the new commands and
//! everything that follows from them.

pub mod api;
pub mod draft;
pub mod engine;
pub mod event;
pub mod failure;
pub mod limits;
pub mod list_filter;
pub mod listing;
pub mod live;
pub mod object_keys;
pub mod options;
pub mod payload;
pub mod pending;
pub mod records;
pub mod registry;
pub mod removal;
mod removal_plan;
mod started;
pub mod state;
pub mod status;
pub mod store;
mod stored_time;
pub mod stub;
pub mod summary;
pub mod table;
pub mod testing;
pub mod turn;
pub mod turn_failure;
pub mod turn_runner;
pub mod updates;
pub mod views;
pub mod wiring;

/// Combinators of futures that are deterministic in workflow code.
pub mod future {
    pub use futures::future::{Either, join, join_all, select, select_all, try_join, try_join_all};
}

pub use failure::Failure;
pub use options::{ActivityOptions, ParentClosePolicy, RetryPolicy};
pub use payload::Payload;
pub use registry::{ActivityContext, Registry};
pub use stub::{ActivityType, WorkflowType};
pub use turn::{Context, DeliveryReport, Local};
