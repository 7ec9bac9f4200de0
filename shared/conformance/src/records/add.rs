//! Checks additions to numbers, and the returned sums.

use platform::records::Key;
use platform::records::schema::EXPIRES_AT;
use platform::records::store::Item;
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused};

pub async fn add(subject: &Subject) {
    the_new_number_is_given_back(subject).await;
    concurrent_additions_all_count(subject).await;
    adding_to_a_text_is_an_error(subject).await;
}

async fn the_new_number_is_given_back(subject: &Subject) {
    let table = &*subject.tables.records;
    let key = Key::new(fresh("add"), "a");
    let far = 32_503_680_000;
    assert_eq!(subject.store.add(table, &key, "n", 5, far).await.unwrap(), 5);
    assert_eq!(subject.store.add(table, &key, "n", 0, far + 1).await.unwrap(), 5);
    assert_eq!(
        subject.store.add(table, &key, "other", 7, far + 2).await.unwrap(),
        7
    );
    let expected = Item::from_record(&key, &json!({ "n": 5, "other": 7, EXPIRES_AT: far + 2 })).unwrap();
    assert_eq!(subject.find(&key).await, Some(expected));

    // Other attributes stay, and the range of numbers is that of other writes.
    subject
        .put(&key, &json!({ "n": u64::MAX - 2, "kept": [1] }))
        .await;
    assert_eq!(
        subject.store.add(table, &key, "n", 2, far).await.unwrap(),
        u64::MAX
    );
    let expected = Item::from_record(&key, &json!({ "n": u64::MAX, "kept": [1], EXPIRES_AT: far })).unwrap();
    assert_eq!(subject.find(&key).await, Some(expected));
}

async fn concurrent_additions_all_count(subject: &Subject) {
    let key = Key::new(fresh("add"), "a");
    let mut additions = Vec::new();
    for _ in 0..20 {
        let (subject, key) = (subject.clone(), key.clone());
        additions.push(tokio::spawn(async move {
            subject
                .store
                .add(&subject.tables.records, &key, "n", 3, 32_503_680_000)
                .await
                .unwrap()
        }));
    }
    let mut seen = Vec::new();
    for addition in additions {
        seen.push(addition.await.unwrap());
    }
    seen.sort_unstable();
    let expected: Vec<_> = (1..=20).map(|number| number * 3).collect();
    assert_eq!(seen, expected, "each addition sees a number of its own");
}

async fn adding_to_a_text_is_an_error(subject: &Subject) {
    let key = Key::new(fresh("add"), "a");
    let item = subject.put(&key, &json!({ "text": "1", "null": null })).await;
    for name in ["text", "null"] {
        refused(subject.store.add(&subject.tables.records, &key, name, 1, 1).await);
    }
    assert_eq!(subject.find(&key).await, Some(item));
}
