//! Defines a file of a log.

use platform::UtcTime;
use serde::{Deserialize, Serialize};

const DAY_MS: i64 = 24 * 3_600_000;

/// A file of a log. Its records came on one day, and are in no other file that is not replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// UUIDv7.
    pub id: String,
    /// Day on which the records came, `YYYY-MM-DD` in UTC: a sender chooses the times of its events, and must
    /// not choose the number of files.
    pub day: String,
    /// At least 1.
    pub records: u64,
    /// Number of the records that only the owner of a private run sees.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub private: u64,
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
