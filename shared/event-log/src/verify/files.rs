//! Checks the files of a log against its digests.

use std::collections::{BTreeMap, BTreeSet};

use platform::records::logs::LogKind;
use platform::{Result, UtcTime, ids};

use super::chain::{Chain, Link};
use super::copy::LogCopy;
use super::folders::Place as ObjectPlace;
use super::folders::{DataPath, Owner};
use super::report::{ErasureReport, Fault, Finding, LastDigest, LogReport};
use crate::digest::{DigestFile, UNCOVERED_MS, UNLISTED_MARGIN_MS};

/// Detail of a file that a digest must list by now.
const UNCOVERED: &str = "is older than an hour and a half, and no digest lists it. If its archiver did not run \
    since, run `ops audit archive --sign` and check again";

/// Sort key of a finding: its sequence, digests before files.
type Place = (u64, bool);

/// Digests and time that the files of a log are checked against.
pub(super) struct Against<'a> {
    pub copy: &'a LogCopy,
    pub kind: LogKind,
    pub owner: &'a Owner,
    pub chain: &'a Chain,
    /// Time of the copy.
    pub now: UtcTime,
}

pub(super) async fn check(
    against: Against<'_>,
    data: &[DataPath],
    progress: &mut dyn FnMut(u64),
) -> Result<LogReport> {
    let Against {
        copy, kind, chain, ..
    } = against;
    let prefix = copy.folder_of(against.owner);
    let mut checked = Checked {
        report: LogReport {
            folder: prefix.clone(),
            kind: kind.as_str(),
            digests: chain.links.len(),
            last_digest: last(chain),
            erasures: erasures(chain),
            ..LogReport::default()
        },
        findings: Vec::new(),
        against,
    };
    if chain.links.is_empty() && chain.findings.is_empty() {
        checked.unsigned(&prefix, data.len());
    }
    for (sequence, finding) in &chain.findings {
        checked.findings.push(((*sequence, false), finding.clone()));
    }
    let present: BTreeMap<&str, &DataPath> = data.iter().map(|file| (file.name.as_str(), file)).collect();
    let replaced = replaced(chain);
    let mut listed = BTreeSet::new();
    for (sequence, file) in files(chain) {
        let place = file
            .name
            .strip_prefix(&format!("{prefix}/"))
            .unwrap_or(&file.name);
        listed.insert(place.to_owned());
        let is_replaced = replaced.contains(file.name.as_str());
        match present.get(place) {
            Some(found) => checked.compare(sequence, file, &found.place, is_replaced).await?,
            None if is_replaced => {}
            // A file that was written while the objects were listed.
            None => {
                let place = ObjectPlace::Key(file.name.clone());
                checked.compare(sequence, file, &place, false).await?;
            }
        }
    }
    checked.merges_keep_records();
    for file in data {
        if !listed.contains(&file.name) {
            checked.unlisted(file, &prefix);
        }
        progress(file.bytes);
    }
    Ok(checked.finish())
}

struct Checked<'a> {
    report: LogReport,
    findings: Vec<(Place, Finding)>,
    against: Against<'a>,
}

