//! Lists the objects of logs: in their store, or in a folder with a copy of it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use platform::objects::Objects;
use platform::records::logs::LogKind;
use platform::{Error, Result, UtcTime};
use sha2::{Digest as _, Sha256};

use super::folders::{LogFolder, Owner, Sorted};
use super::listed::{Listed, Place};
use super::report::Finding;
use crate::write::sum;

/// Number of bytes read at a time.
const PIECE_BYTES: u64 = 4 * 1_024 * 1_024;
/// Folder of all logs in a bucket.
const FOLDER: &str = "log";

/// Returns the key of an object from the path of its file in a store of files, both below the same folder;
/// None for a path that is no such file.
pub type KeyOfPath = fn(&Path) -> Option<String>;

/// Objects of logs, as they were listed.
pub struct LogCopy {
    /// Logs, in the order of their folders.
    pub(super) logs: Vec<LogFolder>,
    /// What is at no valid place of a log, although it is in one.
    pub(super) strays: Vec<Finding>,
    objects: Option<Objects>,
    folder: PathBuf,
}

impl LogCopy {
    /// Lists the logs in a bucket.
    pub async fn of_store(objects: &Objects) -> Result<Self> {
        let mut sorted = Sorted::default();
        for object in objects.list(&format!("{FOLDER}/")).await? {
            let parts = object.key.split('/').skip(1).map(str::to_owned);
            sorted.add(Listed {
                parts: parts.collect(),
                is_whole: true,
                place: Place::Key(object.key.clone()),
                bytes: object.bytes,
                modified: object.modified,
            });
        }
        Ok(Self::new(sorted, Some(objects.clone()), PathBuf::new()))
    }

    /// Lists the logs in a copy of a bucket, of its folder `log`, or of the folder of an account or project
    /// in it. File names are those of the keys, or those of a store of files, which `key_of_path` reads.
    pub fn of_folder(folder: &Path, key_of_path: KeyOfPath) -> Result<Self> {
        let unreadable =
            |cause: io::Error| Error::invalid(format!("{} cannot be read: {cause}.", folder.display()));
        let Root {
            start,
            root,
            is_whole,
        } = Root::of(folder).map_err(unreadable)?;
        let mut sorted = Sorted::default();
        for entry in find(&start).map_err(unreadable)? {
            let below = entry.path.strip_prefix(&root).unwrap_or(&entry.path);
            sorted.add(Listed {
                parts: key(below, key_of_path).split('/').map(str::to_owned).collect(),
                is_whole,
                bytes: entry.bytes,
                modified: entry.modified,
                place: match entry.is_file {
                    true => Place::File(entry.path),
                    false => Place::NoFile(entry.path),
                },
            });
        }
        let copy = Self::new(sorted, None, folder.to_owned());
        if copy.is_empty() {
            return Err(Error::invalid(format!(
                "There is no log in {}. Name a copy of the bucket, of its folder `log`, or of the folder of an account \
                 or project in it.",
                folder.display()
            )));
        }
        Ok(copy)
    }

    fn new(sorted: Sorted, objects: Option<Objects>, folder: PathBuf) -> Self {
        let (logs, strays) = sorted.finish();
        Self {
            logs,
            strays,
            objects,
            folder,
        }
    }

    /// Returns whether there is no object of a log.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty() && self.strays.is_empty()
    }

    /// Returns the total size of the files, for a progress bar.
    pub fn bytes(&self) -> u64 {
        let files = self.logs.iter().flat_map(|log| log.files.values().flatten());
        files.map(|file| file.bytes).sum()
    }

    /// Returns the folder of a log, for names of objects: the path where the owner is unknown.
    pub(super) fn folder_of(&self, owner: &Owner) -> String {
        let project = owner.project.iter();
        let path = || project.fold(self.folder.clone(), |path, project| path.join(project));
        owner.folder().unwrap_or_else(|| path().display().to_string())
    }

    /// Reads a whole object; None if it was removed since it was listed.
    pub(super) async fn read(&self, place: &Place) -> Result<Option<Vec<u8>>> {
        match (place, &self.objects) {
            (Place::Key(key), Some(objects)) => objects.find(key).await,
            (Place::File(path), _) => present(path, fs::read(path)),
            (Place::Key(_), None) | (Place::NoFile(_), _) => Ok(None),
        }
    }

    /// Returns the SHA-256 of an object, in hexadecimal; None if it was removed since it was listed.
    pub(super) async fn hash(&self, place: &Place) -> Result<Option<String>> {
        match (place, &self.objects) {
            (Place::Key(key), Some(objects)) => hash_object(objects, key).await,
            (Place::File(path), _) => present(path, sum(path).map(|(_, sha256)| sha256)),
            (Place::Key(_), None) | (Place::NoFile(_), _) => Ok(None),
        }
    }
}

