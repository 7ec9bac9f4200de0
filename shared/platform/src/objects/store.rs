//! Defines the interface between objects and the service that stores them.
//!
//! It offers only what S3 offers: objects are written whole under keys of any UTF-8, and a written object is
//! immediately visible to every reader. All adapters pass the same conformance suite.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;

use super::ListedObject;
use crate::error::Result;

/// Maximum length of a key, in bytes; the limit of S3.
pub const MAX_KEY_BYTES: usize = 1_024;

/// Maximum size of a written object, in bytes; the limit of `PutObject` in S3.
pub const MAX_OBJECT_BYTES: u64 = 5 * 1_024 * 1_024 * 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Bytes before the range.
    pub from: u64,
    /// Maximum length in bytes; the range is shorter where the object ends earlier.
    pub length: u64,
}

/// Content type of every upload. It is signed, so that no upload can be served as a page.
pub const UPLOAD_TYPE: &str = "application/octet-stream";

/// A request with which a client without credentials writes an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadLink {
    /// Address to `PUT` the object to. Its signature covers the size and the headers.
    pub url: String,
    /// Headers that the client must send, beside the `content-length` that HTTP requires.
    pub headers: BTreeMap<String, String>,
}

/// Stores objects, in S3 or files.
///
/// An error is [`Unavailable`](crate::ErrorKind::Unavailable) if a retry may succeed; a write may have
/// happened even so. Of several concurrent writers of one key, one leaves its whole object.
#[async_trait]
pub trait ObjectStore: Send + Sync {
    /// Writes an object, and replaces an existing one.
    async fn put(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<()>;

    /// Writes an object; false if it exists already. A retry after a lost response may return false because
    /// of the first attempt.
    async fn put_new(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<bool>;

    /// Writes an object from a local file.
    async fn put_file(&self, bucket: &str, key: &str, path: &Path) -> Result<()>;

    /// Reads an object, or a range of it; None if it does not exist.
    async fn get(&self, bucket: &str, key: &str, range: Option<Range>) -> Result<Option<Vec<u8>>>;

    /// Downloads an object into a new local file. False if it does not exist, 413 where it is larger than
    /// `max_bytes`.
    async fn get_to_file(&self, bucket: &str, key: &str, path: &Path, max_bytes: u64) -> Result<bool>;

    async fn exists(&self, bucket: &str, key: &str) -> Result<bool>;

    /// Returns a URL that reads an object without credentials for `lifetime`, and saves it as `file_name`.
    async fn link(&self, bucket: &str, key: &str, lifetime: Duration, file_name: &str) -> Result<String>;

    /// Returns a request that writes an object of exactly `bytes` bytes without credentials, within
    /// `lifetime`. It may be repeated, and then replaces the object.
    async fn upload_link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        bytes: u64,
    ) -> Result<UploadLink>;

    /// Lists the objects whose keys start with `prefix`, ordered by the bytes of their keys.
    async fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<ListedObject>>;

    /// Lists the distinct parts of the keys up to the first slash after `prefix`, in order.
    async fn folders(&self, bucket: &str, prefix: &str) -> Result<Vec<String>>;

    /// Removes an object; a missing one is not an error.
    async fn remove(&self, bucket: &str, key: &str) -> Result<()>;
}
