//! Manifests in memory: they never change.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::schema::manifest::Manifest;

/// Manifests kept in memory; a manifest of a thousand tables has a few megabytes.
const MAX_MANIFESTS: usize = 32;

/// Manifests by version id.
#[derive(Default)]
pub(super) struct ManifestCache(Mutex<Vec<(String, Arc<Manifest>)>>);

impl ManifestCache {
    /// The manifest, which then is the last to be forgotten.
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
