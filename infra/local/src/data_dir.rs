//! Opens the data directory, which holds everything that the local service stores. Only its owner can read
//! the callers' data in it.
//!
//! | path | content |
//! |---|---|
//! | `format.json` | the format of the directory, a number |
//! | `lock` | held by the process that has the directory open |
//! | `restoring` | parts of a restore that are not in place yet |
//! | `queues.json` | the endpoint of that process's queues, for the operator command and a successor |
//! | `address.json` | where the last runner listened, and its URL |
//! | `records.sqlite`, `records.sqlite-wal`, `records.sqlite-shm` | the tables |
//! | `objects/<bucket>/…` | the objects, each a file; the path is the key |
//! | `keys/` | the keys that sign and seal, public halves of replaced ones, and the secret of the queues |
//! | `certificates/` | certificates by ACME, and the account at their authority |
//! | `cache/` | copies of data files; may be deleted while no process runs |

use std::cmp::Ordering;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use platform::config::ConfigError;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// Format that this version reads and writes. In format 1, records were in an emulator of DynamoDB.
pub(crate) const FORMAT: u32 = 2;
pub(crate) const LOCK: &str = "lock";
pub(crate) const RESTORING: &str = "restoring";
/// File with the endpoint of the queues of the process that has the directory open.
const QUEUES: &str = "queues.json";
const ADDRESS: &str = "address.json";
/// Beginning of the names of files that are being written.
pub(crate) const DRAFT: &str = ".draft-";

#[derive(Serialize, Deserialize)]
struct Queues {
    endpoint: String,
}

/// Where the last runner of a directory answered callers.
#[derive(Serialize, Deserialize)]
struct Address {
    address: SocketAddr,
    /// URL without a path.
    origin: String,
}

#[derive(Serialize, Deserialize)]
struct Format {
    format: u32,
}

#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    /// None where another process has the directory open.
    lock: Option<File>,
}

impl DataDir {
    /// Opens a directory, and makes it if it is missing. The error is one sentence for the user.
    pub fn open(root: &Path) -> Result<Self, ConfigError> {
        let unusable = |error| unusable(root, &error);
        make_private(root).map_err(unusable)?;
        check_owner(root)?;
        check_restored(root)?;
        for folder in ["keys", "objects", "cache"] {
            make_private(&root.join(folder)).map_err(unusable)?;
            set_mode(&root.join(folder), 0o700).map_err(unusable)?;
        }
        // Only the owner may open the lock file, because any user who opens it can lock it.
        let lock = private_options()
            .truncate(false)
            .open(root.join(LOCK))
            .map_err(unusable)?;
        set_mode(&root.join(LOCK), 0o600).map_err(unusable)?;
        let lock = match lock.try_lock() {
            Ok(()) => Some(lock),
            Err(fs::TryLockError::WouldBlock) => None,
            Err(fs::TryLockError::Error(error)) => return Err(unusable(error)),
        };
        if lock.is_some() {
            // The file names the ports of an ended process; another program may have them by now.
            let _ = fs::remove_file(root.join(QUEUES));
        }
        let opened = Self {
            root: root.to_owned(),
            lock,
        };
        opened.check_format()?;
        Ok(opened)
    }

    /// True if the folder is a data directory.
    pub fn is_present(root: &Path) -> bool {
        root.join("format.json").is_file()
    }

    /// Opens a directory for its keys alone, also while another process has it open.
    pub fn open_keys(root: &Path) -> Result<Self, ConfigError> {
        let unusable = |error| unusable(root, &error);
        make_private(root).map_err(unusable)?;
        check_owner(root)?;
        check_restored(root)?;
        make_private(&root.join("keys")).map_err(unusable)?;
        let opened = Self {
            root: root.to_owned(),
            lock: None,
        };
        opened.check_format()?;
        Ok(opened)
    }

