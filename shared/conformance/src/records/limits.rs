//! Checks DynamoDB's limits of items and keys.

use platform::records::store::limits::{MAX_ITEM_BYTES, MAX_KEYS, MAX_PK_BYTES, MAX_SK_BYTES, bytes_of};
use platform::records::store::{Action, Item};
use platform::records::{Changes, Key, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused, step};

/// Checks the size of an item, also after an update, and the length of keys.
pub async fn limits(subject: &Subject) {
    an_item_has_a_size(subject).await;
    an_item_cannot_grow_beyond_its_size(subject).await;
    keys_have_a_length(subject).await;
    one_read_has_100_distinct_keys(subject).await;
}

/// Returns an item of exactly this many bytes.
fn item_of(key: &Key, bytes: usize) -> Item {
    let without = bytes_of(&Item::from_record(key, &json!({ "text": "" })).unwrap());
    let item = Item::from_record(key, &json!({ "text": "x".repeat(bytes - without) })).unwrap();
    assert_eq!(bytes_of(&item), bytes);
    item
}

async fn an_item_has_a_size(subject: &Subject) {
    let key = Key::new(fresh("limits"), "a");
    let too_large = item_of(&key, MAX_ITEM_BYTES + 1);
    refused(subject.write(&key, Action::Put(too_large.clone()), None).await);
    let put = step(&subject.tables.records, &key, Action::Put(too_large), None);
    refused(subject.store.transact(vec![put]).await);
    assert_eq!(subject.find(&key).await, None);

    let largest = item_of(&key, MAX_ITEM_BYTES);
    let written = subject.write(&key, Action::Put(largest.clone()), None).await;
    assert_eq!(written.unwrap(), Written::Done);
    assert_eq!(subject.find(&key).await, Some(largest));
}

async fn an_item_cannot_grow_beyond_its_size(subject: &Subject) {
    let key = Key::new(fresh("limits"), "a");
    let item = item_of(&key, MAX_ITEM_BYTES - 1_000);
    let written = subject.write(&key, Action::Put(item.clone()), None).await;
    assert_eq!(written.unwrap(), Written::Done);
    let text = "x".repeat(1_000);
    for changes in [
        Changes::default().set("more", &text).unwrap(),
        Changes::default().append("more", &[&text]).unwrap(),
    ] {
        refused(subject.write(&key, Action::Update(changes.clone()), None).await);
        let update = step(&subject.tables.records, &key, Action::Update(changes), None);
        refused(subject.store.transact(vec![update]).await);
        assert_eq!(subject.find(&key).await.as_ref(), Some(&item));
    }
    let changes = Changes::default().set("more", &"x".repeat(900)).unwrap();
    let written = subject.write(&key, Action::Update(changes), None).await;
    assert_eq!(written.unwrap(), Written::Done);
}

async fn keys_have_a_length(subject: &Subject) {
    let start = fresh("limits");
    let pk = |bytes: usize| format!("{start}ü{}", "x".repeat(bytes - start.len() - "ü".len()));
    let sk = |bytes: usize| "s".repeat(bytes);
    let longest = Key::new(pk(MAX_PK_BYTES), sk(MAX_SK_BYTES));
    let put = subject.put(&longest, &json!({ "a": 1 })).await;
    assert_eq!(subject.find(&longest).await, Some(put));

    let far = 32_503_680_000;
    for key in [
        Key::new(pk(MAX_PK_BYTES + 1), "a"),
        Key::new(start.clone(), sk(MAX_SK_BYTES + 1)),
        Key::new("", "a"),
        Key::new(start.clone(), ""),
    ] {
        let item = Item::from_record(&key, &json!({})).unwrap();
        let update = || Action::Update(Changes::default().set("a", &1).unwrap());
        refused(subject.write(&key, Action::Put(item.clone()), None).await);
        refused(subject.write(&key, update(), None).await);
        let steps = |action| vec![step(&subject.tables.records, &key, action, None)];
        refused(subject.store.transact(steps(Action::Put(item))).await);
        refused(subject.store.transact(steps(update())).await);
        refused(
            subject
                .store
                .add(&subject.tables.records, &key, "n", 1, far)
                .await,
        );
    }
}

async fn one_read_has_100_distinct_keys(subject: &Subject) {
    let pk = fresh("limits");
    let mut keys: Vec<_> = (0..=MAX_KEYS)
        .map(|number| Key::new(&pk, format!("{number}")))
        .collect();
    refused(subject.store.find_many(&subject.tables.records, &keys).await);
    keys.truncate(1);
    keys.extend(keys.clone());
    refused(subject.store.find_many(&subject.tables.records, &keys).await);
}
