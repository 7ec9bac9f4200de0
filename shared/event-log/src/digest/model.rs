//! Defines the content of a digest. Every stored digest uses these names: they change only with
//! `schema_version`.

use platform::UtcTime;
use platform::records::logs::{LogId, LogKind};
use serde::{Deserialize, Serialize};

/// Version of the fields of a digest that lists files.
pub const SCHEMA_VERSION: u32 = 1;
/// Version of a digest that states an erasure: an older program must not take it for an empty list.
pub const ERASURE_VERSION: u32 = 2;

/// Sequence number of a log's first digest.
pub const FIRST_SEQUENCE: u64 = 0;
/// Margin before the last digest within which the collection and the check ignore an unlisted file, in
/// milliseconds: an archiver may be about to commit it, and clocks differ.
pub const UNLISTED_MARGIN_MS: u64 = 60_000;
/// Time from the writing of a file until a digest must list it, in milliseconds: its hour, and a margin for
/// an archiver with much to do.
pub const UNCOVERED_MS: u64 = 5_400_000;

/// Payload of a digest's JWS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDigest {
    pub schema_version: u32,
    /// Identifies the log together with project and kind, so that a digest is not valid for another log.
    pub account_id: String,
    /// Project of the log; null for the records of a whole account.
    pub project_id: Option<String>,
    pub kind: LogKind,
    /// Position in the chain of the log's digests, without gaps.
    pub sequence: u64,
    /// UTC hour of the digest's first files, such as `2026-11-24T17`.
    pub hour: String,
    pub created_at: UtcTime,
    /// Previous digest; null for the first.
    pub previous: Option<PreviousDigest>,
    /// Files that no earlier digest lists, sorted by name.
    pub files: Vec<DigestFile>,
    /// States that the project was erased: earlier digests and their files may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure: Option<Erasure>,
}

/// What an operator erased, as counted just before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// Operator, in the words of the command.
    pub operator: String,
    /// Reason, in the words of the command.
    pub reason: String,
    /// Number of files of this log, without replaced ones.
    pub files: u64,
    /// Number of records in these files.
    pub records: u64,
    /// Number of items of the project in all tables.
    pub project_items: u64,
    /// Number of objects of the project, those of its logs included.
    pub project_objects: u64,
}

/// Reference to the previous digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousDigest {
    /// Object key.
    pub name: String,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
}

/// A file, which an auditor compares with the object of this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestFile {
    /// Object key.
    pub name: String,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
    /// Size of the object.
    pub bytes: u64,
    pub records: u64,
    /// Object keys of the files that it replaces, and whose records it holds.
    #[serde(default)]
    pub replaces: Vec<String>,
}

impl LogDigest {
    pub fn log(&self) -> LogId {
        LogId::new(&self.account_id, self.project_id.as_deref(), self.kind)
    }

    /// Returns the object key.
    pub fn name(&self) -> String {
        self.log().digest_key(self.sequence, &self.hour)
    }
}

/// Last part of a digest's object key: `<sequence>-<hour>.jws`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DigestName {
    /// Position in the chain.
    pub sequence: u64,
    /// See [`LogDigest::hour`].
    pub hour: String,
}

impl DigestName {
    /// Parses a file name; None where it is not the name of a digest.
    pub fn read(file_name: &str) -> Option<Self> {
        let (sequence, hour) = file_name.strip_suffix(".jws")?.split_once('-')?;
        let is_number = sequence.len() == 10 && sequence.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self {
            sequence: is_number.then(|| sequence.parse().ok())??,
            hour: hour.to_owned(),
        })
    }
}

/// Returns the UTC hour of a time, such as `2026-11-24T17`.
pub fn digest_hour(time: UtcTime) -> String {
    let text = time.to_string();
    // Years always have four digits.
    text.get(..13).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_sequence_and_an_hour() {
        let name = DigestName::read("0000000012-2026-11-24T17.jws").unwrap();
        assert_eq!((name.sequence, name.hour.as_str()), (12, "2026-11-24T17"));
        for other in [
            "12-2026-11-24T17.jws",
            "0000000012-2026-11-24T17",
            "x.jws",
            ".jws",
        ] {
            assert_eq!(DigestName::read(other), None, "{other}");
        }
    }

    #[test]
    fn an_hour_is_that_of_utc() {
        let hour = |time: &str| digest_hour(time.parse().unwrap());
        assert_eq!(hour("2026-11-24T17:59:59.999Z"), "2026-11-24T17");
        assert_eq!(hour("2026-11-25T00:30:00+01:00"), "2026-11-24T23");
    }
}
