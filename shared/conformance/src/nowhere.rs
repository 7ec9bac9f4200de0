//! Provides an unreachable store, for tests of code that must not read or write.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use platform::objects::{ListedObject, ObjectStore, Range, UploadLink};
use platform::records::store::{Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Key, Written};
use platform::{Error, Result};

/// Every call fails as unavailable.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

fn away<T>() -> Result<T> {
    Err(Error::unavailable("the store cannot be reached"))
}

#[async_trait]
impl RecordStore for Nowhere {
    async fn find(&self, _: &str, _: &Key) -> Result<Option<Item>> {
        away()
    }

    async fn find_many(&self, _: &str, _: &[Key]) -> Result<Vec<Option<Item>>> {
        away()
    }

    async fn write(&self, _: Step) -> Result<Written> {
        away()
    }

    async fn transact(&self, _: Vec<Step>) -> Result<Written> {
        away()
    }

    async fn add(&self, _: &str, _: &Key, _: &str, _: u64, _: i64) -> Result<u64> {
        away()
    }

    async fn page(&self, _: &str, _: &Query, _: usize, _: Option<Position>) -> Result<Page> {
        away()
    }

    async fn count(&self, _: &str, _: &Query) -> Result<u64> {
        away()
    }

    async fn scan(&self, _: &str, _: Option<Position>) -> Result<Page> {
        away()
    }
}

#[async_trait]
impl ObjectStore for Nowhere {
    async fn put(&self, _: &str, _: &str, _: Vec<u8>) -> Result<()> {
        away()
    }

    async fn put_new(&self, _: &str, _: &str, _: Vec<u8>) -> Result<bool> {
        away()
    }

    async fn put_file(&self, _: &str, _: &str, _: &Path) -> Result<()> {
        away()
    }

    async fn get(&self, _: &str, _: &str, _: Option<Range>) -> Result<Option<Vec<u8>>> {
        away()
    }

    async fn get_to_file(&self, _: &str, _: &str, _: &Path, _: u64) -> Result<bool> {
        away()
    }

    async fn exists(&self, _: &str, _: &str) -> Result<bool> {
        away()
    }

    async fn link(&self, _: &str, _: &str, _: Duration, _: &str) -> Result<String> {
        away()
    }

    async fn upload_link(&self, _: &str, _: &str, _: Duration, _: u64) -> Result<UploadLink> {
        away()
    }

    async fn list(&self, _: &str, _: &str) -> Result<Vec<ListedObject>> {
        away()
    }

    async fn folders(&self, _: &str, _: &str) -> Result<Vec<String>> {
        away()
    }

    async fn remove(&self, _: &str, _: &str) -> Result<()> {
        away()
    }
}
