//! Restores a backup as a new data directory.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use embedded::sqlite::SqliteRecords;
use platform::config::ConfigError;
use platform::{Error, Result};

use super::format::Contents;
use super::names;
use super::unpack::unpack;
use crate::data_dir::{DataDir, LOCK, RESTORING, check_owner, make_private, private_options, sync_folder};
use crate::issuer::Issuer;
use crate::sealer::LocalSealer;
use crate::services::TABLES;
use crate::signing_key::LocalSigningKey;

/// Parts in the order in which they are moved into place. `format.json` comes last, because a directory
/// without it is not a data directory.
const PARTS: [&str; 4] = [names::RECORDS, names::KEYS, names::OBJECTS, names::FORMAT];

/// Most bytes of a key or of `format.json`, which are read whole.
const MAX_SMALL_BYTES: u64 = 64 * 1_024;

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
    check_opens(&restoring)?;
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
    // An empty file would be opened as new records, all lost.
    if !fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0) {
        return Err(Error::invalid("The backup has no records; take another backup."));
    }
    let records = SqliteRecords::open(&path, &TABLES).map_err(refused)?;
    records.check_integrity().map_err(refused)
}

/// Opens the directory as a runner would: its format and its keys must be readable.
fn check_opens(restoring: &Path) -> Result<()> {
    let is_small = |path: &Path| {
        fs::metadata(path).is_ok_and(|metadata| (1..=MAX_SMALL_BYTES).contains(&metadata.len()))
    };
    if !is_small(&restoring.join(names::FORMAT)) {
        return Err(Error::invalid(
            "The backup does not tell the format of its data directory; take another backup.",
        ));
    }
    let entries = fs::read_dir(restoring.join(names::KEYS)).into_iter().flatten();
    let keys = entries.map(|entry| entry.map(|entry| entry.path()));
    let keys = keys.collect::<io::Result<Vec<_>>>();
    let mut keys = keys.map_err(|error| unusable(restoring, &error))?;
    // So that `jwks.json` is looked at before the key for tokens writes it again.
    keys.sort_unstable();
    if keys.is_empty() {
        return Err(Error::invalid("The backup has no keys; take another backup."));
    }
    let data = DataDir::open_keys(restoring).map_err(|error| {
        Error::invalid(format!(
            "The data directory in the backup cannot be opened: {error} Nothing of it was restored; take another backup."
        ))
    })?;
    for key in keys {
        let name = key.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        // Only keys that are there are opened, because opening makes a missing one.
        let is_usable = match name {
            _ if !is_small(&key) => false,
            "sealing.key" => LocalSealer::open(&data).is_ok(),
            "token-signing.pkcs8" => Issuer::open(&data).is_ok(),
            "service-signing.pkcs8" | "service-signing.earlier.json" => {
                LocalSigningKey::of_services(&data).is_ok()
            }
            "digest-signing.pkcs8" | "digest-signing.earlier.json" => {
                LocalSigningKey::of_digests(&data).is_ok()
            }
            _ => fs::read_to_string(&key).is_ok(),
        };
        if !is_usable {
            return Err(Error::invalid(format!(
                "The file keys/{name} in the backup is not a key. Nothing of it was restored; take another backup."
            )));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use platform::Clock;
    use sha2::{Digest as _, Sha256};
    use tar::{EntryType, Header};
    use tempfile::TempDir;

    use super::*;

    const HEAD: &str = "millrace-backup.json";
    /// Longer than the name in a header.
    const LONG: &str = "objects/data/0123456789012345678901234567890123456789012345678901234567890123456789\
                        01234567890123456789012345678901234567890123456789.object";

    type Files = Vec<(String, Vec<u8>)>;

    fn backup(folder: &TempDir) -> PathBuf {
        let data = DataDir::open(&folder.path().join("data")).unwrap();
        LocalSealer::open(&data).unwrap();
        Issuer::open(&data).unwrap();
        fs::create_dir_all(data.path("objects/data")).unwrap();
        fs::write(data.path(LONG), b"an object").unwrap();
        let file = folder.path().join("backup");
        super::super::take(&data, &file, &Clock::System).unwrap();
        file
    }

    fn files(backup: &Path) -> Files {
        let decoder = zstd::Decoder::new(File::open(backup).unwrap()).unwrap();
        let mut archive = tar::Archive::new(decoder);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
            (name, bytes)
        });
        entries.filter(|(name, _)| name != names::SUMS).collect()
    }

    fn header(kind: EntryType, name: &str, size: u64, modified: u64) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o600);
        header.set_size(size);
        header.set_mtime(modified);
        let length = name.len().min(100);
        header.as_old_mut().name[..length].copy_from_slice(&name.as_bytes()[..length]);
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    fn add(tar: &mut Vec<u8>, name: &str, bytes: &[u8], modified: u64) {
        if name.len() > 100 {
            let length = name.len() as u64 + 1;
            tar.extend(header(EntryType::GNULongName, "././@LongLink", length, 0));
            tar.extend(name.as_bytes());
            tar.resize((tar.len() + 1).next_multiple_of(512), 0);
        }
        tar.extend(header(EntryType::Regular, name, bytes.len() as u64, modified));
        tar.extend(bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }

    /// Returns an archive of these files with their sums.
    fn packed(files: &Files, modified: u64) -> Vec<u8> {
        let (mut tar, mut sums) = (Vec::new(), String::new());
        for (name, bytes) in files {
            add(&mut tar, name, bytes, modified);
            sums.push_str(&format!("{}  {name}\n", hex::encode(Sha256::digest(bytes))));
        }
        add(&mut tar, names::SUMS, sums.as_bytes(), 0);
        tar.extend([0; 1_024]);
        tar
    }

    fn restored(folder: &TempDir, tar: &[u8]) -> Result<Contents> {
        let file = folder.path().join("changed");
        fs::write(&file, zstd::encode_all(tar, 1).unwrap()).unwrap();
        let root = folder.path().join("restored");
        let outcome = restore(&file, &root);
        assert_eq!(outcome.is_ok(), root.exists());
        outcome
    }

    #[test]
    fn a_name_longer_than_a_header_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = backup(&folder);
        let root = folder.path().join("restored");
        restore(&file, &root).unwrap();
        assert_eq!(fs::read(root.join(LONG)).unwrap(), b"an object");
        fs::remove_dir_all(&root).unwrap();
        restored(&folder, &packed(&files(&file), 1)).unwrap();
        assert_eq!(fs::read(root.join(LONG)).unwrap(), b"an object");
    }

    #[test]
    fn a_long_name_or_extended_header_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&backup(&folder));
        assert_eq!(files[0].0, HEAD);
        for (kind, size, said) in [
            // Only the header says the size; a reader of the whole would fault at the end of the bytes.
            (
                EntryType::GNULongName,
                2 << 30,
                "a name in it has 2147483648 bytes",
            ),
            (EntryType::GNULongName, 4_097, "a name in it has 4097 bytes"),
            (EntryType::GNULongLink, 2 << 30, "a name in it is not valid"),
            (EntryType::XHeader, 2 << 30, "a name in it is not valid"),
            (EntryType::XGlobalHeader, 2 << 30, "a name in it is not valid"),
        ] {
            let mut tar = Vec::new();
            add(&mut tar, HEAD, &files[0].1, 0);
            tar.extend(header(kind, "././@LongLink", size, 0));
            tar.extend([b'a'; 1_024]);
            let error = restored(&folder, &tar).unwrap_err();
            assert!(error.message().contains(said), "{kind:?}: {error}");
        }
    }

    #[test]
    fn a_time_that_no_file_can_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&backup(&folder));
        let error = restored(&folder, &packed(&files, u64::MAX)).unwrap_err();
        assert!(
            error.message().contains("has a time that no file can have"),
            "{error}"
        );
    }

    #[test]
    fn a_directory_that_a_runner_could_not_open_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(&backup(&folder));
        for (name, bytes, said) in [
            ("format.json", Some("{\"format\":3}"), "has format 3"),
            ("format.json", Some("{}"), "its format.json cannot be read"),
            ("format.json", None, "does not tell the format"),
            ("records.sqlite", Some(""), "has no records"),
            ("records.sqlite", None, "has no records"),
            (
                "keys/sealing.key",
                Some(""),
                "keys/sealing.key in the backup is not a key",
            ),
            (
                "keys/sealing.key",
                Some("short"),
                "keys/sealing.key in the backup is not a key",
            ),
            (
                "keys/token-signing.pkcs8",
                Some(""),
                "keys/token-signing.pkcs8 in the backup is not a key",
            ),
            (
                "keys/jwks.json",
                Some(" ".repeat(65_537).leak()),
                "keys/jwks.json in the backup is not a key",
            ),
            ("keys/", None, "has no keys"),
        ] {
            let mut changed = files.clone();
            match bytes {
                Some(bytes) => {
                    let file = changed.iter_mut().find(|(file, _)| file == name).unwrap();
                    file.1 = bytes.as_bytes().to_vec();
                }
                None => changed.retain(|(file, _)| !file.starts_with(name)),
            }
            let error = restored(&folder, &packed(&changed, 0)).unwrap_err();
            assert_eq!(error.status(), 400, "{name}: {error}");
            assert!(error.message().contains(said), "{name} {bytes:?}: {error}");
        }
    }
}
