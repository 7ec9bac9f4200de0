//! Stores the log of all events and audit records as Parquet files in S3.
//!
//! A record is written to DynamoDB first and archived later. Readers see the files and the unarchived
//! records, and each record exactly once.

pub mod aggregate;
pub mod archive;
pub mod columns;
pub mod digest;
pub mod erasure;
mod export;
pub mod listing;
pub mod logs;
mod reading;
pub mod row;
mod scope;
pub mod search;
mod sql;
mod store;
mod tail;
#[cfg(test)]
mod testing;
pub mod verify;
mod write;

pub use export::{Export, ExportFormat, Progress};
pub use reading::{Snapshot, SnapshotFile};
pub use sql::Statement;
pub use store::{LogStore, LogStoreConfig};
pub use write::{WrittenFile, merge, sum, write};
