//! Caches immutable objects as files in a local folder.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use platform::objects::Objects;
use platform::{Error, Result};
use sha2::{Digest as _, Sha256};

/// A cache with a size limit: it evicts the least recently used files, but never a pinned file. A file's name
/// is its path below the folder. Cheap to clone.
#[derive(Clone)]
pub struct FileCache(Arc<Inner>);

struct Inner {
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

/// Keeps a file from being evicted.
pub struct Pin {
    cache: FileCache,
    name: String,
    path: PathBuf,
}

impl Pin {
    /// The file exists at least until the pin is dropped.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        if let Some(file) = state.files.get_mut(&self.name) {
            // If the file was discarded and made again meanwhile, the new one has fewer pins.
            file.pins = file.pins.saturating_sub(1);
        }
        self.cache.evict(&mut state);
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CachedObject<'a> {
    /// Path below the cache's folder.
    pub name: &'a str,
    /// Key in the bucket.
    pub key: &'a str,
    /// Size according to its record; the limit for the fetched object.
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hexadecimal.
    pub sha256: &'a str,
}

impl FileCache {
    /// Opens a cache over a folder. Files of an earlier process, at any depth, stay if `keeps` accepts them;
    /// the others are removed.
    pub fn open(directory: &Path, max_bytes: u64, keeps: impl Fn(&Path) -> bool) -> std::io::Result<Self> {
        let mut state = State::default();
        let mut folders = vec![directory.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let path = entry.path();
                let name = path.strip_prefix(directory).ok();
                match name.and_then(Path::to_str).filter(|_| keeps(&path)) {
                    _ if entry.file_type()?.is_dir() => folders.push(path),
                    Some(name) => {
                        let bytes = entry.metadata()?.len();
                        state.bytes += bytes;
                        state.files.insert(
                            name.to_owned(),
                            CachedFile {
                                bytes,
                                last_use: 0,
                                pins: 0,
                            },
                        );
                    }
                    None => std::fs::remove_file(&path)?,
                }
            }
        }
        let cache = Self(Arc::new(Inner {
            directory: directory.to_owned(),
            max_bytes,
            state: Mutex::new(state),
            fetching: Mutex::default(),
        }));
        cache.evict(&mut cache.lock());
        Ok(cache)
    }

    /// Returns a file if it exists and has the expected size.
    pub fn find(&self, name: &str, bytes: Option<u64>) -> Option<Pin> {
        let mut state = self.lock();
        state.uses += 1;
        let uses = state.uses;
        let file = state.files.get_mut(name);
        let file = file.filter(|file| bytes.is_none_or(|bytes| file.bytes == bytes))?;
        file.last_use = uses;
        file.pins += 1;
        Some(self.pin(name))
    }

    /// Returns the file of an object, and fetches it if it is missing; concurrent callers share one fetch.
    /// `part` is the temporary path during the fetch, on the same file system. Fails with 500 if the object
    /// is missing or damaged.
    pub async fn fetch(&self, objects: &Objects, object: CachedObject<'_>, part: &Path) -> Result<Pin> {
        let find = || self.find(object.name, Some(object.bytes));
        if let Some(pin) = find() {
            return Ok(pin);
        }
        let fetching = self.fetch_lock(object.name);
        let _one_at_a_time = fetching.lock().await;
        if let Some(pin) = find() {
            return Ok(pin);
        }
        let fetched = self.fetch_to(objects, object, part).await;
        fetched.inspect_err(|_| {
            let _ = std::fs::remove_file(part);
        })
    }

    async fn fetch_to(&self, objects: &Objects, object: CachedObject<'_>, part: &Path) -> Result<Pin> {
        let key = object.key;
        if !objects.find_to_file(key, part, object.bytes).await? {
            return Err(Error::internal(format!("the object {key} is missing")));
        }
        let (part, expected) = (part.to_owned(), object.sha256.to_owned());
        let checked =
            tokio::task::spawn_blocking(move || sha256(&part).map(|sum| (sum == expected, part))).await;
        match checked.map_err(Error::internal)?.map_err(Error::internal)? {
            (true, part) => self.adopt(object.name, &part).map_err(Error::internal),
            (false, _) => Err(Error::internal(format!(
                "the object {key} is damaged: its checksum differs"
            ))),
        }
    }

    /// Moves a file into the cache; it must be on the same file system.
    pub fn adopt(&self, name: &str, file: &Path) -> std::io::Result<Pin> {
        let bytes = std::fs::metadata(file)?.len();
        let mut state = self.lock();
        std::fs::rename(file, self.path(name))?;
        state.uses += 1;
        let last_use = state.uses;
        let pins = state.files.get(name).map_or(0, |file| file.pins) + 1;
        if let Some(before) = state.files.insert(
            name.to_owned(),
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
        Ok(self.pin(name))
    }

    /// Removes an unusable file.
    pub fn discard(&self, name: &str) {
        let mut state = self.lock();
        if let Some(file) = state.files.remove(name) {
            state.bytes -= file.bytes;
            let _ = std::fs::remove_file(self.path(name));
        }
    }

    /// Returns the lock to hold while a file is fetched or made, so that concurrent callers do it once.
    pub fn fetch_lock(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut fetching = lock(&self.0.fetching);
        fetching.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(fetching.entry(name.to_owned()).or_default())
    }

    pub fn max_bytes(&self) -> u64 {
        self.0.max_bytes
    }

    /// The folder of the files; a file's name is its path below it.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    fn pin(&self, name: &str) -> Pin {
        Pin {
            cache: self.clone(),
            name: name.to_owned(),
            path: self.path(name),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.directory.join(name)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    fn evict(&self, state: &mut State) {
        while state.bytes > self.0.max_bytes {
            let unpinned = state.files.iter().filter(|(_, file)| file.pins == 0);
            let Some(name) = unpinned
                .min_by_key(|(_, file)| file.last_use)
                .map(|(name, _)| name.clone())
            else {
                return;
            };
            if let Some(file) = state.files.remove(&name) {
                state.bytes -= file.bytes;
                let _ = std::fs::remove_file(self.path(&name));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
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

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        folder: tempfile::TempDir,
        cache: FileCache,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(folder.path().join("files/part")).unwrap();
            let cache = open(folder.path());
            Self { folder, cache }
        }

        fn put(&self, name: &str, bytes: usize) {
            let file = self.folder.path().join("new");
            std::fs::write(&file, vec![0; bytes]).unwrap();
            drop(self.cache.adopt(name, &file).unwrap());
        }

        fn has(&self, name: &str) -> bool {
            self.cache.find(name, None).is_some()
        }
    }

    fn open(folder: &Path) -> FileCache {
        let keeps = |path: &Path| path.extension().is_some_and(|ending| ending == "parquet");
        FileCache::open(&folder.join("files"), 100, keeps).unwrap()
    }

    #[test]
    fn the_longest_unused_file_goes_first_and_a_pinned_one_stays() {
        let world = World::new();
        world.put("a", 40);
        world.put("part/b", 40);
        let pin = world.cache.find("a", Some(40)).unwrap();
        world.put("c", 60);
        assert!(!world.has("part/b") && pin.path().exists());
        world.put("d", 90);
        assert!(pin.path().exists() && !world.has("c"));
        drop(pin);
        world.put("e", 90);
        assert!(!world.has("a") && world.has("e"));
    }

    #[test]
    fn a_file_that_cannot_be_taken_over_is_not_there() {
        let world = World::new();
        let file = world.folder.path().join("new");
        std::fs::write(&file, [0]).unwrap();
        assert!(world.cache.adopt("no/folder", &file).is_err());
        assert!(!world.has("no/folder"));
        world.put("a", 99);
        assert!(world.has("a"));
    }

    #[test]
    fn a_new_process_finds_the_files_and_drops_the_rest() {
        let world = World::new();
        world.put("part/a.parquet", 40);
        world.put("b.part", 4);
        let cache = open(world.folder.path());
        assert!(cache.find("part/a.parquet", Some(40)).is_some());
        // A file of another size does not match.
        assert!(cache.find("part/a.parquet", Some(41)).is_none());
        assert!(!world.folder.path().join("files/b.part").exists());
    }
}
