//! Writes the files of an export, and the manifest that lists them.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use event_log::sum;
use platform::{Error, Result, Tenant, UtcTime};
use serde::Serialize;

/// Version of the folder's layout.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";

/// What an export holds. A folder without this file is not complete.
#[derive(Serialize)]
pub struct Manifest<'a> {
    pub format: u32,
    pub account: &'a str,
    pub project: &'a str,
    /// Time at which the export began.
    pub exported_at: UtcTime,
    pub items: u64,
    pub objects: u64,
    /// In bytes.
    pub object_bytes: u64,
    /// Files with a JSON value for each line.
    pub files: Vec<ListedFile>,
}

#[derive(Serialize)]
pub struct ListedFile {
    /// Path below the folder.
    pub file: String,
    pub lines: u64,
    pub bytes: u64,
    pub sha256: String,
}

impl<'a> Manifest<'a> {
    pub fn new(tenant: &'a Tenant, exported_at: UtcTime) -> Self {
        Self {
            format: FORMAT,
            account: tenant.account(),
            project: tenant.project(),
            exported_at,
            items: 0,
            objects: 0,
            object_bytes: 0,
            files: Vec::new(),
        }
    }

    /// Writes the manifest under a name of its own, and then names it: the export is complete.
    pub fn finish(&self, folder: &Folder) -> Result<()> {
        let part = folder.path(".manifest.json.part");
        let mut text = serde_json::to_vec_pretty(self).map_err(Error::internal)?;
        text.push(b'\n');
        let write = || {
            fs::write(&part, &text)?;
            sync(&part)?;
            fs::rename(&part, folder.path(MANIFEST))?;
            sync(&folder.0)
        };
        write().map_err(|cause| folder.unwritable(&cause))
    }
}

pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder. 400 for one that is not empty.
    pub fn make(path: &Path) -> Result<Self> {
        let folder = Self(path.to_owned());
        let is_empty = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(cause) if cause.kind() == ErrorKind::NotFound => true,
            Err(cause) => return Err(folder.unwritable(&cause)),
        };
        if !is_empty {
            return Err(Error::invalid(format!(
                "The folder {} is not empty. Name a new one.",
                path.display()
            )));
        }
        folder.make_below(path)?;
        Ok(folder)
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a folder in it that only its owner can enter.
    fn make_below(&self, path: &Path) -> Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(path).map_err(|cause| self.unwritable(&cause))
    }

    /// Starts a file with a JSON value for each line.
    pub fn lines(&self, name: &str) -> Result<Lines<'_>> {
        let path = self.path(name);
        self.make_above(&path)?;
        let file = File::create_new(&path).map_err(|cause| self.unwritable(&cause))?;
        Ok(Lines {
            folder: self,
            name: name.to_owned(),
            file: BufWriter::new(file),
            count: 0,
        })
    }

    pub fn make_above(&self, path: &Path) -> Result<()> {
        path.parent().map_or(Ok(()), |above| self.make_below(above))
    }

    /// Syncs a file, and returns its size and SHA-256.
    pub fn seal(&self, path: &Path) -> Result<(u64, String)> {
        let sealed = sync(path).and_then(|()| sum(path));
        sealed.map_err(|cause| self.unwritable(&cause))
    }

    /// Removes what an export of nothing made.
    pub fn discard(&self) -> Result<()> {
        fs::remove_dir_all(&self.0).map_err(|cause| self.unwritable(&cause))
    }

    fn unwritable(&self, cause: &std::io::Error) -> Error {
        let folder = self.0.display();
        Error::invalid(format!(
            "The folder {folder} cannot be written: {cause}. Remove what is in it, and export again."
        ))
    }
}

fn sync(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file that is being written, with a JSON value for each line.
pub struct Lines<'a> {
    folder: &'a Folder,
    name: String,
    file: BufWriter<File>,
    count: u64,
}

impl Lines<'_> {
    pub fn add(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(Error::internal)?;
        line.push(b'\n');
        self.count += 1;
        let outcome = self.file.write_all(&line);
        outcome.map_err(|cause| self.folder.unwritable(&cause))
    }

    /// Syncs the file, and returns its line of the manifest.
    pub fn finish(mut self) -> Result<ListedFile> {
        self.file
            .flush()
            .map_err(|cause| self.folder.unwritable(&cause))?;
        let (bytes, sha256) = self.folder.seal(&self.folder.path(&self.name))?;
        Ok(ListedFile {
            file: self.name,
            lines: self.count,
            bytes,
            sha256,
        })
    }
}
