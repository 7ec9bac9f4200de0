//! What every adapter of the record store must do, an adapter in memory to compare with, and one that makes
//! faults.
//!
//! A crate of tests alone: others have it as a dev-dependency. The suite follows DynamoDB's documentation.

#![expect(clippy::unwrap_used, reason = "an adapter that fails here fails the test")]
#![expect(
    clippy::indexing_slicing,
    reason = "an adapter that fails here fails the test"
)]

pub mod faults;
pub mod model;
pub mod nowhere;
pub mod operations;
mod ranges;
pub mod records;
mod subject;

pub use subject::{Gap, Subject, Tables};
