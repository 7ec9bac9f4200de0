//! Finds the logs in a folder, and sorts their files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

use platform::records::logs::LogKind;

use crate::digest::{DigestName, LogDigest};

/// Bucket, its folder `log`, account and project, and one folder around them.
const MAX_DEPTH: usize = 4;

/// Content of a folder.
#[derive(Default)]
pub(super) struct Found {
    pub logs: Vec<LogFolder>,
    /// Parquet files and digests that are at no valid place of a log.
    pub strays: Vec<PathBuf>,
}

/// Folder of a project, or of the records of a whole account.
pub(super) struct LogFolder {
    pub path: PathBuf,
    pub owner: Owner,
    pub digests: BTreeMap<LogKind, Vec<DigestPath>>,
    pub files: BTreeMap<LogKind, Vec<DataPath>>,
    pub strays: Vec<PathBuf>,
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
    pub path: PathBuf,
}

pub(super) struct DataPath {
    /// Path below the log's folder: `<day>/<kind>/<id>.parquet`.
    pub place: String,
    pub id: String,
    pub path: PathBuf,
    pub bytes: u64,
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

pub(super) fn find(folder: &Path) -> Result<Found> {
    let mut found = Found::default();
    let inside = folder.join("log");
    match inside.is_dir() && !is_log_folder(folder)? {
        true => walk(&inside, &mut Vec::new(), &mut found)?,
        false => walk(folder, &mut Vec::new(), &mut found)?,
    }
    Ok(found)
}

fn walk(folder: &Path, above: &mut Vec<String>, found: &mut Found) -> Result<()> {
    if is_log_folder(folder)? {
        found.logs.push(sorted(folder, above)?);
        return Ok(());
    }
    for entry in entries(folder)? {
        if !entry.is_folder {
            if is_of_a_log(&entry.name) {
                found.strays.push(entry.path);
            }
            continue;
        }
        if above.len() < MAX_DEPTH {
            above.push(entry.name);
            walk(&entry.path, above, found)?;
            above.pop();
        }
    }
    Ok(())
}

/// Returns whether a folder directly contains days or digests of a log.
fn is_log_folder(folder: &Path) -> Result<bool> {
    for kind in LogKind::ALL {
        for entry in entries(folder)? {
            if !entry.is_folder || !(entry.name == "digests" || is_day(&entry.name)) {
                continue;
            }
            let below = entry.path.join(kind.as_str());
            if below.is_dir()
                && entries(&below)?
                    .iter()
                    .any(|file| !file.is_folder && is_of_a_log(&file.name))
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn sorted(folder: &Path, above: &[String]) -> Result<LogFolder> {
    let mut names = above.iter().rev();
    let mut log = LogFolder {
        path: folder.to_owned(),
        owner: Owner {
            project: names.next().cloned(),
            account: names.next().cloned(),
        },
        digests: BTreeMap::new(),
        files: BTreeMap::new(),
        strays: Vec::new(),
    };
    collect(folder, &mut Vec::new(), &mut log)?;
    for digests in log.digests.values_mut() {
        digests.sort_by(|one, other| one.name.cmp(&other.name));
    }
    Ok(log)
}

fn collect(folder: &Path, above: &mut Vec<String>, log: &mut LogFolder) -> Result<()> {
    for entry in entries(folder)? {
        if entry.is_folder {
            above.push(entry.name);
            collect(&entry.path, above, log)?;
            above.pop();
        } else if is_of_a_log(&entry.name) {
            sort_in(entry, above, log);
        }
    }
    Ok(())
}

fn sort_in(entry: Entry, above: &[String], log: &mut LogFolder) {
    let kind = |name: &String| LogKind::ALL.into_iter().find(|kind| kind.as_str() == name);
    if let [first, second] = above
        && let Some(kind) = kind(second)
    {
        if first == "digests"
            && let Some(name) = DigestName::read(&entry.name)
        {
            let path = entry.path;
            return log
                .digests
                .entry(kind)
                .or_default()
                .push(DigestPath { name, path });
        }
        if is_day(first)
            && let Some(id) = entry.name.strip_suffix(".parquet")
        {
            return log.files.entry(kind).or_default().push(DataPath {
                place: format!("{first}/{second}/{}", entry.name),
                id: id.to_owned(),
                bytes: entry.bytes,
                path: entry.path,
            });
        }
    }
    log.strays.push(entry.path);
}

/// Returns whether a reader could take the file for a part of the log. The check ignores other files, such as
/// those of a desktop.
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

struct Entry {
    name: String,
    path: PathBuf,
    is_folder: bool,
    bytes: u64,
}

/// Returns the entries of a folder by name. It does not follow links to folders, because these may form a
/// cycle.
fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        let found = match kind.is_symlink() {
            // A dangling link counts as a missing file.
            true => match fs::metadata(&path) {
                Ok(found) if found.is_file() => found,
                _ => continue,
            },
            false => entry.metadata()?,
        };
        entries.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            is_folder: found.is_dir(),
            bytes: found.len(),
            path,
        });
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}
