//! Sorts the objects of logs by log.

use std::collections::{BTreeMap, BTreeSet};

use platform::UtcTime;
use platform::records::logs::LogKind;

use super::copy::{Listed, Place};
use crate::digest::{DigestName, LogDigest};

/// Folder of a log's digests, beside those of its days.
const DIGESTS: &str = "digests";

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
    strays: Vec<String>,
}

impl Sorted {
    /// Adds an object to its log, or to the strays. Leaves out files of another kind, such as those of a
    /// desktop.
    pub fn add(&mut self, listed: Listed) {
        let name = listed.parts.last().map(String::as_str).unwrap_or_default();
        if !is_of_a_log(name) {
            return;
        }
        // The names of two files may stand for one key.
        let is_new = self.known.insert(listed.parts.clone());
        let shown = match &listed.place {
            Place::File(path) => path.display().to_string(),
            Place::Key(key) => key.clone(),
        };
        if !is_new || !self.sort(listed) {
            self.strays.push(shown);
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

    /// Returns the logs, and the names of objects that belong to none.
    pub fn finish(self) -> (Vec<LogFolder>, Vec<String>) {
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

/// Returns whether a reader could take the file for a part of the log.
fn is_of_a_log(name: &str) -> bool {
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
