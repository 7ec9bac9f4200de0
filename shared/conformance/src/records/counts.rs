//! Checks the counts of ranges.

use platform::records::{Key, Order, Query};
use serde_json::json;

use crate::Subject;
use crate::subject::fresh;

/// Includes ranges with more than one page of bytes.
pub async fn counts(subject: &Subject) {
    let table = &*subject.tables.records;
    let [pk, in_index] = ["a", "b"].map(|_| fresh("counts"));
    let text = "x".repeat(250_000);
    for number in 0..10 {
        let mut key = Key::new(&pk, format!("{}{number}", if number < 4 { "a" } else { "b" }));
        if number % 2 == 0 {
            key = key.with_gsi1(&in_index, format!("{number}"));
        }
        subject.put(&key, &json!({ "text": text })).await;
    }
    for (query, expected) in [
        (Query::partition(&pk), 10),
        (Query::partition(&pk).order(Order::Descending), 10),
        (Query::partition(&pk).prefix("a"), 4),
        (Query::partition(&pk).between("a3", "b5"), 3),
        (Query::partition(&pk).prefix("c"), 0),
        (Query::partition(fresh("counts")), 0),
        (Query::partition(&in_index).gsi1(), 5),
        (Query::partition(&in_index).gsi1().between("2", "6"), 3),
        (Query::partition(&pk).gsi1(), 0),
    ] {
        let count = async || subject.store.count(table, &query).await.unwrap();
        assert_eq!(subject.eventually(&expected, count).await, expected, "{query:?}");
    }
}
