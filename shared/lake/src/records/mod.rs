//! Stores the records of data stores, imports and dashboards; their data are files in the bucket.

pub mod dashboards;
pub mod import_jobs;
mod store_versions;
pub mod stores;
