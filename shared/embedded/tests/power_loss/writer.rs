//! Implements the traced writer, which prints each operation before it starts and after it is answered.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use embedded::files::FileObjects;
use embedded::sqlite::SqliteRecords;
use platform::objects::Objects;
use platform::records::schema::TableKind;
use platform::records::store::{Action, Item, Key, RecordStore as _, Step, Written};
use serde_json::json;

/// Name for the test runner.
pub const NAME: &str = "writer::it_writes";
/// File in the writer's folder; without it the writer does nothing.
pub const MARK: &str = "mark";
pub const TABLES: [(&str, TableKind); 1] = [("records", TableKind::Records)];
pub const RECORDS: &str = "records.db";
pub const OBJECTS: &str = "objects";

const TASKS: u64 = 4;
const COMMITS: u64 = 24;

fn say(line: &str) {
    // One write per line; test runners do not capture it.
    writeln!(io::stdout().lock(), "answer {line}").unwrap();
}

/// Returns the bytes of an object; some are longer than a page.
pub fn object(key: &str, number: u64) -> Vec<u8> {
    format!("{key} {number}\n")
        .repeat(1 + number as usize % 7 * 100)
        .into_bytes()
}

/// Writes one half of a commit: both halves have its number, and a place in an index.
fn half(task: u64, half: &str, number: u64) -> Step {
    let key = Key::new(format!("task-{task}"), half);
    let text = "x".repeat(number as usize * 131 % 9_000);
    let record =
        json!({ "number": number, "text": text, "gsi1pk": "all", "listed_at": format!("{task}{half}") });
    Step {
        table: "records".into(),
        action: Action::Put(Item::from_record(&key, &record).unwrap()),
        key,
        condition: None,
    }
}

/// A separate record for each commit.
fn own(task: u64, number: u64) -> Step {
    let mut step = half(task, &format!("own-{number:03}"), number);
    if let Action::Put(item) = &mut step.action {
        item.remove("gsi1pk");
    }
    step
}

async fn write_on(task: u64, store: Arc<SqliteRecords>, objects: Objects) {
    for number in 1..=COMMITS {
        let key = format!("runs/{task}/{number}.json");
        objects.put(&key, object(&key, number)).await.unwrap();
        say(&format!("put {key} {number}"));
        let steps = vec![
            half(task, "a", number),
            half(task, "b", number),
            own(task, number),
        ];
        assert_eq!(store.transact(steps).await.unwrap(), Written::Done);
        say(&format!("commit {task} {number}"));
        let shared = format!("shared/{task}");
        objects.put(&shared, object(&shared, number)).await.unwrap();
        say(&format!("replaced {shared} {number}"));
        if number > 1 {
            let before = format!("runs/{task}/{}.json", number - 1);
            say(&format!("removing {before}"));
            objects.remove(&before).await.unwrap();
            say(&format!("removed {before}"));
        }
        // Through another connection, and earlier than the store does it by itself.
        if number % 5 == task {
            let path = PathBuf::from(RECORDS);
            let moved = tokio::task::spawn_blocking(move || checkpoint(&path));
            moved.await.unwrap();
        }
    }
}

fn checkpoint(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    // A busy checkpoint completes in part.
    let _ = connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
}

#[test]
#[ignore = "it is the program that the test of power loss traces"]
fn it_writes() {
    if !Path::new(MARK).exists() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let store = Arc::new(SqliteRecords::open(Path::new(RECORDS), &TABLES).unwrap());
        let files = FileObjects::open(Path::new(OBJECTS)).unwrap();
        let objects = Objects::new(Arc::new(files), "data");
        say("opened");
        let tasks = (0..TASKS).map(|task| tokio::spawn(write_on(task, Arc::clone(&store), objects.clone())));
        futures::future::join_all(tasks)
            .await
            .into_iter()
            .for_each(Result::unwrap);
        drop(store);
        say("closed");
    });
}
