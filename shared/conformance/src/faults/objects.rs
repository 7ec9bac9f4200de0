//! Wraps an object store with faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use platform::Result;
use platform::objects::{ListedObject, ObjectStore, Range, UploadLink};

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

#[async_trait]
impl ObjectStore for FaultyObjects {
    async fn put(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<()> {
        self.arrive().await?;
        self.written(self.store.put(bucket, key, bytes).await)
    }

    async fn put_new(&self, bucket: &str, key: &str, bytes: Vec<u8>) -> Result<bool> {
        self.arrive().await?;
        let is_new = self.store.put_new(bucket, key, bytes).await?;
        if is_new && self.faults.lock().repeats_object() {
            return Ok(false);
        }
        self.written(Ok(is_new))
    }

    async fn put_file(&self, bucket: &str, key: &str, path: &Path) -> Result<()> {
        self.arrive().await?;
        self.written(self.store.put_file(bucket, key, path).await)
    }

    async fn get(&self, bucket: &str, key: &str, range: Option<Range>) -> Result<Option<Vec<u8>>> {
        self.arrive().await?;
        self.store.get(bucket, key, range).await
    }

    async fn get_to_file(&self, bucket: &str, key: &str, path: &Path, max_bytes: u64) -> Result<bool> {
        self.arrive().await?;
        let is_there = self.store.get_to_file(bucket, key, path, max_bytes).await?;
        let answer = self.whole(Ok(is_there));
        if is_there && answer.is_err() {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let bytes = file.metadata().unwrap().len();
            file.set_len(bytes / 2).unwrap();
        }
        answer
    }

    async fn exists(&self, bucket: &str, key: &str) -> Result<bool> {
        self.arrive().await?;
        self.store.exists(bucket, key).await
    }

    async fn link(&self, bucket: &str, key: &str, lifetime: Duration, file_name: &str) -> Result<String> {
        // Creating a link sends no request.
        self.store.link(bucket, key, lifetime, file_name).await
    }

    async fn upload_link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        bytes: u64,
    ) -> Result<UploadLink> {
        // Creating a link sends no request.
        self.store.upload_link(bucket, key, lifetime, bytes).await
    }

    async fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<ListedObject>> {
        self.arrive().await?;
        self.whole(self.store.list(bucket, prefix).await)
    }

    async fn folders(&self, bucket: &str, prefix: &str) -> Result<Vec<String>> {
        self.arrive().await?;
        self.whole(self.store.folders(bucket, prefix).await)
    }

    async fn remove(&self, bucket: &str, key: &str) -> Result<()> {
        self.arrive().await?;
        self.written(self.store.remove(bucket, key).await)
    }
}
