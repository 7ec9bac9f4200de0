//! Objects: immutable files, written once under keys that begin with their tenant.

mod store;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use store::{MAX_KEY_BYTES, MAX_OBJECT_BYTES, ObjectStore, Range};

use crate::clock::UtcTime;
use crate::error::{Error, ErrorKind, Result};
use crate::tenant::Tenant;

/// The key of a project's artifact, a file that imports read. 400 for a path that could leave the project's
/// folder.
pub fn artifact_key(tenant: &Tenant, path: &str) -> Result<String> {
    let fits =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if path.len() > 700 || !path.split('/').all(fits) {
        let shown: String = path.chars().take(100).collect();
        return Err(Error::invalid(format!(
            "'{shown}' is not the path of an artifact; write it as in out/sales.csv."
        )));
    }
    Ok(format!(
        "artifacts/{}/{}/{path}",
        tenant.account(),
        tenant.project()
    ))
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Whole, with the prefix.
    pub key: String,
    /// When it was written.
    pub modified: UtcTime,
    /// Size of the object.
    pub bytes: u64,
}

/// The error of a reader that takes at most `max_bytes` of an object: 413.
pub fn too_large(max_bytes: u64) -> Error {
    Error::new(
        ErrorKind::PayloadTooLarge,
        format!("The file is larger than the {max_bytes} bytes that can be read."),
    )
}

/// One bucket. Cheap to clone.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    bucket: Arc<str>,
}

impl Objects {
    /// S3 must have the bucket; among files its first object makes it.
    pub fn new(store: Arc<dyn ObjectStore>, bucket: &str) -> Self {
        Self {
            store,
            bucket: bucket.into(),
        }
    }

    /// Writes an object.
    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.store.put(&self.bucket, key, bytes).await
    }

    /// Writes an object unless there is one: false then. A repeat after a lost response may be refused by the
    /// first attempt.
    pub async fn put_new(&self, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.store.put_new(&self.bucket, key, bytes).await
    }

    /// Writes an object from a file.
    pub async fn put_file(&self, key: &str, path: &Path) -> Result<()> {
        self.store.put_file(&self.bucket, key, path).await
    }

    /// Reads an object whole; None where there is none.
    pub async fn find(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.store.get(&self.bucket, key, None).await
    }

    /// Reads at most so many bytes from the beginning of an object; None where there is none.
    pub async fn find_beginning(&self, key: &str, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let length = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        self.range(key, 0, length).await
    }

    /// Reads at most `length` bytes of an object, behind its first `from`: fewer, or none, where it ends
    /// earlier. None where there is no object.
    pub async fn range(&self, key: &str, from: u64, length: u64) -> Result<Option<Vec<u8>>> {
        let range = Range { from, length };
        self.store.get(&self.bucket, key, Some(range)).await
    }

    /// Reads an object into a new file, at most `max_bytes` of it. False where there is none, 413 where it
    /// is larger.
    pub async fn find_to_file(&self, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        self.store.get_to_file(&self.bucket, key, path, max_bytes).await
    }

    /// A link that reads an object without credentials for as long as `lifetime`, and saves it as
    /// `file_name`.
    pub async fn link(&self, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        self.store.link(&self.bucket, key, lifetime, file_name).await
    }

    /// The objects whose keys begin with `prefix`, by key.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ListedObject>> {
        self.store.list(&self.bucket, prefix).await
    }

    /// The folders right below a prefix that ends in a slash, such as `stores/acme/`, each with that prefix
    /// and a slash.
    pub async fn folders(&self, prefix: &str) -> Result<Vec<String>> {
        self.store.folders(&self.bucket, prefix).await
    }

    /// Removes an object; one that is gone already is no error.
    pub async fn remove(&self, key: &str) -> Result<()> {
        self.store.remove(&self.bucket, key).await
    }

    /// Whether there is an object.
    pub async fn exists(&self, key: &str) -> Result<bool> {
        self.store.exists(&self.bucket, key).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_projects_folder() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        assert_eq!(
            artifact_key(&tenant, "out/a b.csv").unwrap(),
            "artifacts/acme/demo/out/a b.csv"
        );
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "out/../../x",
            "out//x",
            "out/",
            ".",
            "a\0b",
        ] {
            assert!(artifact_key(&tenant, path).is_err(), "{path:?}");
        }
    }
}
