//! Checks a copy of the log against its digests offline, with a folder and a public key alone.
//!
//! The folder is a copy of the bucket or of a part of it: of an account, or of one project. Every digest must
//! be signed, be at its place in the chain, and contain the hash of the previous one; every file must be
//! listed by a digest and exist with its hash, unless a listed file replaced it. The last digest proves all
//! earlier ones, but nothing proves the last: an auditor notes its name and hash, and expects it in the next
//! copy.

mod chain;
mod files;
mod folders;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use folders::LogFolder;
use platform::records::logs::LogKind;
use platform::{Error, Result};

use crate::digest::PublicKey;
pub use report::{Fault, Finding, LastDigest, LogReport, Report};

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

/// Checks a folder. Calls `progress` with the size of each file once it is checked. Fails with 400 for a
/// folder without a log.
pub fn verify(
    folder: &Path,
    key: &PublicKey,
    expected: &[ExpectedDigest],
    progress: &mut dyn FnMut(u64),
) -> Result<Report> {
    let found = folders::find(folder).map_err(|cause| unreadable(folder, &cause))?;
    if found.logs.is_empty() && found.strays.is_empty() {
        return Err(Error::invalid(format!(
            "There is no log in {}. Name a copy of the bucket, of its folder `log`, or of the folder of an account or \
             project in it.",
            folder.display()
        )));
    }
    let mut report = Report::default();
    for stray in &found.strays {
        report.add(Finding::stray(&stray.display().to_string()));
    }
    let mut signed = BTreeMap::new();
    for log in &found.logs {
        check_folder(log, key, &mut report, &mut signed, progress)
            .map_err(|cause| unreadable(&log.path, &cause))?;
    }
    for digest in expected {
        expect(digest, &signed, &mut report);
    }
    Ok(report)
}

/// Returns the total size of a folder's files, for a progress bar.
pub fn bytes_of(folder: &Path) -> Result<u64> {
    let found = folders::find(folder).map_err(|cause| unreadable(folder, &cause))?;
    let files = found.logs.iter().flat_map(|log| log.files.values().flatten());
    Ok(files.map(|file| file.bytes).sum())
}

fn check_folder(
    folder: &LogFolder,
    key: &PublicKey,
    report: &mut Report,
    signed: &mut BTreeMap<String, String>,
    progress: &mut dyn FnMut(u64),
) -> std::io::Result<()> {
    let mut owner = folder.owner.clone();
    for stray in &folder.strays {
        report.add(Finding::stray(&stray.display().to_string()));
    }
    for kind in LogKind::ALL {
        let digests = folder.digests.get(&kind).map(Vec::as_slice).unwrap_or_default();
        let data = folder.files.get(&kind).map(Vec::as_slice).unwrap_or_default();
        if digests.is_empty() && data.is_empty() {
            continue;
        }
        let chain = chain::read(digests, kind, &mut owner, key)?;
        signed.extend(
            chain
                .links
                .iter()
                .map(|link| (link.name.clone(), link.sha256.clone())),
        );
        let checked = files::check(folder, kind, &owner, &chain, data, progress)?;
        report.add_log(checked);
    }
    Ok(())
}

fn expect(digest: &ExpectedDigest, signed: &BTreeMap<String, String>, report: &mut Report) {
    match signed.get(&digest.name) {
        Some(sha256) if *sha256 == digest.sha256 => {}
        Some(_) => report.add(Finding::new(
            Fault::Changed,
            &digest.name,
            "is not the digest that is expected: its hash is another",
        )),
        None => report.add(Finding::new(
            Fault::Removed,
            &digest.name,
            "is expected, and not among the digests that hold",
        )),
    }
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Error {
    Error::invalid(format!("{} cannot be read: {cause}.", path.display()))
}
