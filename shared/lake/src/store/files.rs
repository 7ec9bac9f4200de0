//! The local files of a version's segments, fetched where they are missing.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use futures::future::{BoxFuture, FutureExt as _, ready};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use platform::{Error, Result, Tenant};
use sha2::{Digest as _, Sha256};

use super::cache::Pin;
use super::{DataStores, keys};
use crate::manifest::{Segment, TableVersion};

/// Segments fetched at a time: object stores answer slowly, and many at once.
const MAX_FETCHES: usize = 16;

/// The files of some tables, which stay where they are as long as this lives.
pub(super) struct Files<'a> {
    pins: Vec<Pin<'a>>,
}

impl Files<'_> {
    /// Their paths, in the order of the tables and of their segments.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.pins.iter().map(|pin| pin.path.clone()).collect()
    }

    /// Makes them known in a folder of the same file system too, under the same names: their paths there.
    pub(super) fn link_into(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let links = self.pins.iter().map(|pin| {
            let link = folder.join(pin.path.file_name().unwrap_or_default());
            match std::fs::hard_link(&pin.path, &link) {
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
    ) -> Result<Files<'_>> {
        let segments = tables.into_iter().flat_map(|table| &table.segments);
        let pins = segments.map(|segment| {
            let found = self.inner.segments.find(&segment.segment_id, segment.bytes);
            match found {
                Some(pin) => ready(Ok(pin)).boxed(),
                None => self.fetch(tenant, store, segment).boxed(),
            }
        });
        let pins: Vec<BoxFuture<'_, Result<Pin<'_>>>> = pins.collect();
        let pins = stream::iter(pins).buffered(MAX_FETCHES).try_collect();
        Ok(Files { pins: pins.await? })
    }

    async fn fetch(&self, tenant: &Tenant, store: &str, segment: &Segment) -> Result<Pin<'_>> {
        let cache = &self.inner.segments;
        let fetching = cache.fetch_lock(&segment.segment_id);
        let _one_at_a_time = fetching.lock().await;
        if let Some(pin) = cache.find(&segment.segment_id, segment.bytes) {
            return Ok(pin);
        }
        let key = keys::segment_key(tenant, store, &segment.segment_id);
        let part = self.inner.staging.join(format!("{}.part", segment.segment_id));
        if !self
            .inner
            .objects
            .find_to_file(&key, &part, segment.bytes)
            .await?
        {
            return Err(Error::internal(format!("the segment {key} is missing")));
        }
        let (part, expected) = (part.clone(), segment.sha256.clone());
        let checked =
            tokio::task::spawn_blocking(move || sha256(&part).map(|sum| (sum == expected, part))).await;
        match checked.map_err(Error::internal)?.map_err(Error::internal)? {
            (true, part) => cache.adopt(&segment.segment_id, &part).map_err(Error::internal),
            (false, _) => Err(Error::internal(format!(
                "the segment {key} is damaged: its checksum differs"
            ))),
        }
    }
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1_024 * 1_024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(hasher.finalize())),
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
}
