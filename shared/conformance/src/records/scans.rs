//! Checks scans of whole tables.

use std::collections::BTreeMap;

use platform::records::Key;
use platform::records::store::Item;
use serde_json::json;

use crate::Subject;
use crate::subject::fresh;

/// A scan returns every item of its table once, in pages of at most a megabyte.
pub async fn scans(subject: &Subject) {
    let marker = fresh("scans");
    let text = "x".repeat(300_000);
    let mut expected = BTreeMap::new();
    for number in 0..6 {
        let key = Key::new(format!("{marker}{}", number % 3), format!("{number}")).with_gsi1(&marker, "1");
        let item = subject.put(&key, &json!({ "text": text, "null": null })).await;
        expected.insert((key.pk, key.sk), item);
    }
    let elsewhere = Key::new(format!("{marker}0"), "elsewhere");
    subject
        .put_into(&subject.tables.others, &elsewhere, &json!({}))
        .await;

    let (found, pages) = scan(subject, &marker).await;
    assert_eq!(found, expected);
    assert!(pages > 1, "more than a megabyte in one page");
}

/// Returns the items whose partition key starts with `marker`, and the number of pages of the whole table.
async fn scan(subject: &Subject, marker: &str) -> (BTreeMap<(String, String), Item>, usize) {
    let mut found = BTreeMap::new();
    let mut pages = 0;
    let mut start = None;
    loop {
        let page = subject.store.scan(&subject.tables.records, start).await.unwrap();
        pages += 1;
        for item in page.items {
            let [pk, sk] = ["pk", "sk"].map(|name| item.text(name).unwrap().to_owned());
            if pk.starts_with(marker) {
                let twice = found.insert((pk, sk), item);
                assert_eq!(twice, None, "an item is shown twice");
            }
        }
        start = page.next;
        if start.is_none() {
            return (found, pages);
        }
    }
}