    fn check_format(&self) -> Result<(), ConfigError> {
        let path = self.root.join("format.json");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let text = serde_json::to_vec(&Format { format: FORMAT }).unwrap_or_default();
                write_whole(&path, &text)?;
                // Sync the parent, which holds the name of a new directory.
                let above = sync_folder(&self.root.join(".."));
                return above.map_err(|error| unusable(&self.root, &error));
            }
            Err(error) => {
                return Err(ConfigError::new(format!(
                    "{} cannot be read: {error}.",
                    path.display()
                )));
            }
        };
        let parsed: Format = serde_json::from_slice(&text).map_err(|_| {
            ConfigError::new(format!(
                "{} is not a data directory of Millrace: its format.json cannot be read. Set DATA_DIR to another folder.",
                self.root.display()
            ))
        })?;
        let (root, format) = (self.root.display(), parsed.format);
        match format.cmp(&FORMAT) {
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(ConfigError::new(format!(
                "The data directory {root} has format {format}, written by a newer version of Millrace; this one reads \
                 {FORMAT}. Use the newer version, or set DATA_DIR to another folder."
            ))),
            Ordering::Less => Err(ConfigError::new(format!(
                "The data directory {root} has format {format}, written by an older version of Millrace; this one reads \
                 {FORMAT}. Move it away (`mv {root} {root}-format-{format}`) to begin with a new one, or set DATA_DIR to \
                 another folder. The older version still reads it."
            ))),
        }
    }

    /// True if this process holds the directory's lock.
    pub fn is_ours(&self) -> bool {
        self.lock.is_some()
    }

    /// Removes the copies of data files. Refused while another process has the directory open.
    pub fn clear_cache(&self) -> Result<(), ConfigError> {
        self.require_alone()?;
        let cache = self.path("cache");
        let clear = || {
            fs::remove_dir_all(&cache)?;
            make_private(&cache)
        };
        clear().map_err(|error| unusable(&self.root, &error))
    }

    /// Refuses a directory that another process has open.
    pub fn require_alone(&self) -> Result<(), ConfigError> {
        if self.is_ours() {
            return Ok(());
        }
        Err(ConfigError::new(format!(
            "The runner or another command has the data directory {} open. Stop it, and repeat the command.",
            self.root.display()
        )))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the path of a file that only its owner can read and write; makes the file if it is missing.
    pub fn private_file(&self, name: &str) -> Result<PathBuf, ConfigError> {
        let path = self.path(name);
        let file = private_options().truncate(false).open(&path);
        file.and_then(|_| set_mode(&path, 0o600))
            .map_err(|error| unusable(&self.root, &error))?;
        Ok(path)
    }

    /// Returns the endpoint of the queues of the process that has the directory open; None where it has none,
    /// or none yet.
    pub fn queues(&self) -> Option<String> {
        let text = fs::read(self.path(QUEUES)).ok()?;
        let queues: Queues = serde_json::from_slice(&text).ok()?;
        Some(queues.endpoint)
    }

    /// Publishes the endpoint of this process's queues.
    pub fn publish_queues(&self, endpoint: String) -> Result<(), ConfigError> {
        let text = serde_json::to_vec(&Queues { endpoint }).unwrap_or_default();
        write_whole(&self.path(QUEUES), &text)
    }

    /// Publishes where the runner listens, and the URL under which callers reach it.
    pub fn publish_address(&self, address: SocketAddr, origin: &str) -> Result<(), ConfigError> {
        let published = Address {
            address,
            origin: origin.to_owned(),
        };
        let text = serde_json::to_vec(&published).unwrap_or_default();
        write_whole(&self.path(ADDRESS), &text)
    }

    /// Returns where the last runner listened; None if there was none.
    pub fn address(&self) -> Option<SocketAddr> {
        Some(self.published()?.address)
    }

    /// Returns the last URL under which callers reached the runner; None if there was none.
    pub fn origin(&self) -> Option<String> {
        Some(self.published()?.origin)
    }

    fn published(&self) -> Option<Address> {
        let text = fs::read(self.path(ADDRESS)).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

fn unusable(root: &Path, error: &io::Error) -> ConfigError {
    ConfigError::new(format!(
        "The data directory {} cannot be used: {error}. Set DATA_DIR to a folder that you may write.",
        root.display()
    ))
}

/// Refuses a directory with an unfinished restore.
fn check_restored(root: &Path) -> Result<(), ConfigError> {
    if root.join(RESTORING).exists() {
        let folder = root.display();
        return Err(ConfigError::new(format!(
            "A restore into the data directory {folder} is under way or was cut off. Wait for it, or remove the directory \
             and restore again."
        )));
    }
    Ok(())
}

/// Refuses a folder that another user can write, because that user could replace the keys.
pub(crate) fn check_owner(root: &Path) -> Result<(), ConfigError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(root).map_err(|error| unusable(root, &error))?;
        let folder = root.display();
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(ConfigError::new(format!(
                "The data directory {folder} belongs to another user. Set DATA_DIR to a folder of your own."
            )));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(ConfigError::new(format!(
                "Other users can write the data directory {folder}. Run `chmod go-w {folder}`, or set DATA_DIR to another folder."
            )));
        }
    }
    Ok(())
}

