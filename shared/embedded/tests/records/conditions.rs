//! Tests conditional writes, transactions and their limits.

use platform::ErrorKind;
use platform::records::store::{
    Action, Changes, Condition, Key, Query, RecordStore as _, Step, Written, limits,
};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn a_condition_holds_or_refuses() {
    let folder = Folder::new();
    let store = folder.open();
    let record = json!({ "number": 3, "text": "a", "expires_at": 100, "null": null });
    done(&store, put(RECORDS, key("there"), record)).await;
    let there = [
        (Condition::Absent, false),
        (Condition::Present, true),
        (Condition::NumberIs("number", 3), true),
        (Condition::NumberIs("number", 4), false),
        (Condition::NumberIs("text", 3), false),
        (Condition::TextIs("text", "a".to_owned()), true),
        (Condition::TextIs("text", "b".to_owned()), false),
        (Condition::NumberBelow("number", 4), true),
        (Condition::NumberBelow("number", 3), false),
        (Condition::Has("null"), true),
        (Condition::Has("missing"), false),
        (Condition::Lacks("missing"), true),
        (Condition::Lacks("text"), false),
        (Condition::AbsentOrExpired(101), true),
        (Condition::AbsentOrExpired(100), false),
    ];
    for (condition, holds) in there {
        let written = store.write(check("there", condition.clone())).await.unwrap();
        assert_eq!(written == Written::Done, holds, "{condition:?}");
    }
    let missing = [
        (Condition::Absent, true),
        (Condition::AbsentOrExpired(0), true),
        (Condition::Present, false),
        (Condition::Lacks("text"), false),
        (Condition::Has("text"), false),
        (Condition::NumberBelow("number", 1), false),
    ];
    for (condition, holds) in missing {
        let written = store.write(check("missing", condition.clone())).await.unwrap();
        assert_eq!(written == Written::Done, holds, "{condition:?}");
    }
    assert_eq!(found(&store, "missing").await, None);
}

