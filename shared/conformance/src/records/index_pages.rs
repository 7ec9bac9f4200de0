//! Checks pages of indexes, which lag behind the table.

use platform::records::store::{Action, Item};
use platform::records::{Changes, Key, Order, Query, Written};
use serde_json::json;

use crate::subject::fresh;
use crate::{Gap, Subject};

/// Checks pages of `gsi1` of a table of records.
pub async fn index_pages(subject: &Subject) {
    an_index_follows_each_write(subject).await;
    an_item_needs_both_keys_to_be_in_an_index(subject).await;
    items_of_one_place_are_all_shown(subject).await;
    a_place_is_a_text_within_limits(subject).await;
}

async fn an_index_follows_each_write(subject: &Subject) {
    let [pk, other, in_index] = ["a", "b", "i"].map(|_| fresh("index-pages"));
    let table = &subject.tables.records;
    let query = Query::partition(&in_index).gsi1();
    subject.shows(table, &query, &[]).await;

    let [first, second] =
        [(&pk, "2"), (&other, "1")].map(|(pk, sk)| Key::new(pk, "s").with_gsi1(&in_index, sk));
    let mut items = [
        subject
            .put(&second, &json!({ "text": "of the index's first" }))
            .await,
        subject.put(&first, &json!({ "list": [{}], "null": null })).await,
    ];
    subject.shows(table, &query, &items).await;
    items.reverse();
    subject
        .shows(table, &query.clone().order(Order::Descending), &items)
        .await;

    // A put with another place moves the item; one without a place removes it from the index.
    let moved = subject
        .put(&first.clone().with_gsi1(&in_index, "0"), &json!({}))
        .await;
    items.reverse();
    subject.shows(table, &query, &[moved, items[0].clone()]).await;
    subject.put(&Key::new(&pk, "s"), &json!({})).await;
    subject.shows(table, &query, &items[..1]).await;
    assert_eq!(
        subject.write(&second, Action::Delete, None).await.unwrap(),
        Written::Done
    );
    subject.shows(table, &query, &[]).await;
}

async fn an_item_needs_both_keys_to_be_in_an_index(subject: &Subject) {
    let in_index = fresh("index-pages");
    let key = Key::new(fresh("index-pages"), "a").with_gsi1(&in_index, "1");
    let table = &subject.tables.records;
    let query = Query::partition(&in_index).gsi1();
    let item = subject.put(&key, &json!({})).await;
    subject.shows(table, &query, &[item]).await;
    for half in ["gsi1pk", "listed_at"] {
        subject.put(&key, &json!({})).await;
        let written = subject
            .write(&key, Action::Update(Changes::default().remove(half)), None)
            .await;
        assert_eq!(written.unwrap(), Written::Done);
        subject.shows(table, &query, &[]).await;
    }
}

/// Pages of one item return all items with the same place, in any order.
async fn items_of_one_place_are_all_shown(subject: &Subject) {
    let in_index = fresh("index-pages");
    let mut expected = Vec::new();
    for number in 0..7 {
        let key = Key::new(fresh("index-pages"), format!("{number}")).with_gsi1(&in_index, "same");
        subject.put(&key, &json!({})).await;
        expected.push(format!("{number}"));
    }
    for order in [Order::Ascending, Order::Descending] {
        for most in [1, 2, 100] {
            let query = Query::partition(&in_index).gsi1().order(order);
            let read = async || {
                let items = subject.walk(&subject.tables.records, &query, most).await;
                let mut found: Vec<_> = items
                    .iter()
                    .map(|item| item.text("sk").unwrap().to_owned())
                    .collect();
                found.sort();
                found
            };
            assert_eq!(
                subject.eventually(&expected, read).await,
                expected,
                "{order:?} in pages of {most}"
            );
        }
    }
}

async fn a_place_is_a_text_within_limits(subject: &Subject) {
    let key = Key::new(fresh("index-pages"), "a");
    let long = |bytes: usize| json!("x".repeat(bytes));
    for (rule, pk, sk) in [
        (None, json!(""), json!("a")),
        (None, json!("a"), json!("")),
        (None, json!(1), json!("a")),
        (None, json!("a"), json!(null)),
        (Some(Gap::IndexKeyLength), long(2_049), json!("a")),
        (Some(Gap::IndexKeyLength), json!("a"), long(1_025)),
    ] {
        let item = Item::from_record(&key, &json!({ "gsi1pk": pk, "listed_at": sk })).unwrap();
        let put = subject.write(&key, Action::Put(item.clone()), None).await;
        subject.refused(rule, &item, put);
        let changes = Changes::default()
            .set("gsi1pk", &pk)
            .unwrap()
            .set("listed_at", &sk)
            .unwrap();
        let updated = subject.write(&key, Action::Update(changes.clone()), None).await;
        subject.refused(rule, &changes, updated);
    }
}
