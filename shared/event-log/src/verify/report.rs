//! What a check found.

use platform::UtcTime;
use serde::Serialize;

/// Most findings that a report names.
const MAX_FINDINGS: usize = 1_000;

/// What was done to a file or a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Its bytes are not those that were signed.
    Changed,
    /// A digest lists it, or follows it, and it is not there.
    Removed,
    /// No digest lists it, although it is older than the last one.
    Added,
}

impl Fault {
    /// As the operator command prints it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }
}

/// A file or digest that is not as it was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was done to it.
    pub fault: Fault,
    /// Its object key; its path where the key is unknown.
    pub name: String,
    /// After the name: what the check expected.
    pub detail: String,
}

impl Finding {
    pub(super) fn new(fault: Fault, name: &str, detail: impl Into<String>) -> Self {
        Self {
            fault,
            name: name.to_owned(),
            detail: detail.into(),
        }
    }

    pub(super) fn stray(name: &str) -> Self {
        Self::new(Fault::Added, name, "is at no place of a log")
    }
}

/// One log: the events or the audit records of a project or account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// Its folder, such as `log/acme/demo`.
    pub folder: String,
    /// `events` or `audit`.
    pub kind: &'static str,
    /// Digests that are signed and in their place.
    pub digests: usize,
    /// The last digest, which the auditor notes.
    pub last_digest: Option<LastDigest>,
    /// Files that are there and have their hash.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Records of these files.
    pub records: u64,
    /// Files that are younger than the last digest.
    pub not_covered_yet: u64,
    /// Files that a digest may list that is missing or does not hold.
    pub unproven: u64,
    #[serde(skip)]
    pub(super) findings: Vec<Finding>,
}

/// The digest at the end of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastDigest {
    /// Its object key.
    pub name: String,
    /// Its place in the chain.
    pub sequence: u64,
    /// The SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
    /// When it was made.
    pub created_at: UtcTime,
}

/// What a check found in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Every log, by folder and kind.
    pub logs: Vec<LogReport>,
    /// What is not as it was signed: of each log in the order of its chain, the first 1,000.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub further_findings: u64,
}

impl Report {
    /// Whether everything is as it was signed.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self
            .findings
            .iter()
            .any(|other| other.name == finding.name && other.fault == finding.fault)
        {
            return;
        }
        match self.findings.len() < MAX_FINDINGS {
            true => self.findings.push(finding),
            false => self.further_findings += 1,
        }
    }

    pub(super) fn add_log(&mut self, mut log: LogReport) {
        for finding in std::mem::take(&mut log.findings) {
            self.add(finding);
        }
        self.logs.push(log);
    }
}
