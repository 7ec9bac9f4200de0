//! Restores a backup as a new data directory.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use embedded::sqlite::SqliteRecords;
use platform::config::ConfigError;
use platform::{Error, Result};

use super::unpack::unpack;
use super::{Contents, names};
use crate::data_dir::{LOCK, RESTORING, check_owner, make_private, private_options, sync_folder};
use crate::services::TABLES;

/// Parts in the order in which they are moved into place. `format.json` comes last, because a directory
/// without it is not a data directory.
const PARTS: [&str; 4] = [names::RECORDS, names::KEYS, names::OBJECTS, names::FORMAT];

/// Makes a data directory from a backup, in an empty or missing folder. The backup is unpacked beside its
/// place and checked completely before anything is moved there; a refused backup leaves nothing. An
/// interrupted restore leaves the folder `restoring`, and a directory with that folder is never opened.
pub fn restore(file: &Path, root: &Path) -> Result<Contents> {
    check_free(root, &[])?;
    let unusable = |error: io::Error| unusable(root, &error);
    let made = make_missing(root).map_err(unusable)?;
    check_owner(root).map_err(refused)?;
    let place = Place::take(root, made)?;
    // Another restore may have finished first.
    check_free(root, &[LOCK])?;
    let restoring = root.join(RESTORING);
    make_private(&restoring).map_err(unusable)?;
    let contents = unpack(file, &restoring)?;
    check_records(&restoring)?;
    let move_all = || {
        for part in PARTS {
            match fs::rename(restoring.join(part), root.join(part)) {
                // A backup may have no objects.
                Err(error) if error.kind() == ErrorKind::NotFound && part == names::OBJECTS => {}
                moved => moved?,
            }
        }
        fs::remove_dir(&restoring)?;
        sync_folder(root)?;
        sync_folder(&root.join(".."))
    };
    move_all().map_err(unusable)?;
    place.keep();
    Ok(contents)
}

/// Holds the lock of a directory that is being made. Removes everything that the restore made when dropped.
struct Place<'a> {
    root: &'a Path,
    made: Vec<PathBuf>,
    is_kept: bool,
    _lock: File,
}

impl<'a> Place<'a> {
    fn take(root: &'a Path, made: Vec<PathBuf>) -> Result<Self> {
        let lock = private_options().truncate(false).open(root.join(LOCK));
        let lock = lock.map_err(|error| unusable(root, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root,
                made,
                is_kept: false,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(in_use(root)),
            Err(TryLockError::Error(error)) => Err(unusable(root, &error)),
        }
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = fs::remove_dir_all(self.root.join(RESTORING));
        for part in PARTS {
            let part = self.root.join(part);
            let _ = fs::remove_file(&part);
            let _ = fs::remove_dir_all(&part);
        }
        let _ = fs::remove_file(self.root.join(LOCK));
        for folder in &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Makes a folder and its missing parents. Returns the folders made, innermost first.
fn make_missing(root: &Path) -> io::Result<Vec<PathBuf>> {
    let named = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<_> = root.ancestors().take_while(named).map(Path::to_owned).collect();
    make_private(root)?;
    Ok(missing)
}

/// Refuses a folder that contains anything but `known`.
fn check_free(root: &Path, known: &[&str]) -> Result<()> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(root, &error)),
    };
    for entry in entries {
        let name = entry.map_err(|error| unusable(root, &error))?.file_name();
        if known.iter().any(|known| name == *known) {
            continue;
        }
        if is_locked(root) {
            return Err(in_use(root));
        }
        let shown = root.display();
        return Err(match root.join(RESTORING).exists() {
            true => Error::conflict(format!(
                "A restore into {shown} was cut off. Remove the folder {shown}, then restore again."
            )),
            false => Error::conflict(format!(
                "The folder {shown} is not empty, and a restore overwrites nothing. Move it away, or name another folder \
                 by --data-dir."
            )),
        });
    }
    Ok(())
}

fn is_locked(root: &Path) -> bool {
    let lock = File::open(root.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Reads all records before they are put in place.
fn check_records(restoring: &Path) -> Result<()> {
    let path = restoring.join(names::RECORDS);
    if !path.is_file() {
        return Err(Error::invalid("The backup has no records; take another backup."));
    }
    let records = SqliteRecords::open(&path, &TABLES).map_err(refused)?;
    records.check_integrity().map_err(refused)
}

fn in_use(root: &Path) -> Error {
    Error::conflict(format!(
        "Another process has the data directory {} open. Restore into another folder, named by --data-dir, or stop the \
         process and move the directory away.",
        root.display()
    ))
}

fn unusable(root: &Path, error: &io::Error) -> Error {
    Error::unprocessable(format!(
        "The folder {} cannot become a data directory: {error}. Name a folder that you may write, with --data-dir.",
        root.display()
    ))
}

fn refused(error: ConfigError) -> Error {
    Error::invalid(error.to_string())
}
