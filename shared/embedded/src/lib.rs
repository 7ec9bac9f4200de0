//! Implements adapters that need no service: records in SQLite and objects in files, for the local runner,
//! tests and single servers.

pub mod files;
pub mod sqlite;