impl Checked<'_> {
    fn add(&mut self, sequence: u64, fault: Fault, name: &str, detail: impl Into<String>) {
        self.findings
            .push(((sequence, true), Finding::new(fault, name, detail)));
    }

    /// Without a digest, nothing proves anything about the files.
    fn unsigned(&mut self, prefix: &str, files: usize) {
        let name = format!("{prefix}/digests/{}", self.against.kind.as_str());
        let detail = format!(
            "has no digest, and the log has {files} file(s). The first digest is signed after the hour of the first \
             file; `ops audit archive --sign` signs one at once"
        );
        self.add(0, Fault::Removed, &name, detail);
    }

    async fn compare(
        &mut self,
        sequence: u64,
        file: &DigestFile,
        place: &ObjectPlace,
        is_replaced: bool,
    ) -> Result<()> {
        match self.against.copy.hash(place).await? {
            Some(sha256) if sha256 == file.sha256 => {
                self.report.files += 1;
                self.report.bytes += file.bytes;
                self.report.records += file.records;
            }
            Some(_) => {
                let detail = "has not the hash that was signed";
                self.add(sequence, Fault::Changed, &file.name, detail);
            }
            None if is_replaced => {}
            None => self.missing(sequence, file),
        }
        Ok(())
    }

    /// An invalid later digest may list the file that replaces this one: then the digest is reported first.
    fn missing(&mut self, sequence: u64, file: &DigestFile) {
        if self.against.chain.is_erased(sequence) {
            return;
        }
        let gap = self
            .against
            .chain
            .gaps
            .iter()
            .rfind(|gap| gap.sequence > sequence);
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

    /// Returns whether a digest must list the file by now. Its id and its time can be chosen, so neither
    /// makes it young by itself.
    fn is_due(&self, file: &DataPath) -> bool {
        let made = ids::time_of(&file.id).unwrap_or(file.modified);
        made.min(file.modified).plus_ms(UNCOVERED_MS) <= self.against.now
    }

    /// Handles a file that no valid digest lists: it may be younger than the last digest, or belong to an
    /// invalid one.
    fn unlisted(&mut self, file: &DataPath, prefix: &str) {
        let name = format!("{prefix}/{}", file.name);
        let Some(made) = ids::time_of(&file.id) else {
            return self.add(0, Fault::Added, &name, "has not the name of a file of the log");
        };
        // The writer's clock may be behind the clock of the digest's signer.
        let latest = made.plus_ms(UNLISTED_MARGIN_MS);
        let Against { chain, now, .. } = self.against;
        let in_gap = chain.gaps.iter().any(|gap| {
            gap.after.is_none_or(|after| latest >= after) && gap.before.is_none_or(|before| made <= before)
        });
        let links = &chain.links;
        if in_gap || links.is_empty() {
            self.report.unproven += 1;
        } else if links.last().is_none_or(|last| latest >= last.digest.created_at) {
            if self.is_due(file) {
                self.add(u64::MAX, Fault::Added, &name, UNCOVERED);
            } else if made > now.plus_ms(UNLISTED_MARGIN_MS) {
                self.add(
                    u64::MAX,
                    Fault::Added,
                    &name,
                    "has an id of the future, and no digest lists it",
                );
            } else {
                self.report.not_covered_yet += 1;
            }
        } else {
            let next = links.iter().find(|link| link.digest.created_at >= made);
            let sequence = next.map_or(u64::MAX, |link| link.digest.sequence);
            let detail = match chain.erased.is_some_and(|erased| sequence <= erased) {
                true => "is from before the erasure, and no digest lists it. Repeat `ops tenant erase`",
                false => "is older than the last digest, and no digest lists it",
            };
            self.add(sequence, Fault::Added, &name, detail);
        }
    }

    fn merges_keep_records(&mut self) {
        let chain = self.against.chain;
        let records: BTreeMap<&str, u64> = files(chain)
            .map(|(_, file)| (file.name.as_str(), file.records))
            .collect();
        let mut broken = Vec::new();
        for (sequence, file) in files(chain).filter(|(_, file)| !file.replaces.is_empty()) {
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

fn erasures(chain: &Chain) -> Vec<ErasureReport> {
    let of_link = |link: &Link| {
        Some(ErasureReport {
            name: link.name.clone(),
            created_at: link.digest.created_at,
            erasure: link.digest.erasure.clone()?,
        })
    };
    chain.links.iter().filter_map(of_link).collect()
}

fn last(chain: &Chain) -> Option<LastDigest> {
    let link = chain.links.last()?;
    Some(LastDigest {
        name: link.name.clone(),
        sequence: link.digest.sequence,
        sha256: link.sha256.clone(),
        key: link.key.clone(),
        created_at: link.digest.created_at,
    })
}
