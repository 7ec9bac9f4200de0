//! Tests snapshots of a file in use, and of the objects that its records name.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use embedded::files::{FileObjects, HeldObjects};
use embedded::sqlite::SqliteRecords;
use platform::objects::Objects;
use platform::records::store::{RecordStore as _, Written};
use serde_json::json;

use crate::support::*;

/// Number of chains: pairs of records that are written together and name the chain's last object.
const CHAINS: u64 = 4;

struct World {
    folder: Folder,
    store: Arc<SqliteRecords>,
    objects: Objects,
    is_over: Arc<AtomicBool>,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        let files = FileObjects::open(&folder.path("objects")).unwrap();
        Self {
            store: Arc::new(folder.open()),
            objects: Objects::new(Arc::new(files), "data"),
            is_over: Arc::default(),
            folder,
        }
    }

    /// Acts as a run whose state is an object: writes the object, names it, and immediately removes the
    /// previous one.
    async fn write_on(self: Arc<Self>, chain: u64) -> u64 {
        let mut before = None;
        for number in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                return number;
            }
            let name = format!("runs/{chain}/{number}");
            self.objects.put(&name, name.clone().into_bytes()).await.unwrap();
            let record = json!({ "number": number, "object": name });
            let steps = ["a", "b"].map(|half| put(RECORDS, key(&format!("{chain}{half}")), record.clone()));
            assert_eq!(self.store.transact(steps.to_vec()).await.unwrap(), Written::Done);
            if let Some(before) = before.replace(name) {
                self.objects.remove(&before).await.unwrap();
            }
        }
        0
    }

    fn snapshot(&self, to: &Path) -> HeldObjects {
        let mut held = HeldObjects::new(&self.folder.path("objects")).unwrap();
        held.hold().unwrap();
        let (state, ()) = self.store.snapshot(|| held.hold()).unwrap();
        state.write(to).unwrap();
        held
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn a_snapshot_is_one_state_with_all_the_objects_that_it_names() {
    let world = Arc::new(World::new());
    // Makes listings slow, so that much is written and removed meanwhile.
    for bucket in 0..8 {
        let bucket = world.folder.path(&format!("objects/other-{bucket}"));
        fs::create_dir(&bucket).unwrap();
        for n in 0..300 {
            fs::write(bucket.join(format!("{n}.json")), "").unwrap();
        }
    }
    let writers: Vec<_> = (0..CHAINS)
        .map(|chain| tokio::spawn(Arc::clone(&world).write_on(chain)))
        .collect();
    let mut numbers = 0;
    for n in 0..8 {
        let (world, path) = (Arc::clone(&world), world.folder.path(&format!("copy-{n}")));
        let copy = path.clone();
        let held = tokio::task::spawn_blocking(move || world.snapshot(&copy))
            .await
            .unwrap();
        let copy = SqliteRecords::open(&path, &TABLES).unwrap();
        copy.check_integrity().unwrap();
        for chain in 0..CHAINS {
            let Some(record) = found(&copy, &format!("{chain}a")).await else {
                continue;
            };
            let other = found(&copy, &format!("{chain}b")).await.unwrap();
            assert_eq!(record["number"], other["number"], "half of a commit");
            let name = record["object"].as_str().unwrap();
            let path = format!("data/{name}.object");
            let link = held.files().find(|(path_of, _)| **path_of == *Path::new(&path));
            let (_, link) = link.unwrap_or_else(|| panic!("copy {n} lacks {name}"));
            assert_eq!(fs::read_to_string(link).unwrap(), name);
            numbers += record["number"].as_u64().unwrap();
        }
    }
    world.is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(
            writer.await.unwrap() > 10,
            "hardly anything was written meanwhile"
        );
    }
    assert!(numbers > 100, "the snapshots saw hardly anything");
}

#[tokio::test]
async fn held_objects_keep_their_bytes_and_a_replaced_one_is_held_anew() {
    let world = World::new();
    for name in ["a", "b/c", "b/d.json"] {
        world.objects.put(name, b"before".to_vec()).await.unwrap();
    }
    let root = world.folder.path("objects");
    let mut held = HeldObjects::new(&root).unwrap();
    held.hold().unwrap();
    world.objects.put("a", b"after".to_vec()).await.unwrap();
    world.objects.put("b/d.json", b"after".to_vec()).await.unwrap();
    world.objects.put("b/d.json", b"later".to_vec()).await.unwrap();
    world.objects.remove("b/c").await.unwrap();
    held.hold().unwrap();
    world.objects.remove("b/d.json").await.unwrap();
    let bytes = held.files().map(|(path, link)| {
        let path = path.to_str().unwrap().to_owned();
        (path, fs::read_to_string(link).unwrap())
    });
    let bytes: Vec<_> = bytes.collect();
    let expected = [
        ("data/a.object", "after"),
        ("data/b/c.object", "before"),
        ("data/b/d.json", "later"),
    ];
    assert_eq!(
        bytes,
        expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
    );

    let refused = HeldObjects::new(&root).err().unwrap();
    assert_eq!(refused.status(), 409);
    // A runner that starts meanwhile keeps the links.
    FileObjects::open(&root).unwrap();
    assert!(root.join(".held").exists());
    drop(held);
    assert!(!root.join(".held").exists());
}

#[tokio::test]
async fn what_a_killed_copy_held_is_removed() {
    let world = World::new();
    let root = world.folder.path("objects");
    let left = root.join(".held/0");
    fs::create_dir(root.join(".held")).unwrap();
    fs::write(&left, "left").unwrap();
    let held = HeldObjects::new(&root).unwrap();
    assert!(!left.exists());
    drop(held);
    fs::create_dir(root.join(".held")).unwrap();
    fs::write(&left, "left").unwrap();
    FileObjects::open(&root).unwrap();
    assert!(!left.exists());
}

#[tokio::test]
async fn keys_without_a_file_are_named() {
    let world = World::new();
    world.objects.put("a", Vec::new()).await.unwrap();
    let root = world.folder.path("objects");
    std::os::unix::fs::symlink("/etc/passwd", root.join("data/b.json")).unwrap();
    let refused = HeldObjects::new(&root).unwrap().hold().unwrap_err();
    assert!(
        refused
            .message()
            .contains("data/b.json is not a file; move it away"),
        "{refused}"
    );
}
