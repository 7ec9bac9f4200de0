//! Names of logs, and of their objects in the data bucket.

use serde::{Deserialize, Serialize};

use crate::records::{Key, keys};

/// Stands in object keys for the project of what belongs to an account alone. No project id can hold a `!`.
const NO_PROJECT_FOLDER: &str = "!account";

/// Each kind has heads, files and digests of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogKind {
    /// Events of the platform, by the time at which they happened.
    Events,
    /// Audit records, by the time of the request.
    Audit,
}

impl LogKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Events, Self::Audit];

    /// Name in object keys and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Audit => "audit",
        }
    }

    pub(super) const fn heads(self) -> &'static str {
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

/// A log: the records of one kind of one project, or those of an account that belong to no project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogId {
    /// `*` for records that name none.
    #[serde(rename = "account_id")]
    pub account: String,
    /// Project of the records; None for audit records of account-scoped tokens.
    #[serde(rename = "project_id")]
    pub project: Option<String>,
    /// Decides in which table the log is.
    pub kind: LogKind,
}

impl LogId {
    /// The log of a project, or of an account's records without one.
    pub fn new(account: &str, project: Option<&str>, kind: LogKind) -> Self {
        Self {
            account: account.to_owned(),
            project: project.map(str::to_owned),
            kind,
        }
    }

    /// `log/<account>/<project>`: the folder of all logs of the project.
    pub fn folder(&self) -> String {
        let project = self.project.as_deref().unwrap_or(NO_PROJECT_FOLDER);
        format!("log/{}/{project}", self.account)
    }

    /// Object key of a file of a day, which is `YYYY-MM-DD` in UTC.
    pub fn file_key(&self, day: &str, file_id: &str) -> String {
        format!("{}/{day}/{}/{file_id}.parquet", self.folder(), self.kind.as_str())
    }

    /// Object key of a digest of an hour, which is `YYYY-MM-DDTHH` in UTC.
    pub fn digest_key(&self, sequence: u64, hour: &str) -> String {
        let kind = self.kind.as_str();
        format!("{}/digests/{kind}/{sequence:010}-{hour}.jws", self.folder())
    }

    /// Partition and sort key in `gsi1` of a record that is not archived.
    pub(crate) fn tail_place(&self, time: crate::UtcTime, id: &str, shard: u16) -> (String, String) {
        (self.tail(shard), format!("{time}#{id}"))
    }

    /// Whether a partition of `gsi1` is a shard of the tail.
    pub(super) fn is_tail(&self, pk: &str) -> bool {
        let rest = pk.strip_prefix(&self.tail(0));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    pub(super) fn tail(&self, shard: u16) -> String {
        keys::log_tail(&self.account, self.project.as_deref(), self.kind.tail(), shard)
    }

    pub(super) fn head_key(&self) -> Key {
        let project = self.project.as_deref().unwrap_or(keys::NO_PROJECT);
        Key::new(keys::log_heads(&self.account, self.kind.heads()), project)
    }

    pub(super) fn files(&self) -> String {
        keys::log_part(&self.account, self.project.as_deref(), self.kind.files())
    }
}
