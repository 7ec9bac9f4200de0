//! Tests files: refused ones, those that a process left behind, and copies.

use std::fs;
use std::path::Path;

use embedded::sqlite::SqliteRecords;
use platform::records::schema::TableKind;
use platform::records::store::{Query, RecordStore as _};
use rusqlite::Connection;
use serde_json::json;

use crate::support::*;

fn check_refused(path: &Path, sentence: &str) {
    let before = fs::read(path).ok();
    let refusal = refusal(path);
    assert!(refusal.contains(sentence), "{refusal}");
    assert!(refusal.contains(path.to_str().unwrap()), "{refusal}");
    assert_eq!(fs::read(path).ok(), before, "the file was changed");
}

#[test]
fn a_file_of_another_kind_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let path = folder.path("text");
    for text in ["hello\n".to_owned(), "hello\n".repeat(5_000)] {
        fs::write(&path, text).unwrap();
        check_refused(&path, "is no database. Choose another file");
    }

    let path = folder.path("foreign");
    let foreign = Connection::open(&path).unwrap();
    foreign
        .execute_batch("CREATE TABLE items (a); INSERT INTO items VALUES (1)")
        .unwrap();
    check_refused(&path, "is a database of another program");
    foreign.pragma_update(None, "application_id", 7).unwrap();
    check_refused(&path, "is a database of another program");
}

#[tokio::test]
async fn a_file_of_another_layout_is_refused() {
    let folder = Folder::new();
    drop(folder.open());
    let path = folder.path("records.db");
    for version in [1, 3] {
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        drop(other);
        check_refused(&path, "Use the program that wrote the file");
    }
}

#[tokio::test]
async fn a_truncated_file_is_refused() {
    let folder = Folder::new();
    let store = folder.open();
    for n in 0..100 {
        done(
            &store,
            put(RECORDS, key(&n.to_string()), json!({ "text": "a".repeat(1_000) })),
        )
        .await;
    }
    drop(store);
    let whole = fs::read(folder.path("records.db")).unwrap();
    let path = folder.path("truncated");
    for length in [whole.len() / 2, 8_192, 4_096, 5_000, 1_000, 100, 20] {
        fs::write(&path, &whole[..length]).unwrap();
        let refusal = refusal(&path);
        assert!(
            refusal.contains("Put a backup in its place") || refusal.contains("is no database"),
            "{refusal}"
        );
    }
    // An empty file beside a WAL once contained records.
    fs::write(&path, "").unwrap();
    fs::write(folder.path("truncated-wal"), "wal").unwrap();
    check_refused(&path, "Put both files of a copy");
    assert!(folder.path("truncated-wal").exists());
    fs::remove_file(folder.path("truncated-wal")).unwrap();
    assert!(SqliteRecords::open(&path, &TABLES).is_ok());
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let folder = Folder::new();
    let missing = folder.path("missing").join("records.db");
    check_refused(&missing, "Its folder must exist");
    let path = folder.path("folder");
    fs::create_dir(&path).unwrap();
    check_refused(&path, "Its folder must exist");
}

#[tokio::test]
async fn a_table_of_another_kind_is_refused_and_further_ones_are_added() {
    let folder = Folder::new();
    let path = folder.path("records.db");
    let store = SqliteRecords::open(&path, &[(RECORDS, TableKind::Records)]).unwrap();
    done(&store, put(RECORDS, key("a"), counter(1))).await;
    drop(store);
    let other = SqliteRecords::open(&path, &[(RECORDS, TableKind::Listed)])
        .err()
        .unwrap()
        .to_string();
    assert!(other.contains("is of the kind 'records'"), "{other}");
    let store = folder.open();
    assert!(found(&store, "a").await.is_some());
    done(&store, put(LISTED, key("a"), counter(1))).await;
}

/// Simulates a killed process: the files are copied while it still runs.
#[tokio::test]
async fn what_was_answered_is_there_after_an_abrupt_end() {
    let folder = Folder::new();
    let store = folder.open();
    for n in 0..100 {
        done(
            &store,
            put(
                RECORDS,
                key(&format!("{n:03}")),
                json!({ "gsi1pk": "i", "listed_at": "a" }),
            ),
        )
        .await;
    }
    let wal = fs::read(folder.path("records.db-wal")).unwrap();
    for (name, kept) in [
        ("whole", wal.len()),
        ("torn", wal.len() - 10),
        ("half", wal.len() / 2),
    ] {
        let copy = folder.path(name);
        fs::copy(folder.path("records.db"), &copy).unwrap();
        fs::write(folder.path(&format!("{name}-wal")), &wal[..kept]).unwrap();
        let copy = SqliteRecords::open(&copy, &TABLES).unwrap();
        let (items, _) = all(&copy, RECORDS, &Query::partition("p"), 1_000).await;
        let expected = match name {
            "whole" => 100..101,
            "torn" => 99..100,
            _ => 10..90,
        };
        assert!(expected.contains(&items.len()), "{name}: {}", items.len());
        // No commit is incomplete.
        let in_index = copy.count(RECORDS, &Query::partition("i").gsi1()).await.unwrap();
        assert_eq!(in_index, items.len() as u64);
        let first: Vec<_> = (0..items.len()).map(|n| format!("{n:03}")).collect();
        assert_eq!(texts(&items, "sk"), first);
        done(&copy, put(RECORDS, key("more"), counter(1))).await;
    }
}

#[tokio::test]
async fn a_damaged_page_is_found() {
    let folder = Folder::new();
    let store = folder.open();
    for n in 0..100 {
        let record = json!({ "text": "a".repeat(1_000), "gsi1pk": "i", "listed_at": "a" });
        done(&store, put(RECORDS, key(&n.to_string()), record)).await;
    }
    store.check_integrity().unwrap();
    drop(store);
    let path = folder.path("records.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes.len() / 2 / 4_096 * 4_096;
    bytes[page..page + 8].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let refusal = folder.open().check_integrity().unwrap_err().to_string();
    assert!(refusal.contains("Put a backup in its place"), "{refusal}");
    assert!(refusal.contains(path.to_str().unwrap()), "{refusal}");
}
