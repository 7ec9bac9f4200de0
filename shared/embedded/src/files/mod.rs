//! Stores objects in files of one folder, without a service.
//!
//! A bucket is a folder in it, and `names` maps keys to files. A confirmed write is on the disk. Several
//! processes may have the folder open; one of them opens it with [`FileObjects::open`].

mod held;
mod links;
mod listing;
mod names;
mod uploads;
mod writing;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use platform::objects::{
    ListedObject, MAX_KEY_BYTES, MAX_OBJECT_BYTES, ObjectStore, Range, UPLOAD_TYPE, UploadLink, too_large,
};
use platform::{Error, Result};

pub use held::HeldObjects;
pub use links::{LINKS_PATH, Links};
pub use listing::key_of;
use listing::present;
pub use names::file as path_of;
pub use uploads::{Upload, other_size};
use writing::{Replace, Writer};

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileObjects {
    root: Arc<Path>,
    writer: Arc<Writer>,
    links: Option<Arc<Links>>,
}

impl FileObjects {
    /// Opens a folder that no other process opens with this function. Creates it if it is missing, and
    /// removes the remains of interrupted writes and copies.
    pub fn open(folder: &Path) -> Result<Self> {
        let opened = Self::beside(folder)?;
        opened.writer.remove_drafts().map_err(Error::internal)?;
        held::remove_left(folder).map_err(Error::internal)?;
        Ok(opened)
    }

    /// Opens a folder that another process has opened with [`open`](Self::open).
    pub fn beside(folder: &Path) -> Result<Self> {
        Ok(Self {
            root: folder.into(),
            writer: Arc::new(Writer::open(folder).map_err(Error::internal)?),
            links: None,
        })
    }

    /// Adds links to the objects; without them, [`ObjectStore::link`] is an error.
    #[must_use]
    pub fn with_links(&self, links: Links) -> Self {
        Self {
            links: Some(Arc::new(links)),
            ..self.clone()
        }
    }

    /// Returns the object of a link with this query, and the name to save it as; None if it no longer exists.
    /// 403 if the link is invalid.
    pub async fn follow(&self, bucket: &str, key: &str, query: &str) -> Result<Option<(File, String)>> {
        let links = self.links.as_ref().ok_or_else(without_links)?;
        let file_name = links.verify(bucket, key, query)?;
        let path = self.path(bucket, key)?;
        let file = blocking(move || present(File::open(path))).await?;
        Ok(file.map(|file| (file, file_name)))
    }

    fn bucket(&self, bucket: &str) -> PathBuf {
        self.root.join(names::plain(bucket))
    }

    fn path(&self, bucket: &str, key: &str) -> Result<PathBuf> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            let bytes = key.len();
            return Err(Error::internal(format!(
                "a key of an object has {bytes} bytes, and 1 to {MAX_KEY_BYTES} are allowed"
            )));
        }
        Ok(self.bucket(bucket).join(names::file(key)))
    }

    async fn write(
        &self,
        path: PathBuf,
        replace: Replace,
        fill: impl FnOnce(&mut File) -> io::Result<()> + Send + 'static,
    ) -> Result<bool> {
        let writer = Arc::clone(&self.writer);
        blocking(move || writer.write(&path, replace, fill)).await
    }

    async fn write_bytes(&self, path: PathBuf, replace: Replace, bytes: Vec<u8>) -> Result<bool> {
        check_size(bytes.len() as u64)?;
        self.write(path, replace, move |file| io::Write::write_all(file, &bytes))
            .await
    }
}