#[tokio::test]
async fn a_transaction_names_its_first_refusal_and_writes_nothing() {
    let folder = Folder::new();
    let store = folder.open();
    done(&store, put(RECORDS, key("c"), counter(1))).await;
    let steps = vec![
        put(RECORDS, key("a"), counter(1)),
        check("b", Condition::Absent),
        step(
            RECORDS,
            key("c"),
            Action::Delete,
            Some(Condition::NumberIs("number", 2)),
        ),
        check("d", Condition::Present),
    ];
    assert_eq!(store.transact(steps).await.unwrap(), Written::Refused { step: 2 });
    assert_eq!(found(&store, "a").await, None);
    assert!(found(&store, "c").await.is_some());

    let steps = vec![
        put(RECORDS, key("a"), counter(1)),
        step(
            RECORDS,
            key("c"),
            Action::Delete,
            Some(Condition::NumberIs("number", 1)),
        ),
        put(LISTED, key("a"), counter(2)),
    ];
    assert_eq!(store.transact(steps).await.unwrap(), Written::Done);
    assert!(found(&store, "a").await.is_some());
    assert_eq!(found(&store, "c").await, None);
    assert!(store.find(LISTED, &key("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn an_update_changes_attributes_and_makes_a_missing_item() {
    let folder = Folder::new();
    let store = folder.open();
    let changes = Changes::default()
        .append("list", &[1, 2])
        .unwrap()
        .add("number", -2);
    let text = changes.clone().set("text", &"ü\0\n").unwrap();
    done(&store, update(RECORDS, key("a"), text)).await;
    done(&store, update(RECORDS, key("a"), changes.remove("text"))).await;
    let expected = json!({ "pk": "p", "sk": "a", "list": [1, 2, 1, 2], "number": -4 });
    assert_eq!(found(&store, "a").await, Some(expected));
}

#[tokio::test]
async fn add_makes_the_item_and_gives_the_new_number() {
    let folder = Folder::new();
    let store = folder.open();
    assert_eq!(store.add(RECORDS, &key("a"), "n", 2, 9).await.unwrap(), 2);
    assert_eq!(store.add(RECORDS, &key("a"), "n", 3, 10).await.unwrap(), 5);
    let expected = json!({ "pk": "p", "sk": "a", "n": 5, "expires_at": 10 });
    assert_eq!(found(&store, "a").await, Some(expected));
}

/// Only this request is refused: the rest of its batch is committed.
#[tokio::test]
async fn writes_beyond_a_limit_are_refused_permanently() {
    let folder = Folder::new();
    let store = folder.open();
    let half = "a".repeat(limits::MAX_ITEM_BYTES / 2);
    done(&store, put(RECORDS, key("large"), json!({ "one": half }))).await;
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    done(
        &store,
        put(RECORDS, key("deep"), json!({ "deep": nested(limits::MAX_DEPTH) })),
    )
    .await;
    let deep = nested(limits::MAX_DEPTH + 1);
    let grown = Changes::default().set("two", &half).unwrap();
    let not_a_list = Changes::default().append("one", &[1]).unwrap();
    let moved = Changes::default().set("sk", &"other").unwrap();
    let other = item(&key("other"), counter(1));
    let refused: Vec<Vec<Step>> = vec![
        vec![],
        vec![put(RECORDS, key("a"), counter(1)), check("a", Condition::Absent)],
        (0..=limits::MAX_STEPS)
            .map(|n| put(RECORDS, key(&n.to_string()), counter(1)))
            .collect(),
        vec![put(RECORDS, key(""), counter(1))],
        vec![put(
            RECORDS,
            key(&"a".repeat(limits::MAX_SK_BYTES + 1)),
            counter(1),
        )],
        vec![put(RECORDS, key("a"), json!({ "deep": deep }))],
        vec![put(RECORDS, key("a"), json!({ "text": format!("{half}{half}") }))],
        vec![step(RECORDS, key("a"), Action::Put(other), None)],
        vec![
            put(RECORDS, key("a"), counter(1)),
            update(RECORDS, key("large"), grown),
        ],
        vec![
            put(RECORDS, key("a"), counter(1)),
            update(RECORDS, key("large"), not_a_list),
        ],
        vec![update(RECORDS, key("large"), moved)],
        vec![put("missing", key("a"), counter(1))],
    ];
    let mut writes = Vec::new();
    let count = refused.len();
    for (at, steps) in refused.into_iter().enumerate() {
        writes.push(store.transact(steps));
        writes.push(store.write(put(RECORDS, key(&format!("beside-{at}")), counter(1))));
    }
    let answers = futures::future::join_all(writes).await;
    for pair in answers.chunks(2) {
        let error = pair[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
        assert_eq!(pair[1].as_ref().unwrap(), &Written::Done);
    }
    assert_eq!(found(&store, "a").await, None);
    let beside = Query::partition("p").prefix("beside-");
    assert_eq!(store.count(RECORDS, &beside).await.unwrap(), count as u64);
}

#[tokio::test]
async fn many_items_are_found_in_the_order_of_their_keys() {
    let folder = Folder::new();
    let store = folder.open();
    for n in [1, 3, 5, 7] {
        done(&store, put(RECORDS, key(&n.to_string()), counter(n))).await;
    }
    let keys: Vec<Key> = (0..9).rev().map(|n| key(&n.to_string())).collect();
    let items = store.find_many(RECORDS, &keys).await.unwrap();
    let there: Vec<_> = items.iter().map(Option::is_some).collect();
    assert_eq!(there, [false, true, false, true, false, true, false, true, false]);
    assert!(store.find_many(RECORDS, &[]).await.unwrap().is_empty());
    let keys: Vec<Key> = (0..=limits::MAX_KEYS).map(|n| key(&n.to_string())).collect();
    assert_eq!(
        store.find_many(RECORDS, &keys).await.unwrap_err().kind(),
        ErrorKind::Internal
    );
}
