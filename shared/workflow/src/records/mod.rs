//! Stores runs, their histories, update messages and listings in the table of runs.

mod commit;
mod current_runs;
mod run_listing;
mod run_place;
mod run_removal;
mod run_updates;
mod runs;

pub use commit::RunWrite;
pub use current_runs::{CurrentWrite, EndedCurrent};
pub use run_listing::{DueRun, RunIndex, RunPosition, RunStanding};
pub use run_place::{FREQUENT_TYPE, QUEUED_TYPE, RunPlace};
pub use run_updates::{MAX_UPDATE_NUMBER, UPDATE_RETENTION_DAYS, UpdatesHead, UpdatesRecord, UpdatesWrite};
pub use runs::{COMPLETED, HistoryChunk, REMOVED, RunRecord, Runs};
