//! Checks the files of a log against its digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Result};
use std::path::Path;

use platform::ids;
use platform::records::logs::LogKind;
use sha2::{Digest as _, Sha256};

use super::chain::Chain;
use super::folders::{DataPath, LogFolder, Owner};
use super::report::{Fault, Finding, LastDigest, LogReport};
use crate::digest::{DigestFile, UNLISTED_MARGIN_MS};

/// Number of bytes hashed at a time.
const PIECE_BYTES: usize = 256 * 1_024;

/// Sort key of a finding: its sequence, digests before files.
type Place = (u64, bool);

pub(super) fn check(
    folder: &LogFolder,
    kind: LogKind,
    owner: &Owner,
    chain: &Chain,
    data: &[DataPath],
    progress: &mut dyn FnMut(u64),
) -> Result<LogReport> {
    let prefix = owner
        .folder()
        .unwrap_or_else(|| folder.path.display().to_string());
    let mut checked = Checked {
        report: LogReport {
            folder: prefix.clone(),
            kind: kind.as_str(),
            digests: chain.links.len(),
            last_digest: last(chain),
            ..LogReport::default()
        },
        findings: Vec::new(),
        chain,
    };
    for (sequence, finding) in &chain.findings {
        checked.findings.push(((*sequence, false), finding.clone()));
    }
    let present: BTreeMap<&str, &DataPath> = data.iter().map(|file| (file.place.as_str(), file)).collect();
    let replaced = replaced(chain);
    let mut listed = BTreeSet::new();
    for (sequence, file) in files(chain) {
        let place = file
            .name
            .strip_prefix(&format!("{prefix}/"))
            .unwrap_or(&file.name);
        listed.insert(place.to_owned());
        match present.get(place) {
            Some(found) => checked.compare(sequence, file, found)?,
            None if replaced.contains(file.name.as_str()) => {}
            None => checked.missing(sequence, file),
        }
    }
    checked.merges_keep_records();
    for file in data {
        if !listed.contains(&file.place) {
            checked.unlisted(file, &prefix);
        }
        progress(file.bytes);
    }
    Ok(checked.finish())
}

struct Checked<'a> {
    report: LogReport,
    findings: Vec<(Place, Finding)>,
    chain: &'a Chain,
}

impl Checked<'_> {
    fn add(&mut self, sequence: u64, fault: Fault, name: &str, detail: impl Into<String>) {
        self.findings
            .push(((sequence, true), Finding::new(fault, name, detail)));
    }

    fn compare(&mut self, sequence: u64, file: &DigestFile, found: &DataPath) -> Result<()> {
        if found.bytes != file.bytes {
            let detail = format!("has {} bytes, of {} that were signed", found.bytes, file.bytes);
            self.add(sequence, Fault::Changed, &file.name, detail);
        } else if hash(&found.path)? != file.sha256 {
            self.add(
                sequence,
                Fault::Changed,
                &file.name,
                "has not the hash that was signed",
            );
        } else {
            self.report.files += 1;
            self.report.bytes += file.bytes;
            self.report.records += file.records;
        }
        Ok(())
    }

    /// An invalid later digest may list the file that replaces this one: then the digest is reported first.
    fn missing(&mut self, sequence: u64, file: &DigestFile) {
        let gap = self.chain.gaps.iter().rfind(|gap| gap.sequence > sequence);
        match gap {
            Some(gap) => self.add(
                gap.sequence,
                Fault::Removed,
                &file.name,
                "is missing, and no digest that holds lists a file in its place",
            ),
            None => self.add(sequence, Fault::Removed, &file.name, "is missing"),
        }
    }

    /// Handles a file that no valid digest lists: it may be younger than the last digest, or belong to an
    /// invalid one.
    fn unlisted(&mut self, file: &DataPath, prefix: &str) {
        let name = format!("{prefix}/{}", file.place);
        let Some(made) = ids::time_of(&file.id) else {
            return self.add(0, Fault::Added, &name, "has not the name of a file of the log");
        };
        // The writer's clock may be behind the clock of the digest's signer.
        let latest = made.plus_ms(UNLISTED_MARGIN_MS);
        let in_gap = self.chain.gaps.iter().any(|gap| {
            gap.after.is_none_or(|after| latest >= after) && gap.before.is_none_or(|before| made <= before)
        });
        let links = &self.chain.links;
        if in_gap {
            self.report.unproven += 1;
        } else if links.last().is_none_or(|last| latest >= last.digest.created_at) {
            self.report.not_covered_yet += 1;
        } else {
            let next = links.iter().find(|link| link.digest.created_at >= made);
            let sequence = next.map_or(u64::MAX, |link| link.digest.sequence);
            self.add(
                sequence,
                Fault::Added,
                &name,
                "is older than the last digest, and no digest lists it",
            );
        }
    }

    fn merges_keep_records(&mut self) {
        let records: BTreeMap<&str, u64> = files(self.chain)
            .map(|(_, file)| (file.name.as_str(), file.records))
            .collect();
        let mut broken = Vec::new();
        for (sequence, file) in files(self.chain).filter(|(_, file)| !file.replaces.is_empty()) {
            let before: Option<u64> = file.replaces.iter().map(|name| records.get(name.as_str())).sum();
            if before.is_some_and(|before| before != file.records) {
                broken.push((sequence, file.name.clone()));
            }
        }
        for (sequence, name) in broken {
            let detail = "has not as many records as the files that it replaces";
            self.add(sequence, Fault::Changed, &name, detail);
        }
    }

    fn finish(mut self) -> LogReport {
        self.findings.sort_by_key(|(place, _)| *place);
        self.report.findings = self.findings.into_iter().map(|(_, finding)| finding).collect();
        self.report
    }
}

fn files(chain: &Chain) -> impl Iterator<Item = (u64, &DigestFile)> {
    let links = chain.links.iter();
    links.flat_map(|link| link.digest.files.iter().map(|file| (link.digest.sequence, file)))
}

fn replaced(chain: &Chain) -> BTreeSet<&str> {
    files(chain)
        .flat_map(|(_, file)| file.replaces.iter().map(String::as_str))
        .collect()
}

fn last(chain: &Chain) -> Option<LastDigest> {
    let link = chain.links.last()?;
    Some(LastDigest {
        name: link.name.clone(),
        sequence: link.digest.sequence,
        sha256: link.sha256.clone(),
        created_at: link.digest.created_at,
    })
}

fn hash(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(hex::encode(hasher.finalize()));
        }
        hasher.update(piece.get(..read).unwrap_or_default());
    }
}
