//! Checks keys and listings.

use std::sync::Arc;

use futures::future::join_all;
use platform::objects::ObjectStore;

use super::{bucket, listed};

/// Listings are ordered by the bytes of the keys.
pub async fn listings(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "listings");
    let mut expected: Vec<_> = (0..250).map(|number| format!("many/{number}.json")).collect();
    expected.extend(["a", "a-b", "a.b", "a/b", "a/b/c", "ab", "B", "é", "z/"].map(str::to_owned));
    expected.sort_unstable();
    let puts = expected
        .iter()
        .map(|key| objects.put(key, key.clone().into_bytes()));
    for put in join_all(puts).await {
        put.unwrap();
    }
    assert_eq!(listed(objects, "").await, expected);
    for prefix in [
        "a",
        "a/",
        "a/b",
        "a/b/",
        "many",
        "many/1",
        "many/10.json",
        "z",
        "z/",
        "é",
        "c",
        "a//",
    ] {
        let below = expected.iter().filter(|key| key.starts_with(prefix));
        let below: Vec<_> = below.cloned().collect();
        assert_eq!(listed(objects, prefix).await, below, "{prefix}");
    }
    let sizes = objects.list("").await.unwrap();
    assert!(sizes.iter().all(|object| object.bytes == object.key.len() as u64));
}

/// Every key is one object, whatever characters it contains.
pub async fn keys(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "keys");
    let mut all: Vec<String> = [
        "a b+c%d/ü.json",
        "a%20b",
        "a b",
        "a+b",
        "😀/😀",
        "a//b",
        "a/b/",
        "a/b",
        "a",
        "a.json",
        "a.json/b",
        "a.json.object",
        "A",
        "A.JSON",
        "..a/...",
        "con:aux?*|\"<>\\#&=;@,~'()[]{}^`!$",
    ]
    .map(str::to_owned)
    .into();
    for long in ["k", "é", "k/", "😀"] {
        all.push(long.repeat(1_024 / long.len()));
    }
    all.push(format!("{}/x", "k".repeat(255)));
    all.push("k".repeat(255));
    all.sort_unstable();
    for (number, key) in all.iter().enumerate() {
        objects.put(key, number.to_string().into_bytes()).await.unwrap();
    }
    assert_eq!(listed(objects, "").await, all);
    for (number, key) in all.iter().enumerate() {
        let found = objects.find(key).await.unwrap();
        assert_eq!(found, Some(number.to_string().into_bytes()), "{key}");
    }
    let long = "k".repeat(250);
    let expected: Vec<_> = all.iter().filter(|key| key.starts_with(&long)).cloned().collect();
    assert_eq!((expected.len(), listed(objects, &long).await), (3, expected));
    for (number, key) in all.iter().enumerate() {
        objects.remove(key).await.unwrap();
        assert_eq!(
            objects.list("").await.unwrap().len(),
            all.len() - number - 1,
            "{key}"
        );
    }
}

/// Folders are the parts of keys up to a slash.
pub async fn folders(store: &Arc<dyn ObjectStore>) {
    let objects = &bucket(store, "folders");
    let long = "k".repeat(300);
    for key in [
        "a/b/c",
        "a/b/d/e",
        "a/f",
        "a/g.json",
        "a/g.json/h",
        "a//i",
        "ab/c",
        &format!("a/{long}/x"),
    ] {
        objects.put(key, Vec::new()).await.unwrap();
    }
    let long = format!("a/{long}/");
    for (prefix, expected) in [
        ("", &["a/", "ab/"][..]),
        ("a/", &["a//", "a/b/", "a/g.json/", &long]),
        ("a/b/", &["a/b/d/"]),
        ("a", &["a/", "ab/"]),
        ("a/k", &[&long]),
        ("a/f/", &[]),
        ("x/", &[]),
    ] {
        assert_eq!(objects.folders(prefix).await.unwrap(), expected, "{prefix}");
    }
    objects.remove("a/b/d/e").await.unwrap();
    assert_eq!(objects.folders("a/b/").await.unwrap(), [""; 0]);
    assert_eq!(listed(objects, "a/b/").await, ["a/b/c"]);
}