#[async_trait]
impl ObjectStore for FileObjects {
    async fn put(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<()> {
        let path = self.path(bucket, key)?;
        self.write_bytes(path, Replace::Yes, bytes).await.map(drop)
    }

    async fn put_new(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.write_bytes(self.path(bucket, key)?, Replace::No, bytes)
            .await
    }

    async fn put_file(&self, bucket: &str, key: &str, path: &Path) -> Result<()> {
        let to = self.path(bucket, key)?;
        // The object is a copy, made by the operating system, so later changes of the file do not affect
        // it.
        let from = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let file = File::open(from)?;
            let bytes = file.metadata()?.len();
            Ok::<_, io::Error>((file, bytes))
        });
        let opened = opened.await.map_err(Error::internal)?;
        let (mut from, bytes) = opened.map_err(Error::internal)?;
        check_size(bytes)?;
        let copy = move |to: &mut File| io::copy(&mut from, to).map(drop);
        self.write(to, Replace::Yes, copy).await.map(drop)
    }

    async fn get(&self, bucket: &str, key: &str, range: Option<Range>) -> Result<Option<Vec<u8>>> {
        let path = self.path(bucket, key)?;
        blocking(move || {
            let Some(mut file) = present(File::open(path))? else {
                return Ok(None);
            };
            let mut bytes = Vec::new();
            match range {
                None => file.read_to_end(&mut bytes)?,
                Some(Range { from, length }) => {
                    // Positions beyond the system's limit are also after the end.
                    file.seek(SeekFrom::Start(from.min(MAX_OBJECT_BYTES)))?;
                    file.take(length).read_to_end(&mut bytes)?
                }
            };
            Ok(Some(bytes))
        })
        .await
    }

    async fn get_to_file(&self, bucket: &str, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        let from = self.path(bucket, key)?;
        let opened = blocking(move || {
            let Some(file) = present(File::open(from))? else {
                return Ok(None);
            };
            let bytes = file.metadata()?.len();
            Ok(Some((file, bytes)))
        });
        let Some((mut from, bytes)) = opened.await? else {
            return Ok(false);
        };
        if bytes > max_bytes {
            return Err(too_large(max_bytes));
        }
        let to = path.to_owned();
        let copied = tokio::task::spawn_blocking(move || io::copy(&mut from, &mut File::create(to)?));
        copied.await.map_err(Error::internal)?.map_err(Error::internal)?;
        Ok(true)
    }

    async fn exists(&self, bucket: &str, key: &str) -> Result<bool> {
        let path = self.path(bucket, key)?;
        blocking(move || path.try_exists()).await
    }

    async fn link(&self, bucket: &str, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        let links = self.links.as_ref().ok_or_else(without_links)?;
        links.link(bucket, key, lifetime, file_name)
    }

    async fn upload_link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        bytes: u64,
    ) -> Result<UploadLink> {
        check_size(bytes)?;
        let links = self.links.as_ref().ok_or_else(without_links)?;
        Ok(UploadLink {
            url: links.upload_link(bucket, key, lifetime, bytes)?,
            headers: BTreeMap::from([("content-type".to_owned(), UPLOAD_TYPE.to_owned())]),
        })
    }

    async fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<ListedObject>> {
        let (bucket, prefix) = (self.bucket(bucket), prefix.to_owned());
        blocking(move || listing::objects(&bucket, &prefix)).await
    }

    async fn folders(&self, bucket: &str, prefix: &str) -> Result<Vec<String>> {
        let (bucket, prefix) = (self.bucket(bucket), prefix.to_owned());
        blocking(move || Ok(listing::folders(&bucket, &prefix)?.into_iter().collect())).await
    }

    async fn remove(&self, bucket: &str, key: &str) -> Result<()> {
        let (path, root) = (self.path(bucket, key)?, self.bucket(bucket));
        blocking(move || writing::remove(&path, &root)).await
    }
}

/// Runs file operations, which may wait for the disk, on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(Error::internal)?.map_err(unavailable)
}

/// Returns the error of a failed file operation: 503 where a retry may succeed.
fn unavailable(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::InvalidFilename
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory => Error::internal(error),
        _ => Error::unavailable(error),
    }
}

fn check_size(bytes: u64) -> Result<()> {
    if bytes > MAX_OBJECT_BYTES {
        return Err(Error::internal(format!(
            "an object has {bytes} bytes, and {MAX_OBJECT_BYTES} are the most that is written"
        )));
    }
    Ok(())
}

fn without_links() -> Error {
    Error::internal("these objects are open without links")
}
