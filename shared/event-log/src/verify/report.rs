//! Defines the report of a check.

use platform::UtcTime;
use serde::Serialize;

use crate::digest::Erasure;

/// Maximum number of findings that a report lists.
const MAX_FINDINGS: usize = 1_000;

/// Kind of tampering with a file or a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// Its bytes differ from the signed ones.
    Changed,
    /// A digest lists it or follows it, but it does not exist.
    Removed,
    /// No digest lists it, although one must by now.
    Added,
}

impl Fault {
    /// Name in the JSON of the operator command.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }
}

/// A file or digest that differs from its signed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub fault: Fault,
    /// Object key; the path where the key is unknown.
    pub name: String,
    /// Expectation of the check; follows the name.
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

    pub(super) fn stray(name: &str, is_file: bool) -> Self {
        let detail = match is_file {
            true => "has not the place and name of an object of a log",
            false => "is a link or no ordinary file, and a log has none",
        };
        Self::new(Fault::Added, name, detail)
    }
}

/// One log: the events or the audit records of a project or account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// Folder, such as `log/acme/demo`.
    pub folder: String,
    /// `events` or `audit`.
    pub kind: &'static str,
    /// Number of valid digests: signed, and at their place in the chain.
    pub digests: usize,
    /// Last digest, which the auditor notes.
    pub last_digest: Option<LastDigest>,
    /// Number of existing files with the right hash.
    pub files: u64,
    /// Total size of these files.
    pub bytes: u64,
    /// Number of records of these files.
    pub records: u64,
    /// Number of files that are younger than the last digest, and than the time until a digest must list
    /// them.
    pub not_covered_yet: u64,
    /// Number of files that a missing or invalid digest may list.
    pub unproven: u64,
    /// Signed erasures of the project, in the order of the chain.
    pub erasures: Vec<ErasureReport>,
    #[serde(skip)]
    pub(super) findings: Vec<Finding>,
}

/// Valid digest that states an erasure: of what was before, the check expects nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// Object key of the digest.
    pub name: String,
    pub created_at: UtcTime,
    #[serde(flatten)]
    pub erasure: Erasure,
}

/// Digest at the end of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastDigest {
    /// Object key.
    pub name: String,
    /// Position in the chain.
    pub sequence: u64,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
    /// Fingerprint of the key that signed it.
    pub key: String,
    pub created_at: UtcTime,
}

/// Result of the check of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Every log, by folder and kind.
    pub logs: Vec<LogReport>,
    /// Findings in the order of each log's chain, at most the first 1,000.
    pub findings: Vec<Finding>,
    pub further_findings: u64,
}

impl Report {
    /// Returns whether the check found nothing.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns whether the check found nothing, and a digest lists each file.
    pub fn is_complete(&self) -> bool {
        let is_proven = |log: &LogReport| log.digests > 0 && log.not_covered_yet == 0 && log.unproven == 0;
        self.holds() && !self.logs.is_empty() && self.logs.iter().all(is_proven)
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
