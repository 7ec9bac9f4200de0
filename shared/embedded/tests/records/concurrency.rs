//! Tests concurrent writers: in one process, and on two handles of one file.

use std::sync::Arc;

use embedded::sqlite::SqliteRecords;
use platform::records::store::{Action, Condition, Key, Query, RecordStore as _, Step, Written};

use crate::support::*;

const WRITERS: u64 = 100;

/// Reads the number and writes the next one, until no other writer was first.
async fn increment(store: &SqliteRecords, key: &Key) -> u64 {
    let mut refusals = 0;
    loop {
        let item = store.find(RECORDS, key).await.unwrap().unwrap();
        let number = item.get("number").unwrap().as_u64().unwrap();
        let next = self::item(key, counter(number + 1));
        let condition = Condition::NumberIs("number", number);
        let step = step(RECORDS, key.clone(), Action::Put(next), Some(condition));
        match store.write(step).await.unwrap() {
            Written::Done => return refusals,
            Written::Refused { step } => assert_eq!(step, 0),
            Written::Contended => panic!("no write of this store contends"),
        }
        refusals += 1;
    }
}

async fn increments(stores: Vec<Arc<SqliteRecords>>) -> u64 {
    let tasks = (0..WRITERS).zip(stores.iter().cycle()).map(|(_, store)| {
        let store = Arc::clone(store);
        tokio::spawn(async move { increment(&store, &key("counter")).await })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut refusals = 0;
    for task in tasks {
        refusals += task.await.unwrap();
    }
    refusals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn increments_of_many_writers_are_exact() {
    let folder = Folder::new();
    let store = Arc::new(folder.open());
    done(&store, put(RECORDS, key("counter"), counter(0))).await;
    let refusals = increments(vec![Arc::clone(&store)]).await;
    assert_eq!(found(&store, "counter").await.unwrap()["number"], WRITERS);
    assert!(refusals > 0, "the writers were never at the same time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_handles_write_to_one_file() {
    let folder = Folder::new();
    let (one, other) = (Arc::new(folder.open()), Arc::new(folder.open()));
    done(&one, put(RECORDS, key("counter"), counter(0))).await;
    increments(vec![Arc::clone(&one), Arc::clone(&other)]).await;
    assert_eq!(found(&one, "counter").await.unwrap()["number"], WRITERS);
    assert_eq!(found(&other, "counter").await.unwrap()["number"], WRITERS);
}

/// As the operator's command, which is another process.
#[tokio::test]
async fn a_write_waits_for_another_one_on_the_file() {
    let folder = Folder::new();
    let store = folder.open();
    let other = rusqlite::Connection::open(folder.path("records.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut write = store.write(put(RECORDS, key("a"), counter(1)));
    assert!(futures::poll!(&mut write).is_pending());
    assert_eq!(found(&store, "a").await, None, "a read waits for nothing");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(write.await.unwrap(), Written::Done);
    assert!(found(&store, "a").await.is_some());
}

#[test]
fn two_threads_make_one_file() {
    for _ in 0..10 {
        let folder = Folder::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| folder.open());
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_is_seen_by_every_read_after_its_answer() {
    let folder = Folder::new();
    let store = Arc::new(folder.open());
    let tasks = (0..32).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let key = key(&n.to_string());
            for number in 0..10 {
                done(&store, put(RECORDS, key.clone(), counter(number))).await;
                let item = store.find(RECORDS, &key).await.unwrap().unwrap();
                assert_eq!(item.get("number").unwrap(), number);
                let query = Query::partition("p").between(key.sk.clone(), key.sk.clone());
                let page = store.page(RECORDS, &query, 1, None).await.unwrap();
                assert_eq!(page.items[0].get("number").unwrap(), number);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_caller_that_is_gone_stops_no_writer() {
    let folder = Folder::new();
    let store = folder.open();
    for n in 0..50 {
        let mut write = store.write(put(RECORDS, key(&n.to_string()), counter(n)));
        let _ = futures::poll!(&mut write);
        drop(write);
    }
    done(&store, put(RECORDS, key("last"), counter(1))).await;
    assert_eq!(store.count(RECORDS, &Query::partition("p")).await.unwrap(), 51);
}

#[tokio::test]
async fn a_drop_waits_for_what_was_taken() {
    let folder = Folder::new();
    let store = folder.open();
    let steps: Vec<Step> = (0..600)
        .map(|n| put(RECORDS, key(&n.to_string()), counter(n)))
        .collect();
    for step in steps {
        let mut write = store.write(step);
        let _ = futures::poll!(&mut write);
    }
    drop(store);
    assert!(
        !folder.path("records.db-wal").exists(),
        "the last connection cleans up"
    );
    let store = folder.open();
    assert_eq!(store.count(RECORDS, &Query::partition("p")).await.unwrap(), 600);
}
