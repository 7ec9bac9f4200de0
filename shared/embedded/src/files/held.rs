//! Holds objects unchanged, through a hard link to each, while others are removed or replaced.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use platform::{Error, Result};

use super::listing;

/// Folder of the links. It is in the root, because a link must stay in one file system; no bucket has this
/// name.
const FOLDER: &str = ".held";

/// Objects that are held until this is dropped.
///
/// The file of an object never changes: a write creates another file and renames it to the same name. So a
/// link keeps the bytes, and the inode number shows whether a name still refers to it.
pub struct HeldObjects {
    root: PathBuf,
    /// By the path below the root.
    files: BTreeMap<PathBuf, Held>,
    links: u64,
    /// Locked while links exist, so that only links of a dead process are removed.
    _lock: File,
}

struct Held {
    device: u64,
    inode: u64,
    link: PathBuf,
}

impl HeldObjects {
    /// Holds objects of this folder. Only one process at a time can hold them; 409 for a second one.
    pub fn new(root: &Path) -> Result<Self> {
        let lock = lock(root).map_err(|error| unholdable(root, &error))?;
        let lock = lock.ok_or_else(|| {
            Error::conflict(format!(
                "Another process copies the objects in {}. Wait until it has ended.",
                root.display()
            ))
        })?;
        fs::create_dir(root.join(FOLDER)).map_err(|error| unholdable(root, &error))?;
        Ok(Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            links: 0,
            _lock: lock,
        })
    }

    /// Holds all objects that are not held yet. An object that was replaced since is held in its new form;
    /// one that was removed stays held.
    pub fn hold(&mut self) -> Result<()> {
        self.hold_buckets()
            .map_err(|error| unholdable(&self.root, &error))
    }

    /// Returns the path of each object below the root, and the file with its bytes.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let files = self.files.iter();
        files.map(|(path, held)| (path.as_path(), held.link.as_path()))
    }

    fn hold_buckets(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || !entry.file_type()?.is_dir() {
                continue;
            }
            let mut failure = None;
            listing::files(&entry.path(), |path, metadata| {
                match self.hold_one(path, metadata) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failure = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            failure.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn hold_one(&mut self, path: &Path, found: &fs::Metadata) -> io::Result<()> {
        let below = path.strip_prefix(&self.root).map_err(io::Error::other)?;
        let known = self.files.get(below);
        if known.is_some_and(|held| (held.device, held.inode) == (found.dev(), found.ino())) {
            return Ok(());
        }
        if !found.is_file() {
            let shown = path.display();
            return Err(io::Error::other(format!("{shown} is not a file; move it away")));
        }
        let link = self.root.join(FOLDER).join(self.links.to_string());
        self.links += 1;
        // A removal after the listing was requested before the records' state was fixed.
        if listing::present(fs::hard_link(path, &link))?.is_none() {
            return Ok(());
        }
        let held = fs::metadata(&link)?;
        let held = Held {
            device: held.dev(),
            inode: held.ino(),
            link,
        };
        self.files.insert(below.to_owned(), held);
        Ok(())
    }
}

impl Drop for HeldObjects {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.root.join(FOLDER));
    }
}

/// Removes the links of a dead process.
pub(super) fn remove_left(root: &Path) -> io::Result<()> {
    lock(root).map(drop)
}

/// None if another process holds objects. Removes the links of a dead process.
fn lock(root: &Path) -> io::Result<Option<File>> {
    let folder = File::open(root)?;
    match folder.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    match fs::remove_dir_all(root.join(FOLDER)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(Some(folder)),
    }
}

fn unholdable(root: &Path, error: &io::Error) -> Error {
    Error::unprocessable(format!(
        "The objects in {} cannot be held while they are copied: {error}. Their disk must have room, and its file \
         system hard links.",
        root.display()
    ))
}
