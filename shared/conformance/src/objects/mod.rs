//! Tests adapters of [`ObjectStore`]: one function per topic, each with its own buckets, which must be empty.

mod listings;
mod uploads;

use std::sync::Arc;

use futures::future::join_all;
use platform::objects::{ObjectStore, Objects};

pub use listings::{folders, keys, listings};
pub use uploads::uploads;

/// Every bucket of the suite, for a store that must create them first.
pub const BUCKETS: [&str; 14] = [
    "put",
    "put-new",
    "races",
    "writers",
    "ranges",
    "files",
    "listings",
    "keys",
    "folders",
    "folder-races",
    "one",
    "two",
    "no-keys",
    "uploads",
];

fn bucket(store: &Arc<dyn ObjectStore>, name: &str) -> Objects {
    Objects::new(Arc::clone(store), name)
}

/// Defines a test for each topic. `$world` is an async function that returns an `Arc<dyn ObjectStore>` and a
/// value that must outlive it.
#[macro_export]
macro_rules! objects_suite {
    ($world:path) => {
        $crate::objects_suite! {
            $world: buckets, files, folder_races, folders, found, keys, listings, new_object_races, new_objects, ranges,
            refused_keys, writers
        }
    };
    ($world:path: $($topic:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $topic() {
                let (store, _world) = $world().await;
                $crate::objects::$topic(&store).await;
            }
        )+
    };
}

async fn listed(objects: &Objects, prefix: &str) -> Vec<String> {
    let listed = objects.list(prefix).await.unwrap();
    listed.into_iter().map(|object| object.key).collect()
}

/// A written object is found until it is removed.
pub async fn found(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "put");
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
    assert_eq!(listed(objects, "").await, [""; 0]);
}

/// A new object does not replace another one.
pub async fn new_objects(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "put-new");
    assert!(objects.put_new("a/b", b"one".to_vec()).await.unwrap());
    assert!(!objects.put_new("a/b", b"two".to_vec()).await.unwrap());
    assert_eq!(objects.find("a/b").await.unwrap().unwrap(), b"one");
    objects.remove("a/b").await.unwrap();
    assert!(objects.put_new("a/b", b"three".to_vec()).await.unwrap());
    assert_eq!(objects.find("a/b").await.unwrap().unwrap(), b"three");
}

/// Of several concurrent writers of a new object, one succeeds.
pub async fn new_object_races(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "races");
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

/// Of several concurrent writers, one leaves its whole object.
pub async fn writers(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "writers");
    let writers = (0..16_u8).map(|writer| {
        let objects = objects.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                let size = 50_000 + usize::from(writer);
                objects.put("a", vec![writer; size]).await.unwrap();
                // Also while they write.
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

/// A range ends with its object.
pub async fn ranges(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "ranges");
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

/// Files become objects, and objects files.
pub async fn files(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "files");
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    objects.put_file("a/large.parquet", &from).await.unwrap();
    // An object is a copy of the file.
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

/// Concurrent writers and removers of a folder do not disturb each other.
pub async fn folder_races(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "folder-races");
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
                assert!(listed(&objects, "deep/").await.contains(&key));
                objects.remove(&key).await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    assert_eq!(listed(objects, "").await, [""; 0]);
}

/// Buckets are separate.
pub async fn buckets(store: &Arc<dyn ObjectStore>) {
    let (one, other) = (&bucket(store, "one"), &bucket(store, "two"));
    one.put("a", b"one".to_vec()).await.unwrap();
    assert_eq!(other.find("a").await.unwrap(), None);
    assert_eq!(listed(other, "").await, [""; 0]);
    other.remove("a").await.unwrap();
    assert_eq!(one.find("a").await.unwrap().unwrap(), b"one");
}

/// An invalid key is refused.
pub async fn refused_keys(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "no-keys");
    let long = "k".repeat(1_025);
    assert!(objects.put(&long, Vec::new()).await.is_err());
    assert!(objects.put_new(&long, Vec::new()).await.is_err());
    assert!(objects.find(&long).await.is_err());
    assert!(objects.put("", Vec::new()).await.is_err());
    assert_eq!(listed(objects, "").await, [""; 0]);
    assert_eq!(listed(objects, &long).await, [""; 0]);
}
