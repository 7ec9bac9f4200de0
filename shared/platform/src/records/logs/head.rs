//! The state of a log and its files.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;

/// Names a file of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Day of its records, `YYYY-MM-DD` in UTC.
    pub day: String,
    /// UUIDv7.
    pub id: String,
}

/// What the head keeps of the last digest, which the next one names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestRef {
    /// Object key.
    pub name: String,
    /// SHA-256 of the object's bytes, in hexadecimal.
    pub sha256: String,
    /// Place in the chain; the first is 0.
    pub sequence: u64,
    /// Hour that it was made for, `YYYY-MM-DDTHH` in UTC.
    pub hour: String,
    /// Time at which it was made.
    pub created_at: UtcTime,
}

/// The state of a log.
///
/// Every change of a log's files is written with it, under the condition that its revision is the one that
/// was read: of two archivers at work on one log, one lands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHead {
    /// Number of changes.
    pub revision: u64,
    /// When the next pass is due. There always is one, so no log is forgotten.
    pub due_at: UtcTime,
    /// Committed files whose records may still be in the tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsettled: Vec<FileRef>,
    /// Passes in a row that archived nothing.
    #[serde(default)]
    pub idle_passes: u32,
    /// Sequence of the digest that will cover the files that are committed now.
    #[serde(default)]
    pub next_digest: u64,
    /// At 300 of them a digest is signed before its hour is over.
    #[serde(default)]
    pub waiting_files: u64,
    /// When the first of them was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<UtcTime>,
    /// The last digest; None before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_digest: Option<DigestRef>,
    /// Text of the last digest, while its object may not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten_digest: Option<String>,
}

impl LogHead {
    /// Of a log without files.
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
        }
    }
}

/// A file of a log. Its records are of one day and are in no other file that is not replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// UUIDv7.
    pub id: String,
    /// Day of its records, `YYYY-MM-DD` in UTC.
    pub day: String,
    /// At least 1.
    pub records: u64,
    /// Size of the object.
    pub bytes: u64,
    /// SHA-256 of the object's bytes, in hexadecimal.
    pub sha256: String,
    /// Earliest time of a record.
    pub from: UtcTime,
    /// Latest time of a record.
    pub to: UtcTime,
    /// When an archiver committed it.
    pub written_at: UtcTime,
    /// When the first of its records was committed, of a merged file: from then on one may have expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_written_at: Option<UtcTime>,
    /// Sequence of the digest that covers it.
    pub digest: u64,
    /// Ids of the files that were merged into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// Id of the file that it was merged into. Readers skip a file that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// From then on readers skip it; its object stays for an hour or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<UtcTime>,
}
