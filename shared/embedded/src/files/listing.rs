//! Lists the objects in a folder of files.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use platform::UtcTime;
use platform::objects::{ListedObject, MAX_KEY_BYTES};

use super::names;

/// A folder that has not been read yet.
struct Folder {
    path: PathBuf,
    key: String,
}

/// Lists the objects in the folder of a bucket whose keys start with `prefix`, ordered by key.
pub fn objects(bucket: &Path, prefix: &str) -> io::Result<Vec<ListedObject>> {
    let mut found = Vec::new();
    let all = |_: &Folder| ControlFlow::Continue(());
    walk(bucket, start(bucket, prefix), prefix, all, |key, file| {
        found.push((key, file));
        ControlFlow::Continue(())
    })?;
    found.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    found.into_iter().map(|(key, file)| listed(key, &file)).collect()
}

/// Calls `file` for the file of each object in the folder of a bucket, until it breaks.
pub fn files(bucket: &Path, mut file: impl FnMut(&Path, &Metadata) -> ControlFlow<()>) -> io::Result<()> {
    let all = |_: &Folder| ControlFlow::Continue(());
    walk(bucket, start(bucket, ""), "", all, |key, metadata| {
        file(&bucket.join(names::file(&key)), &metadata)
    })
}

/// Lists the distinct parts of the keys up to the first slash after `prefix`.
pub fn folders(bucket: &Path, prefix: &str) -> io::Result<BTreeSet<String>> {
    let (mut found, mut candidates) = (BTreeSet::new(), Vec::new());
    let is_above = |folder: &Folder| match folder.key.get(prefix.len()..) {
        Some(behind) if behind.contains('/') => {
            candidates.push(Folder {
                path: folder.path.clone(),
                key: folder.key.clone(),
            });
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    walk(bucket, start(bucket, prefix), prefix, is_above, |_, _| {
        ControlFlow::Continue(())
    })?;
    // A folder may be empty briefly: before its first object is written, or after its last one is removed.
    for folder in candidates {
        let (key, mut is_empty) = (folder.key.clone(), true);
        let all = |_: &Folder| ControlFlow::Continue(());
        walk(bucket, folder, &key, all, |_, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        if !is_empty {
            found.insert(key);
        }
    }
    Ok(found)
}

/// Returns the deepest folder that contains all keys with this prefix.
fn start(bucket: &Path, prefix: &str) -> Folder {
    let end = prefix.rfind('/').map_or(0, |slash| slash + 1);
    let key = prefix.get(..end).unwrap_or_default();
    Folder {
        path: bucket.join(names::folder(key)),
        key: key.to_owned(),
    }
}

/// Calls `object` for the objects whose keys start with `prefix`, until it breaks. Skips the folders for
/// which `enter` breaks.
fn walk(
    bucket: &Path,
    start: Folder,
    prefix: &str,
    mut enter: impl FnMut(&Folder) -> ControlFlow<()>,
    mut object: impl FnMut(String, Metadata) -> ControlFlow<()>,
) -> io::Result<()> {
    if prefix.len() > MAX_KEY_BYTES {
        return Ok(());
    }
    let mut folders = vec![start];
    while let Some(folder) = folders.pop() {
        let Some(entries) = present(fs::read_dir(&folder.path))? else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let below = below(&folder, &entry)
                    .filter(|below| below.key.starts_with(prefix) || prefix.starts_with(&below.key));
                folders.extend(below.filter(|below| enter(below).is_continue()));
            } else if let Some(key) = key(bucket, &folder, &entry).filter(|key| key.starts_with(prefix))
                && let Some(metadata) = present(entry.metadata())?
                && object(key, metadata).is_break()
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn below(folder: &Folder, entry: &DirEntry) -> Option<Folder> {
    let part = names::key_of_folder(entry.file_name().to_str()?)?;
    Some(Folder {
        path: entry.path(),
        key: format!("{}{part}", folder.key),
    })
}

/// Returns the key, or the end of one, from the path of an object's file below a folder; None for a path that
/// is no such file.
pub fn key_of(path: &Path) -> Option<String> {
    let mut names = path.iter().map(|name| name.to_str());
    let last = names.next_back()??;
    let mut key = String::new();
    for name in names {
        key += &names::key_of_folder(name?)?;
    }
    key += &names::key_of_file(last)?;
    (names::file(&key) == path).then_some(key)
}

/// None for a file that is not an object.
fn key(bucket: &Path, folder: &Folder, entry: &DirEntry) -> Option<String> {
    let part = names::key_of_file(entry.file_name().to_str()?)?;
    let key = format!("{}{part}", folder.key);
    (bucket.join(names::file(&key)) == entry.path()).then_some(key)
}

fn listed(key: String, file: &Metadata) -> io::Result<ListedObject> {
    let since = file.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = i64::try_from(since.as_millis())
        .ok()
        .and_then(UtcTime::from_millis);
    Ok(ListedObject {
        key,
        modified: modified.unwrap_or(UtcTime::EPOCH),
        bytes: file.len(),
    })
}

/// None if the file or folder does not exist: another caller may have just removed it.
pub fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
