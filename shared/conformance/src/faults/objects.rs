//! Wraps an object store with faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use platform::Result;
use platform::objects::{ListedObject, ObjectStore, Range, UploadLink};
use platform::queue::BoxFuture;

use super::{Faults, State, chance, lose, slowness, unavailable};

/// An object store with faults.
pub struct FaultyObjects {
    store: Arc<dyn ObjectStore>,
    faults: Faults,
}

impl FaultyObjects {
    /// Wraps a store without faults; the handle switches faults on.
    pub fn new(store: Arc<dyn ObjectStore>, faults: &Faults) -> Self {
        Self {
            store,
            faults: faults.clone(),
        }
    }

    /// Yields to other tasks, as a network does; may delay the call, and may fail.
    async fn arrive(&self) -> Result<()> {
        tokio::task::yield_now().await;
        let (slow, is_failed) = self.faults.lock().arrival_at_objects();
        if let Some(slow) = slow {
            tokio::time::sleep(slow).await;
        }
        match is_failed {
            true => Err(unavailable("a failed call for an object, by a test")),
            false => Ok(()),
        }
    }

    /// Returns the answer of a write, or an error if it is lost.
    fn written<T>(&self, answer: Result<T>) -> Result<T> {
        lose(answer, || self.faults.lock().loses_object())
    }

    /// Returns the answer of a read with several parts, or an error if it is cut.
    fn whole<T>(&self, answer: Result<T>) -> Result<T> {
        match answer.is_ok() && self.faults.lock().cuts() {
            true => Err(unavailable("a read that ended in the middle, by a test")),
            false => answer,
        }
    }
}

impl State {
    fn arrival_at_objects(&mut self) -> (Option<Duration>, bool) {
        let rates = self.rates.objects;
        let slow = chance(&mut self.objects, rates.slow).then(|| slowness(&mut self.objects));
        self.counts.objects.slow += u64::from(slow.is_some());
        let is_failed = chance(&mut self.objects, rates.failed);
        self.counts.objects.failed += u64::from(is_failed);
        (slow, is_failed)
    }

    fn loses_object(&mut self) -> bool {
        let is_lost = chance(&mut self.objects, self.rates.objects.lost);
        self.counts.objects.lost += u64::from(is_lost);
        is_lost
    }

    fn cuts(&mut self) -> bool {
        let is_cut = chance(&mut self.objects, self.rates.objects.cut);
        self.counts.objects.cut += u64::from(is_cut);
        is_cut
    }

    fn repeats_object(&mut self) -> bool {
        let is_repeated = chance(&mut self.objects, self.rates.objects.repeated);
        self.counts.objects.repeated += u64::from(is_repeated);
        is_repeated
    }
}

impl ObjectStore for FaultyObjects {
    fn put<'a>(&'a self, bucket: &'a str, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.arrive().await?;
            self.written(self.store.put(bucket, key, bytes).await)
        })
    }

    fn put_new<'a>(&'a self, bucket: &'a str, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            self.arrive().await?;
            let is_new = self.store.put_new(bucket, key, bytes).await?;
            if is_new && self.faults.lock().repeats_object() {
                return Ok(false);
            }
            self.written(Ok(is_new))
        })
    }

    fn put_file<'a>(&'a self, bucket: &'a str, key: &'a str, path: &'a Path) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.arrive().await?;
            self.written(self.store.put_file(bucket, key, path).await)
        })
    }

    fn get<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        range: Option<Range>,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            self.arrive().await?;
            self.store.get(bucket, key, range).await
        })
    }

    fn get_to_file<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        path: &'a Path,
        max_bytes: u64,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            self.arrive().await?;
            let is_there = self.store.get_to_file(bucket, key, path, max_bytes).await?;
            let answer = self.whole(Ok(is_there));
            if is_there && answer.is_err() {
                let file = std::fs::File::options().write(true).open(path).unwrap();
                let bytes = file.metadata().unwrap().len();
                file.set_len(bytes / 2).unwrap();
            }
            answer
        })
    }

    fn exists<'a>(&'a self, bucket: &'a str, key: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            self.arrive().await?;
            self.store.exists(bucket, key).await
        })
    }

    fn link<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        lifetime: Duration,
        file_name: &'a str,
    ) -> BoxFuture<'a, Result<String>> {
        // Creating a link sends no request.
        self.store.link(bucket, key, lifetime, file_name)
    }

    fn upload_link<'a>(
        &'a self,
        bucket: &'a str,
        key: &'a str,
        lifetime: Duration,
        bytes: u64,
    ) -> BoxFuture<'a, Result<UploadLink>> {
        // Creating a link sends no request.
        self.store.upload_link(bucket, key, lifetime, bytes)
    }

    fn list<'a>(&'a self, bucket: &'a str, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ListedObject>>> {
        Box::pin(async move {
            self.arrive().await?;
            self.whole(self.store.list(bucket, prefix).await)
        })
    }

    fn folders<'a>(&'a self, bucket: &'a str, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            self.arrive().await?;
            self.whole(self.store.folders(bucket, prefix).await)
        })
    }

    fn remove<'a>(&'a self, bucket: &'a str, key: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.arrive().await?;
            self.written(self.store.remove(bucket, key).await)
        })
    }
}
