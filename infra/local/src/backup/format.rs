//! Defines the format of an archive.

use serde::{Deserialize, Serialize};

/// Archive format that this version writes and reads.
pub const BACKUP_FORMAT: u32 = 1;
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Contents {
    pub objects: u64,
    /// Bytes of all files, before compression.
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub struct Head {
    pub backup_format: u32,
    /// Format of the data directory in it.
    pub data_format: u32,
    /// Version of the program that made it.
    pub version: String,
    pub made_at: String,
}
