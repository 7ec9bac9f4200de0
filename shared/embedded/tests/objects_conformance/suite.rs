//! The rules that every store of objects keeps.

use std::sync::Arc;

use futures::future::join_all;
use platform::objects::{ObjectStore, Objects};

use crate::listings;

type Store = Arc<dyn ObjectStore>;

/// Checks everything. The store is empty before.
pub async fn all(store: Store) {
    let bucket = |name: &str| Objects::new(Arc::clone(&store), name);
    what_is_put_is_found(&bucket("put")).await;
    a_new_object_replaces_none(&bucket("put-new")).await;
    of_those_who_put_a_new_object_one_does(&bucket("races")).await;
    of_concurrent_writers_one_leaves_its_whole_object(&bucket("writers")).await;
    ranges_end_with_their_object(&bucket("ranges")).await;
    files_go_in_and_out(&bucket("files")).await;
    listings::listings_are_in_the_order_of_keys(&bucket("listings")).await;
    listings::every_key_is_one_object(&bucket("keys")).await;
    listings::folders_have_objects(&bucket("folders")).await;
    writers_and_removers_of_a_folder_do_not_disturb_each_other(&bucket("folder-races")).await;
    buckets_are_apart(&bucket("one"), &bucket("two")).await;
    what_cannot_be_a_key_is_refused(&bucket("no-keys")).await;
}

/// The keys of a listing.
pub async fn keys(objects: &Objects, prefix: &str) -> Vec<String> {
    let listed = objects.list(prefix).await.unwrap();
    listed.into_iter().map(|object| object.key).collect()
}

async fn what_is_put_is_found(objects: &Objects) {
    assert_eq!(objects.find("a/b.json").await.unwrap(), None);
    assert!(!objects.exists("a/b.json").await.unwrap());
    objects.remove("a/b.json").await.unwrap();
    for bytes in [&b"one"[..], b"", b"a longer one"] {
        objects.put("a/b.json", bytes.to_vec()).await.unwrap();
        assert_eq!(objects.find("a/b.json").await.unwrap().unwrap(), bytes);
        let [listed] = objects.list("").await.unwrap().try_into().unwrap();
        assert_eq!(
            (listed.key.as_str(), listed.bytes),
            ("a/b.json", bytes.len() as u64)
        );
        assert!(
            listed.modified > "2026-01-01".parse().unwrap(),
            "{}",
            listed.modified
        );
    }
    assert!(objects.exists("a/b.json").await.unwrap());
    for folder in ["a", "a/", "a/b.json/"] {
        assert!(!objects.exists(folder).await.unwrap(), "{folder}");
        assert_eq!(objects.find(folder).await.unwrap(), None, "{folder}");
        objects.remove(folder).await.unwrap();
    }
    objects.remove("a/b.json").await.unwrap();
    objects.remove("a/b.json").await.unwrap();
    assert_eq!(objects.find("a/b.json").await.unwrap(), None);
    assert_eq!(keys(objects, "").await, [""; 0]);
}

async fn a_new_object_replaces_none(objects: &Objects) {
    assert!(objects.put_new("a/b", b"one".to_vec()).await.unwrap());
    assert!(!objects.put_new("a/b", b"two".to_vec()).await.unwrap());
    assert_eq!(objects.find("a/b").await.unwrap().unwrap(), b"one");
    objects.remove("a/b").await.unwrap();
    assert!(objects.put_new("a/b", b"three".to_vec()).await.unwrap());
    assert_eq!(objects.find("a/b").await.unwrap().unwrap(), b"three");
}

async fn of_those_who_put_a_new_object_one_does(objects: &Objects) {
    for round in 0..10 {
        let key = format!("{round}/new.json");
        let writers = (0..16_u8).map(|writer| {
            let (objects, key) = (objects.clone(), key.clone());
            tokio::spawn(async move { (writer, objects.put_new(&key, vec![writer; 1_000]).await.unwrap()) })
        });
        let written = join_all(writers).await.into_iter().map(Result::unwrap);
        let winners: Vec<_> = written
            .filter_map(|(writer, won)| won.then_some(writer))
            .collect();
        let [winner] = winners.try_into().unwrap();
        assert_eq!(objects.find(&key).await.unwrap().unwrap(), vec![winner; 1_000]);
    }
}

