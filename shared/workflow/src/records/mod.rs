//! Stores runs, their histories, update messages and listings in the table of runs.

mod current_runs;
mod run_listing;
mod run_place;
pub mod run_removal;
mod run_updates;
pub mod runs;