async fn hash_object(objects: &Objects, key: &str) -> Result<Option<String>> {
    let mut hasher = Sha256::new();
    let mut from = 0;
    loop {
        let Some(piece) = objects.range(key, from, PIECE_BYTES).await? else {
            return Ok(None);
        };
        hasher.update(&piece);
        from += piece.len() as u64;
        if (piece.len() as u64) < PIECE_BYTES {
            return Ok(Some(hex::encode(hasher.finalize())));
        }
    }
}

fn present<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(Error::invalid(format!(
            "{} cannot be read: {cause}.",
            path.display()
        ))),
    }
}

/// Returns the key, or its end, that a path stands for. Only a store of files has names with these signs.
fn key(below: &Path, key_of_path: KeyOfPath) -> String {
    let text = below.to_string_lossy();
    let is_of_a_store = text.contains('%') || text.ends_with(".object");
    let key = is_of_a_store.then(|| key_of_path(below)).flatten();
    key.unwrap_or_else(|| text.into_owned())
}

/// Where a copy is read, and what the names of its folders are compared with.
struct Root {
    /// Folder that is read.
    start: PathBuf,
    /// Folder that the parts of the keys are below: the start, or one above it.
    root: PathBuf,
    /// Whether the root is the folder of all logs.
    is_whole: bool,
}

impl Root {
    /// Takes the names of account and project from the path where it says them: `log/<account>/<project>`.
    fn of(folder: &Path) -> io::Result<Self> {
        let inside = folder.join(FOLDER);
        let is_project = is_log_folder(folder)?;
        let absolute = match folder.components().any(|part| part == Component::ParentDir) {
            true => folder.canonicalize()?,
            false => std::path::absolute(folder)?,
        };
        // A project or an account may be called `log`, too.
        let is_inside = !is_project && inside.is_dir() && !is_log_folder(&inside)?;
        if is_inside && !(absolute.ends_with(FOLDER) && is_account(&inside)?) {
            return Ok(Self::whole(inside.clone(), inside));
        }
        let above = |count: usize| {
            let above = absolute.ancestors().nth(count);
            above.filter(|above| above.file_name().is_some_and(|name| name == FOLDER))
        };
        let root = match is_project {
            true => above(2),
            false if is_account(folder)? => above(1),
            false => above(0),
        };
        Ok(match root {
            Some(root) => Self::whole(absolute.clone(), root.to_owned()),
            None => Self {
                start: folder.to_owned(),
                root: folder.to_owned(),
                is_whole: false,
            },
        })
    }

    fn whole(start: PathBuf, root: PathBuf) -> Self {
        Self {
            start,
            root,
            is_whole: true,
        }
    }
}

/// What is in a folder, other than a folder.
struct Entry {
    path: PathBuf,
    is_file: bool,
    bytes: u64,
    modified: UtcTime,
}

/// Finds what is in a folder and those below it, by path. It follows no link.
fn find(folder: &Path) -> io::Result<Vec<Entry>> {
    let (mut folders, mut entries) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, metadata) = (entry.path(), entry.metadata()?);
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            let since = metadata.modified()?.duration_since(UNIX_EPOCH);
            let millis = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
            entries.push(Entry {
                path,
                is_file: metadata.is_file(),
                bytes: metadata.len(),
                modified: UtcTime::EPOCH.plus_ms(millis),
            });
        }
    }
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// Returns whether a folder directly contains a project's folder.
fn is_account(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_log_folder(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a folder directly contains days or digests of a log.
fn is_log_folder(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_part = super::folders::is_part(&entry.file_name().to_string_lossy());
        if is_part
            && LogKind::ALL
                .iter()
                .any(|kind| entry.path().join(kind.as_str()).is_dir())
        {
            return Ok(true);
        }
    }
    Ok(false)
}
