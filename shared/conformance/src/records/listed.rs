//! Checks what the indexes of a table of the kind `Listed` carry.

use platform::UtcTime;
use platform::records::schema::{BY_RULE, LISTING_INDEXES, SUMMARY};
use platform::records::store::{Action, Item, key_names};
use platform::records::{Changes, Key, Query, Written};
use serde_json::json;

use crate::Subject;
use crate::subject::{fresh, refused, step};

/// Indexes of listings carry keys and the summary; `due` carries only keys; the table has everything.
pub async fn listed(subject: &Subject) {
    let table = &*subject.tables.listed;
    let [pk, shared] = ["a", "b"].map(|_| fresh("listed"));
    let shard: &'static str = fresh("listed").leak();
    let due_at = UtcTime::EPOCH.plus_ms(1_800_000_000_000);
    let mut key = Key::new(&pk, "a").with_due(shard, due_at).listed_at("place");
    let [time, status, first, second] = LISTING_INDEXES;
    let indexes = [time, status, first, second, BY_RULE];
    for index in indexes {
        key = key.with_index(index, format!("{shared}{index}"));
    }
    let queries = indexes.map(|index| Query::partition(format!("{shared}{index}")).index(index));

    let item = subject
        .put_into(
            table,
            &key,
            &json!({ "summary": { "list": [1, null] }, "state": "large", "version": 1 }),
        )
        .await;
    for (index, query) in indexes.into_iter().zip(&queries) {
        subject.shows(table, query, &[carried(&item, index)]).await;
    }
    subject
        .shows(table, &Query::due(shard, due_at), &[carried(&item, "due")])
        .await;
    let found = subject.store.find(table, &key).await.unwrap();
    assert_eq!(found.as_ref(), Some(&item));
    let whole = subject.walk(table, &Query::partition(&pk), 10).await;
    assert_eq!(whole, [item]);

    // A new summary is carried; a removed one keeps the place.
    for changes in [
        Changes::default()
            .set(SUMMARY, &"new")
            .unwrap()
            .set("state", &"larger")
            .unwrap(),
        Changes::default().remove(SUMMARY).leave("gsi3"),
    ] {
        let written = subject
            .store
            .write(step(table, &key, Action::Update(changes), None))
            .await;
        assert_eq!(written.unwrap(), Written::Done);
        let item = subject.store.find(table, &key).await.unwrap().unwrap();
        for (index, query) in indexes.into_iter().zip(&queries) {
            let is_in = item.get(&key_names(index)[0]).is_some();
            let expected: Vec<_> = is_in.then(|| carried(&item, index)).into_iter().collect();
            subject.shows(table, query, &expected).await;
        }
    }
    refused(
        subject
            .store
            .page(table, &Query::partition(&pk).index("gsi6"), 1, None)
            .await,
    );
}

fn carried(item: &Item, index: &str) -> Item {
    let [pk_name, sk_name] = key_names(index);
    let mut carried = item.clone();
    carried.retain(|name| {
        ["pk", "sk"].contains(&name)
            || name == pk_name
            || name == sk_name
            || (name == SUMMARY && index != "due")
    });
    carried
}
