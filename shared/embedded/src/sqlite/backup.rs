//! Copies the file while it is in use.

use std::fs::File;
use std::path::{Path, PathBuf};

use platform::{Error, Result};

use super::SqliteRecords;
use super::failure::failed;
use super::readers::connect;

impl SqliteRecords {
    /// Writes a copy of one state of the records to a new file. The copy is complete when it gets its name.
    /// It is not made where there is a file of this name.
    pub async fn backup(&self, path: &Path) -> Result<()> {
        let (from, to) = (self.path.clone(), path.to_owned());
        let copying = tokio::task::spawn_blocking(move || copy(&from, &to));
        copying.await.map_err(Error::internal)?
    }
}

/// `VACUUM INTO` reads one state, where SQLite's backup begins anew with each write of another connection.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let exists = || {
        Error::conflict(format!(
            "The file {} exists already; choose another name for the backup.",
            to.display()
        ))
    };
    let unwritable = |error: std::io::Error| {
        Error::unavailable(format!("the backup {} cannot be written: {error}", to.display()))
    };
    if to.try_exists().map_err(unwritable)? {
        return Err(exists());
    }
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let copied = tempfile::Builder::new().prefix(".backup-").tempfile_in(&folder);
    let copied = copied.map_err(unwritable)?;
    let Some(name) = copied.path().to_str() else {
        return Err(Error::invalid("The path of a backup must be valid UTF-8."));
    };
    connect(from)
        .map_err(failed)?
        .execute("VACUUM INTO ?1", [name])
        .map_err(failed)?;
    copied.as_file().sync_all().map_err(unwritable)?;
    if let Err(error) = copied.persist_noclobber(to) {
        return Err(match error.error.kind() {
            std::io::ErrorKind::AlreadyExists => exists(),
            _ => unwritable(error.error),
        });
    }
    File::open(&folder)
        .and_then(|folder| folder.sync_all())
        .map_err(unwritable)
}