/// Makes a folder that only its owner can enter; an existing folder is not changed.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Options for a file that only its owner can access, from its creation.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// Removes the access of other users, which a lax umask left.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Converts an error that makes the data directory unusable.
pub(crate) fn broken(error: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("The data directory cannot be used: {error}."))
}

/// Writes a file atomically; only its owner can read a new one.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    let write = || {
        if fs::read(path).is_ok_and(|present| present == bytes) {
            return Ok(());
        }
        let draft = draft(path, bytes)?;
        draft.persist(path)?;
        path.parent().map_or(Ok(()), sync_folder)
    };
    write().map_err(|error: io::Error| unwritten(path, &error))
}

/// Writes a new file beside `path`, under a name of its own, because threads and processes may write one file
/// at once.
fn draft(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

fn unwritten(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError::new(format!("{} cannot be written: {error}.", path.display()))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads a private file, or creates it with the result of `make`. If several threads or processes do so at
/// once, one creates it and the others read that file.
pub fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Result<Vec<u8>, ConfigError>,
) -> Result<Vec<u8>, ConfigError> {
    if let Ok(bytes) = fs::read(path) {
        return Ok(bytes);
    }
    let draft = draft(path, &make()?).map_err(|error| unwritten(path, &error))?;
    let result = match draft.persist_noclobber(path) {
        Err(lost) if lost.error.kind() != io::ErrorKind::AlreadyExists => Err(lost.error),
        _ => path.parent().map_or(Ok(()), sync_folder),
    };
    result.map_err(|error| unwritten(path, &error))?;
    fs::read(path).map_err(|error| ConfigError::new(format!("{} cannot be read: {error}.", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_format_is_refused_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        drop(DataDir::open(folder.path()).unwrap());
        for (format, refusal) in [
            (3, "has format 3, written by a newer version of Millrace"),
            (1, "has format 1, written by an older version of Millrace"),
        ] {
            let text = serde_json::to_vec(&Format { format }).unwrap();
            fs::write(folder.path().join("format.json"), text).unwrap();
            for opened in [DataDir::open(folder.path()), DataDir::open_keys(folder.path())] {
                let message = opened.unwrap_err().to_string();
                assert!(message.contains(refusal), "{message}");
            }
        }
    }

    #[test]
    fn one_of_many_threads_makes_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(format!("{round}.key"));
            let start = std::sync::Barrier::new(8);
            let keys: Vec<Vec<u8>> = std::thread::scope(|threads| {
                let begin = |number| {
                    let (path, start) = (&path, &start);
                    threads.spawn(move || {
                        read_or_make(path, || {
                            start.wait();
                            Ok(vec![number; 3_000])
                        })
                    })
                };
                let begun: Vec<_> = (0..8).map(begin).collect();
                begun
                    .into_iter()
                    .map(|thread| thread.join().unwrap().unwrap())
                    .collect()
            });
            assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 3_000));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 50);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o770, 0o702] {
            set_mode(folder.path(), mode).unwrap();
            for opened in [DataDir::open(folder.path()), DataDir::open_keys(folder.path())] {
                let refusal = opened.unwrap_err().to_string();
                assert!(refusal.contains("chmod go-w"), "{refusal}");
            }
        }
        set_mode(folder.path(), 0o755).unwrap();
        assert!(DataDir::open(folder.path()).is_ok());
    }

    #[test]
    fn only_the_first_process_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataDir::open(folder.path()).unwrap();
        let second = DataDir::open(folder.path()).unwrap();
        assert!(first.is_ours() && !second.is_ours());
        drop((first, second));
        assert!(DataDir::open(folder.path()).unwrap().is_ours());
    }

    #[test]
    fn a_file_in_its_place_is_refused_in_a_sentence() {
        let file = NamedTempFile::new().unwrap();
        let refusal = DataDir::open(file.path()).unwrap_err().to_string();
        assert!(
            refusal.contains("cannot be used") && refusal.contains("DATA_DIR"),
            "{refusal}"
        );
    }
}
