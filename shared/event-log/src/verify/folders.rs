//! Sorts the objects of logs by log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use platform::UtcTime;
use platform::records::logs::LogKind;

use super::report::Finding;
use crate::digest::{DigestName, LogDigest};

/// Folder of a log's digests, beside those of its days.
const DIGESTS: &str = "digests";
/// The one file that is left out, which a desktop writes into each folder. Readers skip names with a dot.
const OF_A_DESKTOP: &str = ".DS_Store";

/// Where the bytes of an object are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    /// Neither a file nor a folder: a link, whose target may be anywhere, or a pipe.
    NoFile(PathBuf),
    Key(String),
}

impl Place {
    /// Returns the path or key for a finding.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) | Self::NoFile(path) => path.display().to_string(),
            Self::Key(key) => key.clone(),
        }
    }
}

pub(super) struct Listed {
    /// Parts of the key, as far as they are known: below `log/` where `is_whole`.
    pub parts: Vec<String>,
    pub is_whole: bool,
    pub place: Place,
    pub bytes: u64,
    pub modified: UtcTime,
}

/// Objects of the logs of a project, or of the records of a whole account.
#[derive(Default)]
pub(super) struct LogFolder {
    pub owner: Owner,
    pub digests: BTreeMap<LogKind, Vec<DigestPath>>,
    pub files: BTreeMap<LogKind, Vec<DataPath>>,
}

/// Names of a log's owner as far as they are known, from the folders inside the given one, or from the first
/// valid digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub account: Option<String>,
    /// `!account` for the records of a whole account.
    pub project: Option<String>,
}

pub(super) struct DigestPath {
    pub name: DigestName,
    pub place: Place,
}

pub(super) struct DataPath {
    /// Key below the log's folder: `<day>/<kind>/<id>.parquet`.
    pub name: String,
    pub id: String,
    pub place: Place,
    pub bytes: u64,
    pub modified: UtcTime,
}

impl Owner {
    /// Takes the names from a digest that the folders do not give.
    pub fn learn(&mut self, digest: &LogDigest) {
        self.account.get_or_insert_with(|| digest.account_id.clone());
        let folder = digest.log().folder();
        let project = folder.rsplit('/').next().unwrap_or_default();
        self.project.get_or_insert_with(|| project.to_owned());
    }

    /// Returns the prefix of the log's object keys; None while it is unknown.
    pub fn folder(&self) -> Option<String> {
        Some(format!(
            "log/{}/{}",
            self.account.as_ref()?,
            self.project.as_ref()?
        ))
    }
}

/// Logs, by the parts of the keys before those that every log has.
#[derive(Default)]
pub(super) struct Sorted {
    logs: BTreeMap<Vec<String>, LogFolder>,
    /// Parts of the keys of all sorted objects.
    known: BTreeSet<Vec<String>>,
    strays: Vec<Finding>,
    /// What is at no place of a log, and a fault only below the folder of one, which is known at the end.
    others: Vec<(Vec<String>, Finding)>,
}

impl Sorted {
    /// Adds an object to its log, or to the strays, whatever its name is: some reader takes each file.
    pub fn add(&mut self, listed: Listed) {
        let parts = listed.parts.clone();
        let name = parts.last().map(String::as_str).unwrap_or_default();
        let is_file = !matches!(listed.place, Place::NoFile(_));
        if matches!(&listed.place, Place::File(path) if path.ends_with(OF_A_DESKTOP)) {
            return;
        }
        let shown = listed.place.shown();
        let is_in_a_log = listed.is_whole || has_the_name_of_a_file(name) || is_below_a_part(&parts);
        // The names of two files may stand for one key.
        let is_new = self.known.insert(parts.clone());
        if is_file && is_new && self.sort(listed) {
            return;
        }
        let finding = Finding::stray(&shown, is_file);
        match is_in_a_log {
            true => self.strays.push(finding),
            false => self.others.push((parts, finding)),
        }
    }

    /// False for an object that is at no valid place.
    fn sort(&mut self, listed: Listed) -> bool {
        let Listed { parts, is_whole, .. } = &listed;
        let Some((owner, [folder, kind, name])) = parts.split_last_chunk::<3>() else {
            return false;
        };
        let kind = LogKind::ALL.into_iter().find(|known| known.as_str() == kind);
        let (Some(kind), true) = (kind, !is_whole || owner.len() == 2) else {
            return false;
        };
        if folder == DIGESTS {
            let Some(name) = DigestName::read(name) else {
                return false;
            };
            let place = listed.place.clone();
            let digests = self.log(owner).digests.entry(kind).or_default();
            digests.push(DigestPath { name, place });
            return true;
        }
        let Some(id) = name.strip_suffix(".parquet").filter(|_| is_day(folder)) else {
            return false;
        };
        let file = DataPath {
            name: format!("{folder}/{}/{name}", kind.as_str()),
            id: id.to_owned(),
            place: listed.place.clone(),
            bytes: listed.bytes,
            modified: listed.modified,
        };
        self.log(owner).files.entry(kind).or_default().push(file);
        true
    }

    fn log(&mut self, owner: &[String]) -> &mut LogFolder {
        let log = self.logs.entry(owner.to_vec()).or_default();
        let mut names = owner.iter().rev();
        log.owner = Owner {
            project: names.next().cloned(),
            account: names.next().cloned(),
        };
        log
    }

    /// Moves what looks like a log below the folder of another log to the strays.
    fn remove_inner_logs(&mut self) {
        let owners: Vec<_> = self.logs.keys().cloned().collect();
        let is_inner = |owner: &[String]| {
            let mut others = owners.iter();
            others.any(|other| other.len() < owner.len() && owner.starts_with(other))
        };
        let inner = self.logs.extract_if(.., |owner, _| is_inner(owner));
        for (_, log) in inner {
            let digests = log.digests.into_values().flatten().map(|digest| digest.place);
            let files = log.files.into_values().flatten().map(|file| file.place);
            let places = digests.chain(files);
            self.strays
                .extend(places.map(|place| Finding::stray(&place.shown(), true)));
        }
    }

    /// Returns the logs, and findings for what belongs to none.
    pub fn finish(mut self) -> (Vec<LogFolder>, Vec<Finding>) {
        self.remove_inner_logs();
        for (parts, finding) in self.others {
            if self.logs.keys().any(|owner| parts.starts_with(owner)) {
                self.strays.push(finding);
            }
        }
        let mut logs: Vec<_> = self.logs.into_values().collect();
        for log in &mut logs {
            for digests in log.digests.values_mut() {
                digests.sort_by(|one, other| one.name.cmp(&other.name));
            }
        }
        (logs, self.strays)
    }
}

/// Returns whether a folder of a log has this name: a day, or the digests.
pub(super) fn is_part(name: &str) -> bool {
    name == DIGESTS || is_day(name)
}

/// Returns whether an object is a day or the digests of a log, or below one.
fn is_below_a_part(parts: &[String]) -> bool {
    // A link may have the name of a day itself.
    parts.iter().any(|part| is_part(part))
}

/// Returns whether the name alone says that the object is of a log.
fn has_the_name_of_a_file(name: &str) -> bool {
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| extension == "parquet" || extension == "jws")
}

fn is_day(name: &str) -> bool {
    let is_digit = |index: usize, byte: u8| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    name.len() == 10
        && name
            .bytes()
            .enumerate()
            .all(|(index, byte)| is_digit(index, byte))
}
