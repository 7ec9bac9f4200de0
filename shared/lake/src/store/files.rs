//! Provides the local files of a version's segments, and fetches missing ones.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use futures::future::{BoxFuture, FutureExt as _, ready};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::objects::Objects;
use platform::{Error, Result, Tenant};

use super::keys;
use crate::schema::manifest::{Segment, TableVersion};
use crate::store::file_cache::{CachedObject, FileCache, Pin};
use crate::tables::native::is_copy;

/// Concurrent fetches of segments: object stores have a high latency and serve many requests in parallel.
const MAX_FETCHES: usize = 16;

/// Pinned files of some tables.
pub(super) struct Files {
    pins: Vec<Pin>,
}

impl Files {
    /// Returns the paths, in the order of the tables and their segments.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.pins.iter().map(|pin| pin.path().to_owned()).collect()
    }

    /// Links the files into a folder of the same file system under the same names; returns their paths there.
    pub(super) fn link_into(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let links = self.pins.iter().map(|pin| {
            let link = folder.join(pin.path().file_name().unwrap_or_default());
            match std::fs::hard_link(pin.path(), &link) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Error::internal(error)),
                _ => Ok(link),
            }
        });
        links.collect()
    }
}

/// The cache of segments, each `<segment id>.parquet`, and of native copies. Cheap to clone.
#[derive(Clone)]
pub(super) struct SegmentFiles {
    objects: Objects,
    pub(super) cache: FileCache,
    /// Folder for temporary files, on the same file system.
    pub(super) staging: PathBuf,
}

impl SegmentFiles {
    /// Opens the cache in the folder of the data stores.
    pub(super) fn open(objects: Objects, directory: &Path, max_bytes: u64) -> std::io::Result<Self> {
        let keeps = |file: &Path| is_copy(file) || file.extension().is_some_and(|ending| ending == "parquet");
        Ok(Self {
            objects,
            cache: FileCache::open(&directory.join("segments"), max_bytes, keeps)?,
            staging: directory.join("staging"),
        })
    }

    /// Fetches the missing files of the tables' segments.
    pub(super) async fn of(
        &self,
        tenant: &Tenant,
        store: &str,
        tables: impl IntoIterator<Item = &TableVersion>,
    ) -> Result<Files> {
        let segments = tables.into_iter().flat_map(|table| &table.segments);
        let pins = segments.map(
            |segment| match self.cache.find(&file_name(segment), Some(segment.bytes)) {
                Some(pin) => ready(Ok(pin)).boxed(),
                None => self.fetch(tenant, store, segment).boxed(),
            },
        );
        let pins: Vec<BoxFuture<'_, Result<Pin>>> = pins.collect();
        let pins = stream::iter(pins).buffered(MAX_FETCHES).try_collect();
        Ok(Files { pins: pins.await? })
    }

    async fn fetch(&self, tenant: &Tenant, store: &str, segment: &Segment) -> Result<Pin> {
        let object = CachedObject {
            name: &file_name(segment),
            key: &keys::segment_key(tenant, store, &segment.segment_id),
            bytes: segment.bytes,
            sha256: &segment.sha256,
        };
        let part = self.staging.join(format!("{}.part", segment.segment_id));
        self.cache.fetch(&self.objects, object, &part).await
    }
}

fn file_name(segment: &Segment) -> String {
    format!("{}.parquet", segment.segment_id)
}
