//! The local files of a version's segments, fetched where they are missing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use futures::future::{BoxFuture, FutureExt as _, ready};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::{Error, Result, Tenant};

use super::{DataStores, keys};
use crate::schema::manifest::{Segment, TableVersion};
use crate::store::file_cache::{CachedObject, Pin};

/// Segments fetched at a time: object stores answer slowly, and many at once.
const MAX_FETCHES: usize = 16;

/// The files of some tables, which stay where they are as long as this lives.
pub(super) struct Files {
    pins: Vec<Pin>,
}

impl Files {
    /// Their paths, in the order of the tables and of their segments.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.pins.iter().map(|pin| pin.path().to_owned()).collect()
    }

    /// Makes them known in a folder of the same file system too, under the same names: their paths there.
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

impl DataStores {
    /// Fetches what is missing of the tables' segments.
    pub(super) async fn files(
        &self,
        tenant: &Tenant,
        store: &str,
        tables: impl IntoIterator<Item = &TableVersion>,
    ) -> Result<Files> {
        let segments = tables.into_iter().flat_map(|table| &table.segments);
        let pins = segments.map(|segment| {
            let found = self.inner.segments.find(&file_name(segment), Some(segment.bytes));
            match found {
                Some(pin) => ready(Ok(pin)).boxed(),
                None => self.fetch(tenant, store, segment).boxed(),
            }
        });
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
        let part = self.inner.staging.join(format!("{}.part", segment.segment_id));
        self.inner
            .segments
            .fetch(&self.inner.objects, object, &part)
            .await
    }
}

fn file_name(segment: &Segment) -> String {
    format!("{}.parquet", segment.segment_id)
}