async fn of_concurrent_writers_one_leaves_its_whole_object(objects: &Objects) {
    let writers = (0..16_u8).map(|writer| {
        let objects = objects.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                let size = 50_000 + usize::from(writer);
                objects.put("a", vec![writer; size]).await.unwrap();
                // Also in between.
                let found = objects.find("a").await.unwrap().unwrap();
                assert_eq!(found, vec![found[0]; 50_000 + usize::from(found[0])]);
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    assert_eq!(objects.list("").await.unwrap().len(), 1);
}

async fn ranges_end_with_their_object(objects: &Objects) {
    objects.put("ten", b"0123456789".to_vec()).await.unwrap();
    objects.put("none", Vec::new()).await.unwrap();
    for (key, from, length, expected) in [
        ("ten", 0, 10, "0123456789"),
        ("ten", 0, 1, "0"),
        ("ten", 9, 1, "9"),
        ("ten", 3, 4, "3456"),
        ("ten", 8, 100, "89"),
        ("ten", 0, u64::MAX, "0123456789"),
        ("ten", 10, 1, ""),
        ("ten", 11, 5, ""),
        ("ten", 5, 0, ""),
        ("ten", 1 << 62, 1, ""),
        ("none", 0, 5, ""),
        ("none", 0, 0, ""),
    ] {
        let found = objects.range(key, from, length).await.unwrap().unwrap();
        assert_eq!(
            String::from_utf8(found).unwrap(),
            expected,
            "{key} {from} {length}"
        );
    }
    assert_eq!(objects.range("gone", 0, 5).await.unwrap(), None);
    assert_eq!(objects.range("gone", 0, 0).await.unwrap(), None);
    for (most, expected) in [(0, ""), (4, "0123"), (10, "0123456789"), (11, "0123456789")] {
        let found = objects.find_beginning("ten", most).await.unwrap().unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    }
    assert_eq!(objects.find_beginning("none", 5).await.unwrap(), Some(Vec::new()));
    assert_eq!(objects.find_beginning("gone", 5).await.unwrap(), None);
}

async fn files_go_in_and_out(objects: &Objects) {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    objects.put_file("a/large.parquet", &from).await.unwrap();
    // An object is a copy.
    std::fs::write(&from, "another").unwrap();
    assert!(objects.find("a/large.parquet").await.unwrap().unwrap() == bytes);
    let size = bytes.len() as u64;
    assert!(objects.find_to_file("a/large.parquet", &to, size).await.unwrap());
    assert!(std::fs::read(&to).unwrap() == bytes);
    std::fs::write(&to, "another").unwrap();
    assert!(objects.find("a/large.parquet").await.unwrap().unwrap() == bytes);
    let refused = objects
        .find_to_file("a/large.parquet", &to, size - 1)
        .await
        .unwrap_err();
    assert_eq!(refused.status(), 413);
    assert!(
        !objects
            .find_to_file("gone", &folder.path().join("x"), 10)
            .await
            .unwrap()
    );
    let missing = folder.path().join("missing");
    assert_eq!(objects.put_file("b", &missing).await.unwrap_err().status(), 500);
    assert!(!objects.exists("b").await.unwrap());
}

async fn writers_and_removers_of_a_folder_do_not_disturb_each_other(objects: &Objects) {
    let tasks = (0..8).map(|task| {
        let objects = objects.clone();
        tokio::spawn(async move {
            let key = format!("deep/er/{task}.json");
            for round in 0..40 {
                let bytes = vec![task; round];
                match round % 2 {
                    0 => objects.put(&key, bytes.clone()).await.unwrap(),
                    _ => assert!(objects.put_new(&key, bytes.clone()).await.unwrap()),
                }
                assert_eq!(objects.find(&key).await.unwrap(), Some(bytes));
                assert!(keys(&objects, "deep/").await.contains(&key));
                objects.remove(&key).await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    assert_eq!(keys(objects, "").await, [""; 0]);
}

async fn buckets_are_apart(one: &Objects, other: &Objects) {
    one.put("a", b"one".to_vec()).await.unwrap();
    assert_eq!(other.find("a").await.unwrap(), None);
    assert_eq!(keys(other, "").await, [""; 0]);
    other.remove("a").await.unwrap();
    assert_eq!(one.find("a").await.unwrap().unwrap(), b"one");
}

async fn what_cannot_be_a_key_is_refused(objects: &Objects) {
    let long = "k".repeat(1_025);
    assert!(objects.put(&long, Vec::new()).await.is_err());
    assert!(objects.put_new(&long, Vec::new()).await.is_err());
    assert!(objects.find(&long).await.is_err());
    assert!(objects.put("", Vec::new()).await.is_err());
    assert_eq!(keys(objects, "").await, [""; 0]);
    assert_eq!(keys(objects, &long).await, [""; 0]);
}
