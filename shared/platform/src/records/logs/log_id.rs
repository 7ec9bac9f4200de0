//! Names logs and their objects in the data bucket.

use serde::{Deserialize, Serialize};

use crate::records::{Key, keys};

/// Replaces the project in object keys of data that belongs only to an account. No project id contains a `!`.
const NO_PROJECT_FOLDER: &str = "!account";

/// Each kind has its own heads, files and digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    /// Events of the platform, filed by the time at which they were received.
    Events,
    /// Audit records, filed by the time of the answer.
    Audit,
}

impl LogKind {
    pub const ALL: [Self; 2] = [Self::Events, Self::Audit];

    /// Returns the name in object keys and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Audit => "audit",
        }
    }

    /// Returns the part of the keys of heads.
    pub const fn heads(self) -> &'static str {
        match self {
            Self::Events => keys::EVENT_LOGS,
            Self::Audit => keys::AUDIT_LOGS,
        }
    }

    const fn files(self) -> &'static str {
        match self {
            Self::Events => "event-log-files",
            Self::Audit => "audit-log-files",
        }
    }

    const fn tail(self) -> &'static str {
        match self {
            Self::Events => "events-tail",
            Self::Audit => "audit-tail",
        }
    }
}

/// A log: the records of one kind of a project, or those of an account without a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogId {
    /// `*` for records without an account.
    #[serde(rename = "account_id")]
    pub account: String,
    /// None for audit records of account-scoped tokens.
    #[serde(rename = "project_id")]
    pub project: Option<String>,
    /// Determines the table of the log.
    pub kind: LogKind,
}

impl LogId {
    pub fn new(account: &str, project: Option<&str>, kind: LogKind) -> Self {
        Self {
            account: account.to_owned(),
            project: project.map(str::to_owned),
            kind,
        }
    }

    /// Returns `log/<account>/<project>`, the folder of all logs of the project.
    pub fn folder(&self) -> String {
        let project = self.project.as_deref().unwrap_or(NO_PROJECT_FOLDER);
        format!("log/{}/{project}", self.account)
    }

    /// Returns the object key of a file of a day, `YYYY-MM-DD` in UTC.
    pub fn file_key(&self, day: &str, file_id: &str) -> String {
        format!("{}/{day}/{}/{file_id}.parquet", self.folder(), self.kind.as_str())
    }

    /// Returns the object key of a digest of an hour, `YYYY-MM-DDTHH` in UTC.
    pub fn digest_key(&self, sequence: u64, hour: &str) -> String {
        let kind = self.kind.as_str();
        format!("{}/digests/{kind}/{sequence:010}-{hour}.jws", self.folder())
    }

    /// Returns the partition and sort key in `gsi1` of an unarchived record.
    pub fn tail_place(&self, time: crate::UtcTime, id: &str, shard: u16) -> (String, String) {
        (self.tail(shard), format!("{time}#{id}"))
    }

    /// Returns the partition in `gsi1` of the unarchived records of a shard.
    pub fn tail(&self, shard: u16) -> String {
        keys::log_tail(&self.account, self.project.as_deref(), self.kind.tail(), shard)
    }

    pub fn head_key(&self) -> Key {
        let project = self.project.as_deref().unwrap_or(keys::NO_PROJECT);
        Key::new(keys::log_heads(&self.account, self.kind.heads()), project)
    }

    /// Returns the partition of the files.
    pub fn files(&self) -> String {
        keys::log_part(&self.account, self.project.as_deref(), self.kind.files())
    }
}
