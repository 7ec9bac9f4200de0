//! Takes a backup, with or without a runner on the data directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use embedded::files::HeldObjects;
use platform::{Clock, Error, Result};

use super::archive::Archive;
use super::format::Contents;
use super::names;
use crate::data_dir::{DRAFT, DataDir};
use crate::services::open_records;

/// Copies a data directory to a new file that only its owner can read. The file gets its name when it is
/// complete and durable; an existing file of that name is not replaced.
pub fn take(data: &DataDir, to: &Path, clock: &Clock) -> Result<Contents> {
    let unwritable = |error: io::Error| unwritable(to, &error);
    let folder = folder_of(to);
    check_place(data, to, &folder)?;
    let records = open_records(data).map_err(|error| Error::invalid(error.to_string()))?;
    let objects = data.path(names::OBJECTS);
    let mut held = HeldObjects::new(&objects)?;
    held.hold()?;
    let (state, ()) = records.snapshot(|| held.hold())?;

    let working = tempfile::Builder::new()
        .prefix(".millrace-backup-")
        .tempdir_in(&folder)
        .map_err(unwritable)?;
    let copy = working.path().join(names::RECORDS);
    state.write(&copy)?;
    drop((state, records));
    let draft = tempfile::Builder::new()
        .tempfile_in(working.path())
        .map_err(unwritable)?;
    let file = draft.as_file().try_clone().map_err(unwritable)?;
    let write = || {
        let mut archive = Archive::begin(file, clock.now())?;
        archive.add(names::FORMAT, &data.path(names::FORMAT))?;
        archive.add(names::RECORDS, &copy)?;
        for key in keys(data)? {
            archive.add(
                &format!("{}/{key}", names::KEYS),
                &data.path(names::KEYS).join(&key),
            )?;
        }
        for (path, link) in held.files() {
            let name = path.to_str().filter(|name| !name.contains(['\n', '\r', '\\']));
            let name = name.ok_or_else(|| {
                let shown = objects.join(path);
                io::Error::other(format!("{} is no name of an object", shown.display()))
            })?;
            archive.add_object(&format!("{}/{name}", names::OBJECTS), link)?;
        }
        archive.end(clock.now())
    };
    let contents = write().map_err(unwritable)?;
    draft
        .persist_noclobber(to)
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(to),
            _ => unwritable(error.error),
        })?;
    File::open(&folder)
        .and_then(|folder| folder.sync_all())
        .map_err(unwritable)?;
    Ok(contents)
}

/// Refuses a bad place before anything is copied.
fn check_place(data: &DataDir, to: &Path, folder: &Path) -> Result<()> {
    let unwritable = |error: io::Error| unwritable(to, &error);
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let folder = folder.canonicalize().map_err(unwritable)?;
    if folder.starts_with(data.root().canonicalize().map_err(unwritable)?) {
        return Err(Error::invalid(format!(
            "The file {} would be in the data directory that it is a backup of. Choose a place outside of it, best on \
             another disk.",
            to.display()
        )));
    }
    Ok(())
}

/// Returns the names of the keys, without keys that a process is still making.
fn keys(data: &DataDir) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(data.path(names::KEYS))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().filter(|name| !name.starts_with(DRAFT));
        if let Some(name) = name
            && names::is_of_a_data_directory(&format!("{}/{name}", names::KEYS))
            && entry.file_type()?.is_file()
        {
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn exists(to: &Path) -> Error {
    Error::conflict(format!(
        "The file {} exists already. Choose another name for the backup.",
        to.display()
    ))
}

fn unwritable(to: &Path, error: &io::Error) -> Error {
    Error::unprocessable(format!(
        "The backup {} cannot be written: {error}. Its folder must exist, and have room for the whole data directory.",
        to.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_of_keys_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        for name in ["a.pkcs8", ".draft-Xy12", "jwks.json"] {
            fs::write(data.path("keys").join(name), "x").unwrap();
        }
        assert_eq!(keys(&data).unwrap(), ["a.pkcs8", "jwks.json"]);
    }
}
