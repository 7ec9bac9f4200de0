//! Stores objects: immutable files, written once under keys that start with their tenant.

pub mod remote;
mod store;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use store::{MAX_KEY_BYTES, MAX_OBJECT_BYTES, ObjectStore, Range, UPLOAD_TYPE, UploadLink};

use crate::clock::UtcTime;
use crate::error::{Error, ErrorKind, Result};
use crate::tenant::Tenant;

/// Returns the key of a project's artifact, a file that imports read. 400 for a path that could leave the
/// project's folder.
pub fn artifact_key(tenant: &Tenant, path: &str) -> Result<String> {
    let fits =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if path.len() > 700 || !path.split('/').all(fits) {
        let shown: String = path.chars().take(100).collect();
        return Err(Error::invalid(format!(
            "'{shown}' is not the path of an artifact; write it as in out/sales.csv."
        )));
    }
    Ok(format!("{}{path}", artifact_folder(tenant)))
}

/// Returns the beginning of the keys of a project's artifacts.
pub fn artifact_folder(tenant: &Tenant) -> String {
    format!("artifacts/{}/{}/", tenant.account(), tenant.project())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Full key, including the prefix.
    pub key: String,
    /// Time of the write.
    pub modified: UtcTime,
    pub bytes: u64,
}

/// 413, for a reader that accepts at most `max_bytes` of an object.
pub fn too_large(max_bytes: u64) -> Error {
    Error::new(
        ErrorKind::PayloadTooLarge,
        format!("The file is larger than the {max_bytes} bytes that can be read."),
    )
}

/// A bucket; cheap to clone.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    bucket: Arc<str>,
}

impl Objects {
    /// In S3 the bucket must exist; a file store creates it with its first object.
    pub fn new(store: Arc<dyn ObjectStore>, bucket: &str) -> Self {
        Self {
            store,
            bucket: bucket.into(),
        }
    }

    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.store.put(&self.bucket, key, bytes).await
    }

    /// Writes an object; false if it exists already. A retry after a lost response may return false because
    /// of the first attempt.
    pub async fn put_new(&self, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.store.put_new(&self.bucket, key, bytes).await
    }

    pub async fn put_file(&self, key: &str, path: &Path) -> Result<()> {
        self.store.put_file(&self.bucket, key, path).await
    }

    /// Reads a whole object; None if it does not exist.
    pub async fn find(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.store.get(&self.bucket, key, None).await
    }

    /// Reads up to `max_bytes` from the start of an object; None if it does not exist.
    pub async fn find_beginning(&self, key: &str, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let length = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        self.range(key, 0, length).await
    }

    /// Reads at most `length` bytes of an object, starting at `from`; fewer, or none, where it ends earlier.
    /// None if the object does not exist.
    pub async fn range(&self, key: &str, from: u64, length: u64) -> Result<Option<Vec<u8>>> {
        let range = Range { from, length };
        self.store.get(&self.bucket, key, Some(range)).await
    }

    /// Downloads an object of at most `max_bytes` into a new file. False if it does not exist, 413 if it is
    /// larger.
    pub async fn find_to_file(&self, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        self.store.get_to_file(&self.bucket, key, path, max_bytes).await
    }

    /// Returns a URL that reads an object without credentials for `lifetime`, and saves it as `file_name`.
    pub async fn link(&self, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        self.store.link(&self.bucket, key, lifetime, file_name).await
    }

    /// Returns a request that writes an object of exactly `bytes` bytes without credentials, within
    /// `lifetime`.
    pub async fn upload_link(&self, key: &str, lifetime: Duration, bytes: u64) -> Result<UploadLink> {
        self.store.upload_link(&self.bucket, key, lifetime, bytes).await
    }

    /// Lists the objects whose keys start with `prefix`, ordered by key.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ListedObject>> {
        self.store.list(&self.bucket, prefix).await
    }

    /// Lists the folders directly below a prefix that ends in a slash, such as `stores/acme/`. Each result
    /// has that prefix and a final slash.
    pub async fn folders(&self, prefix: &str) -> Result<Vec<String>> {
        self.store.folders(&self.bucket, prefix).await
    }

    /// Returns the beginnings of the keys of all objects of a project, such as `stores/acme/demo/`. They are
    /// found in the bucket: no list of kinds of objects can miss one.
    pub async fn project_folders(&self, tenant: &Tenant) -> Result<Vec<String>> {
        let mut kinds = self.folders("").await?;
        // A kind with a name of its own for all tenants, as `payloads/~updates/`: no account begins with `~`.
        for kind in kinds.clone() {
            kinds.extend(self.store.folders(&self.bucket, &format!("{kind}~")).await?);
        }
        let folder = |kind: String| format!("{kind}{}/{}/", tenant.account(), tenant.project());
        Ok(kinds.into_iter().map(folder).collect())
    }

    /// Removes an object; a missing one is not an error.
    pub async fn remove(&self, key: &str) -> Result<()> {
        self.store.remove(&self.bucket, key).await
    }

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
