//! Provides an unreachable store, for tests of code that must not read or write.

use std::path::Path;
use std::time::Duration;

use platform::objects::{ListedObject, ObjectStore, Range, UploadLink};
use platform::queue::BoxFuture;
use platform::records::store::{Item, Page, Position, Query, RecordStore, Step};
use platform::records::{Key, Written};
use platform::{Error, Result};

/// Every call fails as unavailable.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

fn away<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T>> {
    Box::pin(async { Err(Error::unavailable("the store cannot be reached")) })
}

impl RecordStore for Nowhere {
    fn find<'a>(&'a self, _: &'a str, _: &'a Key) -> BoxFuture<'a, Result<Option<Item>>> {
        away()
    }

    fn find_many<'a>(&'a self, _: &'a str, _: &'a [Key]) -> BoxFuture<'a, Result<Vec<Option<Item>>>> {
        away()
    }

    fn write(&self, _: Step) -> BoxFuture<'_, Result<Written>> {
        away()
    }

    fn transact(&self, _: Vec<Step>) -> BoxFuture<'_, Result<Written>> {
        away()
    }

    fn add<'a>(&'a self, _: &'a str, _: &'a Key, _: &'a str, _: u64, _: i64) -> BoxFuture<'a, Result<u64>> {
        away()
    }

    fn page<'a>(
        &'a self,
        _: &'a str,
        _: &'a Query,
        _: usize,
        _: Option<Position>,
    ) -> BoxFuture<'a, Result<Page>> {
        away()
    }

    fn count<'a>(&'a self, _: &'a str, _: &'a Query) -> BoxFuture<'a, Result<u64>> {
        away()
    }

    fn scan<'a>(&'a self, _: &'a str, _: Option<Position>) -> BoxFuture<'a, Result<Page>> {
        away()
    }
}

impl ObjectStore for Nowhere {
    fn put<'a>(&'a self, _: &'a str, _: &'a str, _: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        away()
    }

    fn put_new<'a>(&'a self, _: &'a str, _: &'a str, _: Vec<u8>) -> BoxFuture<'a, Result<bool>> {
        away()
    }

    fn put_file<'a>(&'a self, _: &'a str, _: &'a str, _: &'a Path) -> BoxFuture<'a, Result<()>> {
        away()
    }

    fn get<'a>(&'a self, _: &'a str, _: &'a str, _: Option<Range>) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        away()
    }

    fn get_to_file<'a>(&'a self, _: &'a str, _: &'a str, _: &'a Path, _: u64) -> BoxFuture<'a, Result<bool>> {
        away()
    }

    fn exists<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<bool>> {
        away()
    }

    fn link<'a>(&'a self, _: &'a str, _: &'a str, _: Duration, _: &'a str) -> BoxFuture<'a, Result<String>> {
        away()
    }

    fn upload_link<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Duration,
        _: u64,
    ) -> BoxFuture<'a, Result<UploadLink>> {
        away()
    }

    fn list<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<ListedObject>>> {
        away()
    }

    fn folders<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        away()
    }

    fn remove<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<()>> {
        away()
    }
}
