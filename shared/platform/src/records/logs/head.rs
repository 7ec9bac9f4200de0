//! Defines the state of a log.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Day of the file, `YYYY-MM-DD` in UTC.
    pub day: String,
    /// UUIDv7.
    pub id: String,
}

/// Reference to the last digest, which the next digest names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestRef {
    /// Object key.
    pub name: String,
    /// SHA-256 of the object's bytes, in hexadecimal.
    pub sha256: String,
    /// Position in the chain, from 0.
    pub sequence: u64,
    /// Hour that the digest was made for, `YYYY-MM-DDTHH` in UTC.
    pub hour: String,
    pub created_at: UtcTime,
    /// Fingerprint of the key that signed it; None for a digest from before keys were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// State of a log.
///
/// Every change of a log's files is written with it, and requires the revision that was read: of two
/// archivers that work on the same log, one succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHead {
    /// Number of changes.
    pub revision: u64,
    /// Time of the next pass. It is always set, so that no log is forgotten.
    pub due_at: UtcTime,
    /// Committed files whose records may still be in the tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<FileRef>,
    /// Number of consecutive passes that archived nothing.
    #[serde(default)]
    pub idle_passes: u32,
    /// Sequence of the digest that will cover newly committed files.
    #[serde(default)]
    pub next_digest: u64,
    /// Number of committed files without a digest. At 300 a digest is signed before its hour ends.
    #[serde(default)]
    pub waiting_files: u64,
    /// Commit time of the first waiting file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<UtcTime>,
    /// None before the first digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_digest: Option<DigestRef>,
    /// Text of the last digest, until its object is known to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten_digest: Option<String>,
    /// Last digest that states an erasure; None where the project was never erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<DigestRef>,
}

impl LogHead {
    /// Head of a log without files.
    pub(super) const fn new(due_at: UtcTime) -> Self {
        Self {
            revision: 0,
            due_at,
            unsettled: Vec::new(),
            idle_passes: 0,
            next_digest: 0,
            waiting_files: 0,
            waiting_since: None,
            last_digest: None,
            unwritten_digest: None,
            erased: None,
        }
    }

    /// Returns whether nothing was committed since the last erasure, whose digest is written.
    pub fn is_erased(&self) -> bool {
        self.erased.is_some()
            && self.erased == self.last_digest
            && self.unwritten_digest.is_none()
            && self.waiting_files == 0
            && self.unsettled.is_empty()
    }
}
