//! Copies of what never changes: manifests in memory, segments on disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::manifest::Manifest;
use crate::native;

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

/// Segments, and copies of tables for queries, on disk up to a number of bytes: the longest unused go first, those in use
/// never. A segment goes by its id, a copy by the name of its file, which has an ending.
pub(super) struct SegmentCache {
    directory: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
    fetching: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

#[derive(Default)]
struct State {
    files: HashMap<String, CachedFile>,
    bytes: u64,
    uses: u64,
}

struct CachedFile {
    bytes: u64,
    last_use: u64,
    pins: usize,
}

/// Keeps a segment's file where it is.
pub(super) struct Pin<'a> {
    cache: &'a SegmentCache,
    id: String,
    pub(super) path: PathBuf,
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.cache.state);
        if let Some(file) = state.files.get_mut(&self.id) {
            // One that was discarded and made again meanwhile has fewer pins.
            file.pins = file.pins.saturating_sub(1);
        }
        self.cache.evict(&mut state);
    }
}

impl SegmentCache {
    /// A cache over a folder, with what an earlier process left there.
    pub(super) fn open(directory: &Path, max_bytes: u64) -> std::io::Result<Self> {
        let mut state = State::default();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let path = entry.path();
            match (
                path.extension().and_then(|text| text.to_str()),
                path.file_stem().and_then(|text| text.to_str()),
            ) {
                (Some(ending @ ("parquet" | native::EXTENSION)), Some(id)) => {
                    let id = match ending {
                        "parquet" => id.to_owned(),
                        _ => format!("{id}.{ending}"),
                    };
                    let bytes = entry.metadata()?.len();
                    state.bytes += bytes;
                    state.files.insert(
                        id,
                        CachedFile {
                            bytes,
                            last_use: 0,
                            pins: 0,
                        },
                    );
                }
                _ => std::fs::remove_file(&path)?,
            }
        }
        let cache = Self {
            directory: directory.to_owned(),
            max_bytes,
            state: Mutex::new(state),
            fetching: Mutex::default(),
        };
        cache.evict(&mut lock(&cache.state));
        Ok(cache)
    }

    /// The file of a segment, if it is here and has the size that it must have.
    pub(super) fn find(&self, id: &str, bytes: u64) -> Option<Pin<'_>> {
        let mut state = lock(&self.state);
        state.uses += 1;
        let uses = state.uses;
        let file = state.files.get_mut(id).filter(|file| file.bytes == bytes)?;
        Some(self.pin(id, file, uses))
    }

    /// The copy of that file name, if it is here.
    pub(super) fn find_copy(&self, name: &str) -> Option<Pin<'_>> {
        let mut state = lock(&self.state);
        state.uses += 1;
        let uses = state.uses;
        let file = state.files.get_mut(name)?;
        Some(self.pin(name, file, uses))
    }

    /// Removes a copy that is of no use.
    pub(super) fn discard(&self, name: &str) {
        let mut state = lock(&self.state);
        if let Some(file) = state.files.remove(name) {
            state.bytes -= file.bytes;
            let _ = std::fs::remove_file(self.path(name));
        }
    }

    /// Most bytes of files.
    pub(super) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn pin(&self, id: &str, file: &mut CachedFile, uses: u64) -> Pin<'_> {
        file.last_use = uses;
        file.pins += 1;
        Pin {
            cache: self,
            id: id.to_owned(),
            path: self.path(id),
        }
    }

    /// Takes a file over, which must be on the same file system.
    pub(super) fn adopt(&self, id: &str, file: &Path) -> std::io::Result<Pin<'_>> {
        let path = self.path(id);
        let bytes = std::fs::metadata(file)?.len();
        let mut state = lock(&self.state);
        std::fs::rename(file, &path)?;
        state.uses += 1;
        let last_use = state.uses;
        let pins = state.files.get(id).map_or(0, |file| file.pins) + 1;
        if let Some(before) = state.files.insert(
            id.to_owned(),
            CachedFile {
                bytes,
                last_use,
                pins,
            },
        ) {
            state.bytes -= before.bytes;
        }
        state.bytes += bytes;
        self.evict(&mut state);
        Ok(Pin {
            cache: self,
            id: id.to_owned(),
            path,
        })
    }

    /// Held while a segment is fetched, so that requests that want the same one fetch it once.
    pub(super) fn fetch_lock(&self, id: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut fetching = lock(&self.fetching);
        fetching.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(fetching.entry(id.to_owned()).or_default())
    }

    /// The folder of the files, segments each `<segment id>.parquet`.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, id: &str) -> PathBuf {
        match id.contains('.') {
            true => self.directory.join(id),
            false => self.directory.join(format!("{id}.parquet")),
        }
    }

    fn evict(&self, state: &mut State) {
        while state.bytes > self.max_bytes {
            let unpinned = state.files.iter().filter(|(_, file)| file.pins == 0);
            let Some(id) = unpinned
                .min_by_key(|(_, file)| file.last_use)
                .map(|(id, _)| id.clone())
            else {
                return;
            };
            if let Some(file) = state.files.remove(&id) {
                state.bytes -= file.bytes;
                let _ = std::fs::remove_file(self.path(&id));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &SegmentCache, folder: &Path, id: &str, bytes: usize) {
        let file = folder.join("new");
        std::fs::write(&file, vec![0; bytes]).unwrap();
        drop(cache.adopt(id, &file).unwrap());
    }

    #[test]
    fn the_longest_unused_file_goes_first_and_a_pinned_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("segments");
        std::fs::create_dir(&directory).unwrap();
        let cache = SegmentCache::open(&directory, 100).unwrap();
        put(&cache, folder.path(), "a", 40);
        put(&cache, folder.path(), "b", 40);
        let pin = cache.find("a", 40).unwrap();
        put(&cache, folder.path(), "c", 60);
        assert!(cache.find("b", 40).is_none() && pin.path.exists());
        put(&cache, folder.path(), "d", 90);
        assert!(pin.path.exists() && cache.find("c", 60).is_none());
        drop(pin);
        put(&cache, folder.path(), "e", 90);
        assert!(cache.find("a", 40).is_none() && cache.find("e", 90).is_some());
    }

    #[test]
    fn a_new_process_finds_the_files_and_drops_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("segments");
        std::fs::create_dir(&directory).unwrap();
        put(
            &SegmentCache::open(&directory, 100).unwrap(),
            folder.path(),
            "a",
            40,
        );
        std::fs::write(directory.join("b.part"), "half").unwrap();
        let cache = SegmentCache::open(&directory, 100).unwrap();
        assert!(cache.find("a", 40).is_some());
        assert!(
            cache.find("a", 41).is_none(),
            "a file of another size is not the segment"
        );
        assert!(!directory.join("b.part").exists());
    }
}
