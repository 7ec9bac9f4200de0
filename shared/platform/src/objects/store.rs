//! The seam between objects and the service that holds them.
//!
//! It has what S3 gives and no more: objects are written whole under keys of any UTF-8, and what is written
//! is read by everyone from then on. Every adapter passes the same conformance suite.

use std::path::Path;
use std::time::Duration;

use super::ListedObject;
use crate::error::Result;
use crate::queue::BoxFuture;

/// Longest key, in bytes; as of S3.
pub const MAX_KEY_BYTES: usize = 1_024;

/// Largest object that is written, in bytes; as of a `PutObject` of S3.
pub const MAX_OBJECT_BYTES: u64 = 5 * 1_024 * 1_024 * 1_024;

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Bytes before the part.
    pub from: u64,
    /// Most bytes of the part; it is shorter where the object ends earlier.
    pub length: u64,
}

/// Holds objects: S3, or files.
///
/// An error is [`Unavailable`](crate::ErrorKind::Unavailable) where a repeat may succeed; a write may then
/// have happened. Of several writers of one key, one leaves its whole object.
pub trait ObjectStore: Send + Sync {
    /// Writes an object, in the place of one that is there.
    fn put<'a>(&'a self, bucket: &'a str, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>>;

    /// Writes an object unless there is one: false then. A repeat after a lost response may be refused by the
    /// first attempt.
    fn put_new<'a>(&'a self, bucket: &'a str, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<bool>>;

    /// Writes an object from a local file.
    fn put_file<'a>(&'a self, bucket: &'a str, key: &'a str, path: &'a Path) -> BoxFuture<'a, Result<()>>;

    /// Reads an object, or a part of it; None where there is none.
    fn get<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        range: Option<Range>,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>>>;

    /// Reads an object into a new local file. False where there is none, 413 where it is larger than
    /// `max_bytes`.
    fn get_to_file<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        path: &'a Path,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Whether there is an object.
    fn exists<'a>(&'a self, bucket: &'a str, key: &'a str) -> BoxFuture<'a, Result<bool>>;

    /// A URL that reads an object without credentials for as long as `lifetime`, and saves it as `file_name`.
    fn link<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        lifetime: Duration,
        file_name: &'a str,
    ) -> BoxFuture<'a, Result<String>>;

    /// The objects whose keys begin with `prefix`, in the order of the bytes of their keys.
    fn list<'a>(&'a self, bucket: &'a str, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ListedObject>>>;

    /// What keys that begin with `prefix` have up to the next slash behind it, each once and in order.
    fn folders<'a>(&'a self, bucket: &'a str, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Removes an object; one that is gone already is no error.
    fn remove<'a>(&'a self, bucket: &'a str, key: &'a str) -> BoxFuture<'a, Result<()>>;
}
