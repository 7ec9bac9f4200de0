//! Tests pages of tables and indexes.

use std::collections::BTreeMap;

use platform::ErrorKind;
use platform::records::schema::{DUE, GSI1};
use platform::records::store::{Action, Changes, Order, Position, Query, RecordStore as _, limits};
use serde_json::{Value, json};

use crate::support::*;

fn placed(index_sk: &str) -> Value {
    json!({ "gsi1pk": "index", "listed_at": index_sk, "summary": { "title": "A" }, "body": "long" })
}

#[tokio::test]
async fn a_partition_is_read_in_both_directions() {
    let folder = Folder::new();
    let store = folder.open();
    let keys = ["a", "a#1", "a#2", "a$", "b", "é", "\u{ffff}", "\u{10000}"];
    for sk in keys {
        done(&store, put(RECORDS, key(sk), counter(1))).await;
    }
    let ranges = [
        (Query::partition("p"), keys.to_vec()),
        (Query::partition("p").prefix("a#"), vec!["a#1", "a#2"]),
        (Query::partition("p").prefix("a"), vec!["a", "a#1", "a#2", "a$"]),
        (
            Query::partition("p").between("a#2", "é"),
            vec!["a#2", "a$", "b", "é"],
        ),
        (Query::partition("p").between("b", "a"), vec![]),
        (Query::partition("q"), vec![]),
    ];
    for (query, expected) in ranges {
        for query in both(query) {
            for most in [1, 2, 3, 100] {
                let (items, sizes) = all(&store, RECORDS, &query, most).await;
                let mut expected = expected.clone();
                if query.order == Order::Descending {
                    expected.reverse();
                }
                assert_eq!(texts(&items, "sk"), expected, "{query:?}");
                assert_eq!(sizes.len(), expected.len().div_ceil(most).max(1), "{query:?}");
            }
            assert_eq!(store.count(RECORDS, &query).await.unwrap(), expected.len() as u64);
        }
    }
}

#[tokio::test]
async fn an_index_is_read_in_both_directions_with_ties() {
    let folder = Folder::new();
    let store = folder.open();
    for table in [RECORDS, LISTED] {
        for (sk, index_sk) in [("1", "a"), ("2", "b"), ("3", "b"), ("4", "b"), ("5", "c")] {
            done(&store, put(table, key(sk), placed(index_sk))).await;
        }
        done(&store, put(table, key("outside"), json!({ "gsi1pk": "index" }))).await;
        let ranges = [
            (Query::partition("index").gsi1(), vec!["1", "2", "3", "4", "5"]),
            (Query::partition("index").gsi1().prefix("b"), vec!["2", "3", "4"]),
            (
                Query::partition("index").gsi1().between("a", "b"),
                vec!["1", "2", "3", "4"],
            ),
        ];
        for (query, expected) in ranges {
            for query in both(query) {
                for most in [1, 2, 100] {
                    let (items, _) = all(&store, table, &query, most).await;
                    let mut expected = expected.clone();
                    if query.order == Order::Descending {
                        expected.reverse();
                    }
                    assert_eq!(texts(&items, "sk"), expected, "{query:?}");
                }
                assert_eq!(store.count(table, &query).await.unwrap(), expected.len() as u64);
            }
        }
    }
}

#[tokio::test]
async fn a_listed_index_carries_the_summary_alone() {
    let folder = Folder::new();
    let store = folder.open();
    let mut record = placed("a");
    for (name, value) in [("due_shard", "shard"), ("due_at", "2026"), ("gsi4pk", "four")] {
        record[name] = json!(value);
    }
    for table in [RECORDS, LISTED] {
        done(&store, put(table, key("1"), record.clone())).await;
    }
    let read = async |table, pk: &str, index| {
        let query = Query::partition(pk).index(index);
        let (mut items, _) = all(&store, table, &query, 10).await;
        Value::Object(items.remove(0).into_attributes())
    };
    let summary = json!({ "title": "A" });
    let keys = json!({ "pk": "p", "sk": "1", "gsi1pk": "index", "listed_at": "a", "summary": summary });
    assert_eq!(read(LISTED, "index", GSI1).await, keys);
    let keys = json!({ "pk": "p", "sk": "1", "gsi4pk": "four", "listed_at": "a", "summary": summary });
    assert_eq!(read(LISTED, "four", "gsi4").await, keys);
    let keys = json!({ "pk": "p", "sk": "1", "due_shard": "shard", "due_at": "2026" });
    assert_eq!(read(LISTED, "shard", DUE).await, keys);
    let whole = Value::Object(item(&key("1"), record).into_attributes());
    assert_eq!(read(RECORDS, "index", GSI1).await, whole);
    assert_eq!(read(RECORDS, "shard", DUE).await, whole);

    let changes = Changes::default()
        .set("summary", &"B")
        .unwrap()
        .set("body", &"b")
        .unwrap();
    done(&store, update(LISTED, key("1"), changes)).await;
    assert_eq!(read(LISTED, "index", GSI1).await["summary"], "B");
    done(
        &store,
        update(LISTED, key("1"), Changes::default().remove("summary")),
    )
    .await;
    assert_eq!(read(LISTED, "index", GSI1).await.get("summary"), None);

    let missing = Query::partition("x").index("gsi2");
    assert_eq!(
        store.page(RECORDS, &missing, 1, None).await.unwrap_err().kind(),
        ErrorKind::Internal
    );
}

