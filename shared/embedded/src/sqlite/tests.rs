use platform::ErrorKind;
use platform::records::store::{Item, Query};
use serde_json::json;

use super::*;

fn put(sk: &str, bytes: usize) -> Step {
    let key = Key::new("p", sk);
    let record = json!({ "text": "a".repeat(bytes), "gsi1pk": "index", "listed_at": sk });
    let item = Item::from_record(&key, &record).unwrap();
    Step {
        table: "records".into(),
        key,
        action: Action::Put(item),
        condition: None,
    }
}

#[tokio::test]
async fn scrubbed_file_has_no_bytes_of_a_removed_item() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let store = SqliteRecords::open(&path, &[("records", TableKind::Records)]).unwrap();
    let step = |sk: &str, action: &dyn Fn(Action) -> Action| {
        let step = put(sk, 10);
        Step {
            action: action(step.action),
            ..step
        }
    };
    for sk in ["secret-key", "kept-key"] {
        assert_eq!(store.write(step(sk, &|put| put)).await.unwrap(), Written::Done);
    }
    let removal = step("secret-key", &|_| Action::Delete);
    assert_eq!(store.write(removal).await.unwrap(), Written::Done);
    store.scrub().await.unwrap();
    let wal = folder.path().join("records.db-wal");
    for (file, is_kept) in [(&path, true), (&wal, false)] {
        let bytes = std::fs::read(file).unwrap_or_default();
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!has("secret-key"), "{file:?}");
        assert_eq!(has("kept-key"), is_kept, "{file:?}");
    }
    let count = store.count("records", &Query::partition("p")).await.unwrap();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.db");
    let tables = [("records", TableKind::Records)];
    let store = SqliteRecords::open_with(&path, &tables, Some(200)).unwrap();
    let mut written = 0_u64;
    let error = loop {
        match store.write(put(&format!("{written:04}"), 20_000)).await {
            Ok(done) => assert_eq!(done, Written::Done),
            Err(error) => break error,
        }
        written += 1;
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("the disk is full"), "{error}");
    // The whole batch fails together, including its small requests.
    let batch = futures::future::join_all((0..20).map(|n| store.write(put(&format!("more-{n}"), 20_000))));
    assert!(batch.await.iter().all(|written| written.is_err()));

    let partition = Query::partition("p");
    assert_eq!(store.count("records", &partition).await.unwrap(), written);
    assert_eq!(
        store
            .count("records", &Query::partition("index").gsi1())
            .await
            .unwrap(),
        written
    );
    let removed = Step {
        action: Action::Delete,
        ..put("0000", 1)
    };
    assert_eq!(store.write(removed).await.unwrap(), Written::Done);
    assert_eq!(store.write(put("0000", 19_000)).await.unwrap(), Written::Done);
    drop(store);
    let store = SqliteRecords::open(&path, &tables).unwrap();
    assert_eq!(store.count("records", &partition).await.unwrap(), written);
    assert_eq!(store.write(put("more", 20_000)).await.unwrap(), Written::Done);
}
