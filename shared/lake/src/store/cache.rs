//! Keeps manifests in memory; they are immutable.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use crate::schema::manifest::Manifest;

/// The manifest of a thousand tables has a few megabytes.
const MAX_MANIFESTS: Option<NonZeroUsize> = NonZeroUsize::new(32);

/// Manifests by version id.
pub(super) struct ManifestCache(Mutex<LruCache<String, Arc<Manifest>>>);

impl Default for ManifestCache {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(
            MAX_MANIFESTS.unwrap_or(NonZeroUsize::MIN),
        )))
    }
}

impl ManifestCache {
    pub(super) fn find(&self, version: &str) -> Option<Arc<Manifest>> {
        self.0.lock().get(version).cloned()
    }

    pub(super) fn keep(&self, manifest: &Arc<Manifest>) {
        let id = manifest.version_id.clone();
        self.0.lock().put(id, Arc::clone(manifest));
    }
}
