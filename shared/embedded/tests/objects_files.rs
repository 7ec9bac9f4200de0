//! Tests properties of objects in files that the common suite does not cover.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use embedded::files::{FileObjects, Links};
use platform::Clock;
use platform::config::Secret;
use platform::objects::Objects;
use proptest::prelude::*;
use tempfile::TempDir;

fn bucket(files: &FileObjects) -> Objects {
    Objects::new(Arc::new(files.clone()), "data")
}

fn opened() -> (TempDir, FileObjects) {
    let folder = tempfile::tempdir().unwrap();
    let files = FileObjects::open(&folder.path().join("objects")).unwrap();
    (folder, files)
}

/// Lists the files below a folder, and the empty folders.
fn contents(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push(path.display().to_string()),
        }
    }
    if found.is_empty() {
        found.push(folder.display().to_string());
    }
    found
}

#[tokio::test]
async fn an_object_is_the_file_of_its_key() {
    let (folder, files) = opened();
    let objects = bucket(&files);
    let path = "objects/data/log/acme/demo/2026-11-24/events/x.parquet";
    let key = "log/acme/demo/2026-11-24/events/x.parquet";
    objects.put(key, b"one".to_vec()).await.unwrap();
    assert_eq!(fs::read(folder.path().join(path)).unwrap(), b"one");
    // A file from another program is an object, unless its name stands for no key.
    fs::write(folder.path().join(path).with_file_name("y.parquet"), "two").unwrap();
    fs::write(folder.path().join(path).with_file_name(".DS_Store"), "").unwrap();
    fs::write(folder.path().join(path).with_file_name("README.txt"), "").unwrap();
    assert_eq!(
        objects.find(&key.replace('x', "y")).await.unwrap().unwrap(),
        b"two"
    );
    assert_eq!(objects.list("log/").await.unwrap().len(), 2);
}

#[tokio::test]
async fn no_folder_and_no_draft_stays_behind() {
    let (folder, files) = opened();
    let objects = bucket(&files);
    for key in ["a/b/c.json", "a/b/d", "../../x", "/etc/passwd"] {
        objects.put(key, vec![1]).await.unwrap();
        assert!(!objects.put_new(key, vec![2]).await.unwrap());
    }
    let root = folder.path().join("objects").display().to_string();
    let all = contents(folder.path());
    assert!(all.iter().all(|path| path.starts_with(&root)), "{all:?}");
    for key in ["a/b/c.json", "a/b/d", "../../x", "/etc/passwd"] {
        objects.remove(key).await.unwrap();
    }
    let mut left = contents(folder.path());
    left.sort();
    assert_eq!(left, [format!("{root}/.drafts"), format!("{root}/data")]);
}

#[tokio::test]
async fn only_the_owner_removes_what_an_interrupted_write_left() {
    let (folder, files) = opened();
    bucket(&files).put("a.json", vec![1]).await.unwrap();
    let left = folder.path().join("objects/.drafts/left");
    fs::write(&left, "half").unwrap();
    let beside = FileObjects::beside(&folder.path().join("objects")).unwrap();
    assert!(left.exists());
    assert_eq!(bucket(&beside).list("").await.unwrap().len(), 1);
    FileObjects::open(&folder.path().join("objects")).unwrap();
    assert!(!left.exists());
}

#[tokio::test]
async fn a_link_leads_to_its_object_alone() {
    let (_folder, files) = opened();
    let link = |objects: Objects| async move { objects.link("a", Duration::from_secs(9), "a.zip").await };
    assert_eq!(link(bucket(&files)).await.unwrap_err().status(), 500);
    let links = Links::new("http://127.0.0.1:1", Secret::new("key"), Clock::System);
    let files = files.with_links(links);
    let url = link(bucket(&files)).await.unwrap();
    let query = url.split_once('?').unwrap().1;
    assert!(
        files.follow("data", "a", query).await.unwrap().is_none(),
        "it is gone"
    );
    bucket(&files).put("a", b"one".to_vec()).await.unwrap();
    let (file, name) = files.follow("data", "a", query).await.unwrap().unwrap();
    assert_eq!(
        (std::io::read_to_string(file).unwrap().as_str(), name.as_str()),
        ("one", "a.zip")
    );
    for (bucket, key) in [("data", "b"), ("other", "a"), ("data", "../data/a")] {
        let refused = files.follow(bucket, key, query).await.unwrap_err();
        assert_eq!(refused.status(), 403);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(String, u8),
    PutNew(String, u8),
    Remove(String),
}

/// Few parts, so that keys collide, and are each other's folders.
fn key() -> impl Strategy<Value = String> {
    let parts = ["a", "A", "a.json", ".", "..", "", "%", "a.object", "%61", "ü"].map(str::to_owned);
    let long = [
        "k".repeat(199),
        "k".repeat(200),
        "k".repeat(201),
        "k".repeat(200) + ".",
    ];
    let part = prop::sample::select([&parts[..], &long].concat());
    prop::collection::vec(part, 1..4)
        .prop_map(|parts| parts.join("/"))
        .prop_filter("S3 takes no empty key", |key| !key.is_empty())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (key(), any::<u8>()).prop_map(|(key, byte)| Step::Put(key, byte)),
        (key(), any::<u8>()).prop_map(|(key, byte)| Step::PutNew(key, byte)),
        key().prop_map(Step::Remove),
    ]
}

async fn folders(objects: &Objects, model: &BTreeMap<String, u8>, prefix: &str) {
    let below = model.keys().filter_map(|key| {
        let (folder, _) = key.strip_prefix(prefix)?.split_once('/')?;
        Some(format!("{prefix}{folder}/"))
    });
    let mut expected: Vec<_> = below.collect();
    expected.dedup();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(objects.folders(prefix).await.unwrap(), expected, "{prefix:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn objects_are_those_of_a_map(
        steps in prop::collection::vec(step(), 1..24),
        prefixes in prop::collection::vec(key(), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_folder, files) = opened();
            let objects = bucket(&files);
            let mut model = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Put(key, byte) => {
                        objects.put(&key, vec![byte]).await.unwrap();
                        model.insert(key, byte);
                    }
                    Step::PutNew(key, byte) => {
                        let is_new = objects.put_new(&key, vec![byte]).await.unwrap();
                        assert_eq!(is_new, !model.contains_key(&key));
                        model.entry(key).or_insert(byte);
                    }
                    Step::Remove(key) => {
                        objects.remove(&key).await.unwrap();
                        model.remove(&key);
                    }
                }
            }
            for prefix in std::iter::once("").chain(prefixes.iter().map(String::as_str)) {
                let listed = objects.list(prefix).await.unwrap();
                let listed: Vec<_> = listed.iter().map(|object| &object.key).collect();
                let expected: Vec<_> = model.keys().filter(|key| key.starts_with(prefix)).collect();
                assert_eq!(listed, expected, "{prefix:?}");
                folders(&objects, &model, prefix).await;
            }
            for (key, byte) in &model {
                assert_eq!(objects.find(key).await.unwrap(), Some(vec![*byte]), "{key:?}");
            }
        });
    }
}
