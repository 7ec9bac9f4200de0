//! Defines the state of a log and of its files.

use serde::{Deserialize, Serialize};

use crate::clock::UtcTime;

const DAY_MS: i64 = 24 * 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Day of the file, see [`LogFile::day`].
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
        }
    }
}

/// A file of a log. Its records came on one day, and are in no other file that is not replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// UUIDv7.
    pub id: String,
    /// Day on which the records came, `YYYY-MM-DD` in UTC: a sender chooses the times of its events, and must
    /// not choose the number of files. Files of older versions have the day of the events' own time.
    pub day: String,
    /// At least 1.
    pub records: u64,
    /// Number of the records that only the owner of a private run sees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub private: u64,
    /// Size of the object.
    pub bytes: u64,
    /// SHA-256 of the object's bytes, in hexadecimal.
    pub sha256: String,
    /// Earliest own time of a record.
    pub from: UtcTime,
    /// Latest own time of a record.
    pub to: UtcTime,
    /// Time of the commit.
    pub written_at: UtcTime,
    /// Commit time of the oldest merged file, for a merged file. From then on a record may have expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_written_at: Option<UtcTime>,
    /// Sequence of the digest that covers the file.
    pub digest: u64,
    /// Ids of the files merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
    /// Id of the file that this one was merged into. Readers skip a replaced file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// From this time on readers skip the file; its object stays for at least an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<UtcTime>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LogFile {
    /// Whether a record may have its own time from `from` to `to`, both included.
    pub fn overlaps(&self, from: UtcTime, to: UtcTime) -> bool {
        self.from <= to && from <= self.to
    }

    /// Whether a record's own time is not near the file's day, see [`is_near`].
    pub fn is_late(&self) -> bool {
        !is_near(&self.day, self.from) || !is_near(&self.day, self.to)
    }
}

/// Whether a time is on a day or on one of the two beside it: records often come after midnight, and clocks
/// differ. Records of other times are in files of their own, so that the times of most files stay close
/// together.
pub fn is_near(day: &str, time: UtcTime) -> bool {
    let Ok(begin) = day.parse::<UtcTime>() else {
        return false;
    };
    let after = time.as_millis().saturating_sub(begin.as_millis());
    (-DAY_MS..2 * DAY_MS).contains(&after)
}

/// Returns the days that the files of records near a day have: the day before and the day after.
pub(super) fn days_beside(from: UtcTime, to: UtcTime) -> (String, String) {
    let before = UtcTime::from_millis(from.as_millis().saturating_sub(DAY_MS));
    (
        before.unwrap_or(from).day(),
        to.plus_ms(DAY_MS.unsigned_abs()).day(),
    )
}
