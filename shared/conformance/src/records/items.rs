//! Checks puts, reads and deletions of items.

use platform::records::store::{Action, Item};
use platform::records::{Condition, Key, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused};

/// Checks items one at a time and in batches.
pub async fn items(subject: &Subject) {
    a_put_replaces_the_whole_item(subject).await;
    deleting_a_missing_item_is_done(subject).await;
    many_items_come_in_the_order_of_their_keys(subject).await;
    many_items_are_more_than_one_answer_holds(subject).await;
    a_table_that_does_not_exist_is_an_error(subject).await;
}

async fn a_put_replaces_the_whole_item(subject: &Subject) {
    let key = Key::new(fresh("items"), "a");
    assert_eq!(subject.find(&key).await, None);
    let first = subject.put(&key, &json!({ "one": 1, "both": "first" })).await;
    assert_eq!(subject.find(&key).await, Some(first));
    let second = subject.put(&key, &json!({ "two": 2, "both": "second" })).await;
    assert_eq!(subject.find(&key).await, Some(second));

    let beside = Key::new(key.pk.clone(), "b");
    assert_eq!(subject.find(&beside).await, None);
    let elsewhere = subject.store.find(&subject.tables.others, &key).await;
    assert_eq!(elsewhere.unwrap(), None, "tables do not share items");
}

async fn deleting_a_missing_item_is_done(subject: &Subject) {
    let key = Key::new(fresh("items"), "a");
    subject.put(&key, &json!({})).await;
    for _ in 0..2 {
        let deleted = subject.write(&key, Action::Delete, None).await;
        assert_eq!(deleted.unwrap(), Written::Done);
        assert_eq!(subject.find(&key).await, None);
    }
}

async fn many_items_come_in_the_order_of_their_keys(subject: &Subject) {
    let pk = fresh("items");
    let keys: Vec<_> = (0..100)
        .map(|number| Key::new(pk.clone(), format!("{:03}", number * 37 % 100)))
        .collect();
    for key in keys.iter().step_by(2) {
        subject.put(key, &json!({ "sort": key.sk })).await;
    }
    let found = subject
        .store
        .find_many(&subject.tables.records, &keys)
        .await
        .unwrap();
    assert_eq!(found.len(), keys.len());
    for (place, (item, key)) in found.iter().zip(&keys).enumerate() {
        let expected = (place % 2 == 0).then_some(key.sk.as_str());
        assert_eq!(item.as_ref().and_then(|item| item.text("sort")), expected);
    }
    let none = subject.store.find_many(&subject.tables.records, &[]).await;
    assert_eq!(none.unwrap(), Vec::<Option<Item>>::new());
}

/// An answer of DynamoDB has at most 16 MB, and lists the keys that it omits.
async fn many_items_are_more_than_one_answer_holds(subject: &Subject) {
    let pk = fresh("items");
    let text = "x".repeat(400_000);
    let keys: Vec<_> = (0..43)
        .map(|number| Key::new(pk.clone(), format!("{number:02}")))
        .collect();
    for key in &keys {
        subject.put(key, &json!({ "text": text })).await;
    }
    let found = subject
        .store
        .find_many(&subject.tables.records, &keys)
        .await
        .unwrap();
    assert!(found.iter().all(Option::is_some), "some items are missing");
}

async fn a_table_that_does_not_exist_is_an_error(subject: &Subject) {
    let key = Key::new(fresh("items"), "a");
    let step = |action| crate::subject::step("no-such-table", &key, action, Condition::Absent);
    let item = Item::from_record(&key, &json!({})).unwrap();
    refused(subject.store.find("no-such-table", &key).await);
    refused(
        subject
            .store
            .find_many("no-such-table", std::slice::from_ref(&key))
            .await,
    );
    refused(subject.store.write(step(Action::Put(item.clone()))).await);
    refused(subject.store.write(step(Action::Delete)).await);
    refused(subject.store.transact(vec![step(Action::Put(item))]).await);
    refused(subject.store.add("no-such-table", &key, "n", 1, 1).await);
    refused(subject.store.scan("no-such-table", None).await);
}
