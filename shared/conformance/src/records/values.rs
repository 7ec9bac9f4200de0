//! Checks that values of attributes are returned as they were put.

use platform::records::store::{Action, Item};
use platform::records::{Condition, Key, Query, Written};
use serde_json::{Value, json};

use crate::Subject;
use crate::subject::{fresh, refused};

/// Maximum nesting of a list in an item. The attribute itself is the first level.
const MAX_DEPTH: usize = 32;

/// Checks texts, numbers at their limits, lists and maps, null and missing.
pub async fn values(subject: &Subject) {
    values_come_back(subject).await;
    null_is_not_missing(subject).await;
    whole_fractions_are_numbers(subject).await;
    lists_are_deep_up_to_a_limit(subject).await;
    numbers_have_a_range(subject).await;
    a_name_is_not_empty(subject).await;
}

async fn values_come_back(subject: &Subject) {
    let key = Key::new(fresh("values"), "a");
    let put = subject
        .put(
            &key,
            &json!({
                "empty": "", "unicode": "ü 漢 😀 \u{fb00} e\u{301}", "control": "\0\u{1}\n\r\t\u{7f}", "quotes": "'\"\\`%_",
                "true": true, "false": false, "null": null,
                "zero": 0, "u64": u64::MAX, "i64": i64::MIN, "beyond i64": 9_223_372_036_854_775_808_u64,
                "half": 0.5, "negative": -0.25, "inexact": 0.1 + 0.2, "large": 1.5e100, "small": 1.25e-100,
                "empty list": [], "empty map": {}, "list": [1, "a", null, [true], {}],
                "map": { "pk": "of a map", "a.b": { "c": [null] } },
                "name with spaces": 1, "größe": 2, "#name": 3, ":value": 4, "a.b": 5, "a[0]": 6, "SELECT": 7,
            }),
        )
        .await;
    assert_eq!(subject.find(&key).await, Some(put.clone()));
    let items = subject
        .walk(&subject.tables.records, &Query::partition(key.pk), 1)
        .await;
    assert_eq!(items, [put]);
}

async fn null_is_not_missing(subject: &Subject) {
    let key = Key::new(fresh("values"), "a");
    subject.put(&key, &json!({ "null": null })).await;
    let item = subject.find(&key).await.unwrap();
    assert_eq!(
        (item.get("null"), item.get("missing")),
        (Some(&Value::Null), None)
    );
}

/// 1.0 equals 1, and may be returned as 1.
async fn whole_fractions_are_numbers(subject: &Subject) {
    let key = Key::new(fresh("values"), "a");
    subject.put(&key, &json!({ "number": 1.0 })).await;
    let number = subject.find(&key).await.unwrap().get("number").unwrap().as_f64();
    assert_eq!(number, Some(1.0));
    let checked = subject
        .write(&key, Action::Check, Condition::NumberIs("number", 1))
        .await;
    assert_eq!(checked.unwrap(), Written::Done);
}

async fn lists_are_deep_up_to_a_limit(subject: &Subject) {
    let nested = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let key = Key::new(fresh("values"), "a");
    let put = subject.put(&key, &json!({ "deep": nested(MAX_DEPTH - 1) })).await;
    assert_eq!(subject.find(&key).await, Some(put));
    let item = Item::from_record(&key, &json!({ "deep": nested(MAX_DEPTH + 1) })).unwrap();
    refused(subject.write(&key, Action::Put(item), None).await);
}

async fn numbers_have_a_range(subject: &Subject) {
    let key = Key::new(fresh("values"), "a");
    let item = Item::from_record(&key, &json!({ "large": 1e126 })).unwrap();
    refused(subject.write(&key, Action::Put(item), None).await);
}

async fn a_name_is_not_empty(subject: &Subject) {
    let key = Key::new(fresh("values"), "a");
    for record in [
        json!({ "": 1 }),
        json!({ "a": { "": 1 } }),
        json!({ "a": [{ "": 1 }] }),
    ] {
        let item = Item::from_record(&key, &record).unwrap();
        refused(subject.write(&key, Action::Put(item), None).await);
    }
}