#[tokio::test]
async fn an_item_moves_within_an_index_and_leaves_it() {
    let folder = Folder::new();
    let store = folder.open();
    for table in [RECORDS, LISTED] {
        let places = async |pk: &str| {
            let (items, _) = all(&store, table, &Query::partition(pk).gsi1(), 10).await;
            texts(&items, "listed_at")
        };
        done(&store, put(table, key("1"), placed("a"))).await;
        let moved = Changes::default().place(GSI1, "index".to_owned(), "b".to_owned());
        done(&store, update(table, key("1"), moved)).await;
        assert_eq!(places("index").await, ["b"]);
        done(
            &store,
            put(table, key("1"), json!({ "gsi1pk": "other", "listed_at": "c" })),
        )
        .await;
        assert_eq!(places("index").await, [""; 0]);
        assert_eq!(places("other").await, ["c"]);
        done(&store, update(table, key("1"), Changes::default().leave(GSI1))).await;
        assert_eq!(places("other").await, [""; 0]);
        done(&store, put(table, key("1"), placed("a"))).await;
        done(&store, step(table, key("1"), Action::Delete, None)).await;
        assert_eq!(places("index").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_page_begins_behind_an_item_that_is_gone() {
    let folder = Folder::new();
    let store = folder.open();
    for sk in ["1", "2", "3"] {
        done(&store, put(RECORDS, key(sk), placed(sk))).await;
    }
    done(&store, step(RECORDS, key("2"), Action::Delete, None)).await;
    for (index, in_index) in [
        (None, None),
        (Some(GSI1), Some(("index".to_owned(), "2".to_owned()))),
    ] {
        let start = Position {
            pk: "p".to_owned(),
            sk: "2".to_owned(),
            in_index,
        };
        let pk = if index.is_some() { "index" } else { "p" };
        for (order, expected) in [(Order::Ascending, "3"), (Order::Descending, "1")] {
            let query = Query {
                index,
                ..Query::partition(pk).order(order)
            };
            let page = store
                .page(RECORDS, &query, 10, Some(start.clone()))
                .await
                .unwrap();
            assert_eq!(texts(&page.items, "sk"), [expected]);
        }
        let elsewhere = Query {
            index,
            ..Query::partition("elsewhere")
        };
        let outside = store.page(RECORDS, &elsewhere, 10, Some(start)).await;
        assert_eq!(outside.unwrap_err().kind(), ErrorKind::Internal);
    }
}

#[tokio::test]
async fn a_page_ends_by_its_bytes() {
    let folder = Folder::new();
    let store = folder.open();
    let text = "a".repeat(300 * 1_024);
    for n in 0..7 {
        let record = json!({ "text": text, "gsi1pk": "index", "listed_at": n.to_string() });
        done(&store, put(RECORDS, key(&n.to_string()), record)).await;
    }
    for query in [Query::partition("p"), Query::partition("index").gsi1()] {
        for query in both(query) {
            let (items, sizes) = all(&store, RECORDS, &query, 100).await;
            assert_eq!((items.len(), sizes), (7, vec![3, 3, 1]));
            let page = store.page(RECORDS, &query, 100, None).await.unwrap();
            let bytes: usize = page.items.iter().map(limits::bytes_of).sum();
            assert!(bytes <= limits::MAX_PAGE_BYTES);
        }
    }
}

#[tokio::test]
async fn a_scan_reads_every_item_of_its_table_once() {
    let folder = Folder::new();
    let store = folder.open();
    let text = "a".repeat(200 * 1_024);
    for n in 0..12 {
        done(
            &store,
            put(RECORDS, key(&format!("{n:02}")), json!({ "text": text })),
        )
        .await;
    }
    done(&store, put(LISTED, key("other"), counter(1))).await;
    let (mut seen, mut start, mut pages) = (BTreeMap::new(), None, 0);
    loop {
        let page = store.scan(RECORDS, start).await.unwrap();
        pages += 1;
        for sk in texts(&page.items, "sk") {
            *seen.entry(sk).or_insert(0) += 1;
        }
        match page.next {
            Some(next) => start = Some(next),
            None => break,
        }
    }
    assert_eq!((seen.len(), pages), (12, 3));
    assert!(seen.values().all(|times| *times == 1));
}
