//! What a digest says. These names are in every digest that was ever signed: they change with
//! `schema_version`.

use platform::UtcTime;
use platform::records::logs::{LogId, LogKind};
use serde::{Deserialize, Serialize};

/// The version of the fields that are written now.
pub const SCHEMA_VERSION: u32 = 1;

/// The sequence of a log's first digest.
pub const FIRST_SEQUENCE: u64 = 0;
/// A file that no digest lists is left alone, by the collection and by the check, if it is so much older
/// than the last digest at most, in milliseconds: an archiver may be about to commit it, and clocks differ.
pub const UNLISTED_MARGIN_MS: u64 = 60_000;

/// What the JWS of a digest says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogDigest {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// With project and kind it names the log, so that no digest passes for another log's.
    pub account_id: String,
    /// The project of the log; null for the records of a whole account.
    pub project_id: Option<String>,
    /// The kind of the log's records.
    pub kind: LogKind,
    /// The place in the chain of the log's digests, without gaps.
    pub sequence: u64,
    /// The UTC hour in which the digest was made, such as `2026-11-24T17`.
    pub hour: String,
    /// When the digest was made.
    pub created_at: UtcTime,
    /// The digest before this one; null for the first.
    pub previous: Option<PreviousDigest>,
    /// The files that no earlier digest lists, by name.
    pub files: Vec<DigestFile>,
}

/// The digest before another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousDigest {
    /// Its object key.
    pub name: String,
    /// The SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
}

/// An auditor compares it with the object of this name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestFile {
    /// Its object key.
    pub name: String,
    /// The SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
    /// In bytes of the object.
    pub bytes: u64,
    /// How many records it holds.
    pub records: u64,
    /// The object keys of the files whose records it holds instead of them.
    #[serde(default)]
    pub replaces: Vec<String>,
}

impl LogDigest {
    /// The log whose files it lists.
    pub fn log(&self) -> LogId {
        LogId::new(&self.account_id, self.project_id.as_deref(), self.kind)
    }

    /// Its object key.
    pub fn name(&self) -> String {
        self.log().digest_key(self.sequence, &self.hour)
    }
}

/// The last part of a digest's object key: `<sequence>-<hour>.jws`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DigestName {
    /// The place in the chain.
    pub sequence: u64,
    /// As [`LogDigest::hour`].
    pub hour: String,
}

impl DigestName {
    /// None for a file that is not named as a digest is.
    pub fn read(file_name: &str) -> Option<Self> {
        let (sequence, hour) = file_name.strip_suffix(".jws")?.split_once('-')?;
        let is_number = sequence.len() == 10 && sequence.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self {
            sequence: is_number.then(|| sequence.parse().ok())??,
            hour: hour.to_owned(),
        })
    }
}

/// The UTC hour of a time, such as `2026-11-24T17`.
pub fn digest_hour(time: UtcTime) -> String {
    let text = time.to_string();
    // The years of a clock have four digits.
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
