//! Keeps manifests in memory; they are immutable.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::schema::manifest::Manifest;

/// Most manifests kept; the manifest of a thousand tables has a few megabytes.
const MAX_MANIFESTS: usize = 32;

/// Manifests by version id, the least recently used first.
#[derive(Default)]
pub(super) struct ManifestCache(Mutex<Vec<(String, Arc<Manifest>)>>);

impl ManifestCache {
    /// Returns the manifest and marks it as most recently used.
    pub(super) fn find(&self, version: &str) -> Option<Arc<Manifest>> {
        let mut kept = lock(&self.0);
        let index = kept.iter().position(|(id, _)| id == version)?;
        let entry = kept.remove(index);
        let manifest = Arc::clone(&entry.1);
        kept.push(entry);
        Some(manifest)
    }

    pub(super) fn keep(&self, manifest: &Arc<Manifest>) {
        let mut kept = lock(&self.0);
        kept.retain(|(id, _)| *id != manifest.version_id);
        if kept.len() >= MAX_MANIFESTS {
            kept.remove(0);
        }
        kept.push((manifest.version_id.clone(), Arc::clone(manifest)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
