//! Checks a log against its digests, with its objects and public keys alone.
//!
//! The objects are those of the bucket, or a copy of it or of a part of it: of an account, or of one project.
//! Every digest must be signed, be at its place in the chain, and contain the hash of the previous one; every
//! file must be listed by a digest and exist with its hash, unless a listed file replaced it. A log with
//! files must have a digest, and a file without one must be from the last hour. Nothing else may be below a
//! log: readers differ in what they take for its files. The last digest proves all earlier ones, but nothing
//! proves the last, nor that there was a log: an auditor notes its name and hash, and expects it in the next
//! copy. A digest that states an erasure stands for all earlier ones and their files, of which what is there
//! is checked.
//!
//! The checker names the keys, and the first is the current one. Each digest is checked with the key that it
//! names, and the last one of a log must be of the current key. So a key that was replaced proves nothing by
//! itself: only the hashes in later digests prove what it signed, and the holder of a stolen one can neither
//! change a log nor continue it.

mod chain;
mod copy;
mod files;
mod folders;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use chain::Chain;
use files::Against;
use platform::records::logs::LogKind;
use platform::{Result, UtcTime};

use crate::digest::{DigestName, LogDigest, PublicKeys};
pub use copy::{KeyOfPath, LogCopy};
pub use report::{ErasureReport, Fault, Finding, LastDigest, LogReport, Report};

/// A digest that the auditor noted earlier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedDigest {
    /// Object key.
    pub name: String,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: String,
}

impl std::str::FromStr for ExpectedDigest {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = text.rsplit_once('=');
        let parts = parts
            .filter(|(_, sha256)| sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (name, sha256) = parts.ok_or("write it as the check prints it: <name>=<sha256>")?;
        Ok(Self {
            name: name.to_owned(),
            sha256: sha256.to_ascii_lowercase(),
        })
    }
}

/// Checks the objects of a copy that was made at the time `now`. Calls `progress` with the size of each file
/// once it is checked.
pub async fn verify(
    copy: &LogCopy,
    keys: &PublicKeys,
    expected: &[ExpectedDigest],
    now: UtcTime,
    progress: &mut dyn FnMut(u64),
) -> Result<Report> {
    let mut report = Report::default();
    for stray in &copy.strays {
        report.add(stray.clone());
    }
    let mut signed = Signed::default();
    // Only the logs of one account may be in a folder that does not name it.
    let mut account = None;
    for log in &copy.logs {
        let mut owner = log.owner.clone();
        owner.account = owner.account.or_else(|| account.clone());
        for kind in LogKind::ALL {
            let digests = log.digests.get(&kind).map(Vec::as_slice).unwrap_or_default();
            let data = log.files.get(&kind).map(Vec::as_slice).unwrap_or_default();
            if digests.is_empty() && data.is_empty() {
                continue;
            }
            let chain = chain::read(copy, digests, kind, &mut owner, keys).await?;
            signed.add(&chain);
            let against = Against {
                copy,
                kind,
                owner: &owner,
                chain: &chain,
                now,
            };
            report.add_log(files::check(against, data, progress).await?);
        }
        if log.owner.account.is_none() {
            account = owner.account;
        }
    }
    for digest in expected {
        expect(digest, &signed, &mut report);
    }
    Ok(report)
}

/// Valid digests of all logs.
#[derive(Default)]
struct Signed {
    /// Hashes by name.
    hashes: BTreeMap<String, String>,
    /// Digests that state erasures.
    erasures: Vec<LogDigest>,
}

impl Signed {
    fn add(&mut self, chain: &Chain) {
        for link in &chain.links {
            self.hashes.insert(link.name.clone(), link.sha256.clone());
            if link.digest.erasure.is_some() {
                self.erasures.push(link.digest.clone());
            }
        }
    }

    /// Returns whether an erasure states that this digest was erased. An erasure names the hash of the digest
    /// right before it alone.
    fn has_erased(&self, digest: &ExpectedDigest) -> bool {
        let name = digest.name.rsplit('/').next().and_then(DigestName::read);
        let Some(name) = name else {
            return false;
        };
        self.erasures.iter().any(|erasure| {
            let is_of_log = erasure.log().digest_key(name.sequence, &name.hour) == digest.name;
            let is_previous = name.sequence.saturating_add(1) == erasure.sequence;
            let fits = erasure
                .previous
                .as_ref()
                .is_some_and(|previous| previous.name == digest.name && previous.sha256 == digest.sha256);
            is_of_log && name.sequence < erasure.sequence && (fits || !is_previous)
        })
    }
}

fn expect(digest: &ExpectedDigest, signed: &Signed, report: &mut Report) {
    match signed.hashes.get(&digest.name) {
        Some(sha256) if *sha256 == digest.sha256 => {}
        Some(_) => report.add(Finding::new(
            Fault::Changed,
            &digest.name,
            "is not the digest that is expected: its hash is another",
        )),
        None if signed.has_erased(digest) => {}
        None => report.add(Finding::new(
            Fault::Removed,
            &digest.name,
            "is expected, and not among the digests that hold",
        )),
    }
}
