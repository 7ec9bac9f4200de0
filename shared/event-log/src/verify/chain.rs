//! Reads the digests of a log in order.

use platform::records::logs::LogKind;
use platform::{Result, UtcTime};

use super::copy::LogCopy;
use super::folders::{DigestPath, Owner};
use super::report::{Fault, Finding};
use crate::digest::{DigestName, DigestOfKey, FIRST_SEQUENCE, LogDigest, PublicKeys, sha256_hex};

#[derive(Default)]
pub(super) struct Chain {
    /// Valid digests: signed, and at their place in the chain.
    pub links: Vec<Link>,
    /// Faults of the other digests, each with its sequence number.
    pub findings: Vec<(u64, Finding)>,
    /// Places where digests are missing or invalid.
    pub gaps: Vec<Gap>,
    /// Sequence of the last valid digest that states an erasure: earlier digests and their files may be
    /// missing.
    pub erased: Option<u64>,
    next: u64,
}

/// Digests with one sequence number.
#[derive(Default)]
struct Sequence<'a> {
    number: u64,
    link: Option<Link>,
    /// Others, with their faults.
    refused: Vec<(&'a DigestPath, String)>,
}

/// A valid digest, with its name and hash.
pub(super) struct Link {
    pub name: String,
    pub sha256: String,
    /// Fingerprint of the key that signed it.
    pub key: String,
    pub digest: LogDigest,
}

/// Missing or invalid digests between two valid ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub sequence: u64,
    /// Creation time of the digest before the gap; None at the beginning of the chain.
    pub after: Option<UtcTime>,
    /// Creation time of the digest after the gap; None at the end of the chain.
    pub before: Option<UtcTime>,
}

impl Chain {
    /// Returns whether a digest, and with it its files, may be missing because the project was erased later.
    pub fn is_erased(&self, sequence: u64) -> bool {
        self.erased.is_some_and(|erased| sequence < erased)
    }

    /// Adds the digests of the next sequence number that is there.
    fn take(&mut self, place: Sequence<'_>, owner: &Owner, kind: LogKind) {
        let Sequence {
            number,
            link,
            mut refused,
        } = place;
        if number > self.next && !self.is_erased(self.next) {
            self.missing(self.next, number, owner, kind);
        }
        self.next = number.saturating_add(1);
        if link.is_none() && !refused.is_empty() {
            let (found, reason) = refused.remove(0);
            self.broken(
                number,
                Fault::Changed,
                &shown_name(owner, kind, &found.name),
                reason,
            );
            self.gap_at(number);
        }
        for (found, _) in refused {
            let name = shown_name(owner, kind, &found.name);
            self.broken(number, Fault::Added, &name, "is a second digest of its sequence");
        }
        if let Some(link) = link {
            self.check_previous(&link);
            self.add(link);
        }
    }

    /// Checks the previous digest against the name and hash in this one. A mismatch counts against the
    /// previous digest, because this one is signed.
    fn check_previous(&mut self, link: &Link) {
        let sequence = link.digest.sequence;
        let before = self
            .links
            .last()
            .filter(|before| before.digest.sequence + 1 == sequence);
        let said = link.digest.previous.as_ref();
        let fits = match (before, said) {
            (Some(before), Some(said)) => said.name == before.name && said.sha256 == before.sha256,
            (Some(_), None) => false,
            // The previous digest is missing or invalid, which is already reported, or erased.
            (None, said) => said.is_some() || sequence == FIRST_SEQUENCE,
        };
        if fits {
            return;
        }
        let name = before.map_or_else(|| link.name.clone(), |before| before.name.clone());
        let detail = format!("has not the hash that the next digest, {}, names", link.name);
        self.broken(sequence.saturating_sub(1), Fault::Changed, &name, detail);
    }

    fn gap_at(&mut self, sequence: u64) {
        if self.gaps.last().is_some_and(|gap| gap.before.is_none()) {
            return;
        }
        self.gaps.push(Gap {
            sequence,
            after: self.links.last().map(|link| link.digest.created_at),
            before: None,
        });
    }

    fn add(&mut self, link: Link) {
        if let Some(gap) = self.gaps.last_mut() {
            gap.before.get_or_insert(link.digest.created_at);
        }
        self.links.push(link);
    }

