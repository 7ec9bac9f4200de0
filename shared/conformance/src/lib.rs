//! Defines what every adapter of records and of objects must do, and provides an adapter of records in memory
//! to compare with, and adapters with faults.
//!
//! Only for tests: other crates use it as a dev-dependency. The suite follows the documentation of DynamoDB
//! and S3.

#![expect(clippy::unwrap_used, reason = "an adapter that fails here fails the test")]
#![expect(
    clippy::indexing_slicing,
    reason = "an adapter that fails here fails the test"
)]

pub mod faults;
pub mod model;
pub mod nowhere;
pub mod objects;
pub mod operations;
mod ranges;
pub mod records;
mod subject;

pub use subject::{Gap, Subject, Tables};
