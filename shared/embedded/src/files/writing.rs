//! Writes and removes files atomically, even across a loss of power.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use tempfile::NamedTempFile;

/// Attempts to move a file into a folder that other callers remove whenever it becomes empty.
const MAX_ATTEMPTS: u32 = 100;

/// Whether an existing object is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    Yes,
    /// Creates a hard link, which succeeds for only one of several writers.
    No,
}

#[derive(Debug)]
pub struct Writer {
    /// Folder of incomplete files. It is in the root, because a rename must stay in one file system.
    drafts: PathBuf,
    /// Held while folders are created, so that none is used before it is durable.
    making: Mutex<()>,
}

impl Writer {
    /// Puts incomplete files into a folder whose name no bucket has.
    pub fn open(root: &Path) -> io::Result<Self> {
        let drafts = root.join(".drafts");
        fs::create_dir_all(&drafts)?;
        // The root's own name must be durable before it can keep objects.
        for folder in [root, &root.join("..")] {
            sync(folder)?;
        }
        Ok(Self {
            drafts,
            making: Mutex::new(()),
        })
    }

    /// Removes the remains of interrupted writes; only for a process that has the root exclusively.
    pub fn remove_drafts(&self) -> io::Result<()> {
        for draft in fs::read_dir(&self.drafts)? {
            fs::remove_file(draft?.path())?;
        }
        Ok(())
    }

    /// Writes the output of `fill` to `path`; false if a file exists that must not be replaced.
    pub fn write(
        &self,
        path: &Path,
        replace: Replace,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<bool> {
        if replace == Replace::No && path.try_exists()? {
            return Ok(false);
        }
        let mut draft = self.draft()?;
        fill(draft.as_file_mut())?;
        self.keep(&draft, path, replace)
    }

    /// Returns a new incomplete file, which is removed unless it is kept.
    pub fn draft(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(&self.drafts)
    }

    /// Moves a complete file to `path`; false if a file exists that must not be replaced.
    pub fn keep(&self, draft: &NamedTempFile, path: &Path, replace: Replace) -> io::Result<bool> {
        draft.as_file().sync_all()?;
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        for _ in 0..MAX_ATTEMPTS {
            let moved = self.make(folder).and_then(|()| match replace {
                Replace::Yes => fs::rename(draft.path(), path),
                Replace::No => fs::hard_link(draft.path(), path),
            });
            match moved {
                Ok(()) => return sync(folder).map(|()| true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && replace == Replace::No => {
                    return Ok(false);
                }
                // Another caller removed the last object of the folder meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    fn make(&self, folder: &Path) -> io::Result<()> {
        let _one_at_a_time = self.making.lock();
        let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => folder.parent().map_or(Ok(()), sync)?,
            }
        }
        Ok(())
    }
}

/// Removes a file, and the folders above it, up to `root`, that become empty. The system refuses to remove
/// other folders, and [`Writer::write`] creates them again as needed.
pub fn remove(path: &Path, root: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    let mut folders = path.ancestors().skip(1);
    // The sync of the first remaining folder makes the removal durable.
    match folders.find(|folder| *folder == root || fs::remove_dir(folder).is_err()) {
        Some(folder) => sync(folder),
        None => Ok(()),
    }
}

/// Makes the names in a folder durable. A missing folder has none.
fn sync(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}