    fn missing(&mut self, from: u64, to: u64, owner: &Owner, kind: LogKind) {
        let detail = match to - from {
            1 => "is missing".to_owned(),
            count => format!("and the {} digests after it are missing", count - 1),
        };
        let name = format!("{}/digests/{}/{from:010}", folder_of(owner), kind.as_str());
        self.broken(from, Fault::Removed, &name, detail);
        self.gap_at(from);
    }

    fn broken(&mut self, sequence: u64, fault: Fault, name: &str, detail: impl Into<String>) {
        self.findings.push((sequence, Finding::new(fault, name, detail)));
    }
}

/// Reads digests sorted by sequence. The first valid one names the log where the folder names do not.
pub(super) async fn read(
    copy: &LogCopy,
    digests: &[DigestPath],
    kind: LogKind,
    owner: &mut Owner,
    keys: &PublicKeys,
) -> Result<Chain> {
    let mut read = Vec::new();
    for of_sequence in digests.chunk_by(|one, other| one.name.sequence == other.name.sequence) {
        let mut place = Sequence::default();
        for found in of_sequence {
            place.number = found.name.sequence;
            match open(copy, found, kind, owner, keys).await? {
                Ok(opened) if place.link.is_none() => place.link = Some(opened),
                Ok(_) => place.refused.push((found, String::new())),
                Err(reason) => place.refused.push((found, reason)),
            }
        }
        if let Some(link) = &place.link {
            owner.learn(&link.digest);
        }
        read.push(place);
    }
    let links = read.iter().filter_map(|place| place.link.as_ref());
    let erased = links.rev().find(|link| link.digest.erasure.is_some());
    let mut chain = Chain {
        erased: erased.map(|link| link.digest.sequence),
        ..Chain::default()
    };
    for place in read {
        chain.take(place, owner, kind);
    }
    check_end(&mut chain, keys, owner, kind);
    Ok(chain)
}

/// Checks that the current key signed the last digest, and so proves the digests of the keys before.
fn check_end(chain: &mut Chain, keys: &PublicKeys, owner: &Owner, kind: LogKind) {
    // An invalid or missing end is already reported.
    if chain.gaps.last().is_some_and(|gap| gap.before.is_none()) {
        return;
    }
    let Some(last) = chain.links.last().filter(|link| !keys.is_current(&link.key)) else {
        return;
    };
    let next = last.digest.sequence.saturating_add(1);
    let detail = format!(
        "must be signed with the current key, because the last digest is of the earlier key {}, which proves nothing by \
         itself. `ops audit archive --sign --all-logs` signs it",
        last.key
    );
    let name = format!("{}/digests/{}/{next:010}", folder_of(owner), kind.as_str());
    chain.broken(next, Fault::Removed, &name, detail);
}

/// Returns a digest if it is valid, else its fault.
async fn open(
    copy: &LogCopy,
    found: &DigestPath,
    kind: LogKind,
    owner: &Owner,
    keys: &PublicKeys,
) -> Result<std::result::Result<Link, String>> {
    let Some(bytes) = copy.read(&found.place).await? else {
        return Ok(Err("was removed during the check".to_owned()));
    };
    let DigestOfKey { digest, key } = match keys.open(&bytes) {
        Ok(read) => read,
        Err(reason) => return Ok(Err(reason.sentence())),
    };
    let name = digest.name();
    Ok(match is_in_its_place(&digest, found, kind, owner) {
        true => Ok(Link {
            name,
            sha256: sha256_hex(&bytes),
            key,
            digest,
        }),
        false => Err(format!("is the digest {name}, at another place")),
    })
}

fn is_in_its_place(digest: &LogDigest, found: &DigestPath, kind: LogKind, owner: &Owner) -> bool {
    let said = digest.log().folder();
    let said_project = said.rsplit('/').next();
    digest.kind == kind
        && digest.sequence == found.name.sequence
        && digest.hour == found.name.hour
        && owner
            .account
            .as_ref()
            .is_none_or(|account| *account == digest.account_id)
        && owner
            .project
            .as_deref()
            .is_none_or(|project| Some(project) == said_project)
}

fn folder_of(owner: &Owner) -> String {
    owner.folder().unwrap_or_else(|| "log/…".to_owned())
}

fn shown_name(owner: &Owner, kind: LogKind, name: &DigestName) -> String {
    format!(
        "{}/digests/{}/{:010}-{}.jws",
        folder_of(owner),
        kind.as_str(),
        name.sequence,
        name.hour
    )
}
